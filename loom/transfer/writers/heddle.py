"""Heddle's own JSON: the fields of its parts, and how they are written, one node per line, read
from the database a thousand at a time. docs/formats.md describes it for people.

Flat, so that depth is no limit, and self-contained: authors by name, nodes by local id.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from django.db.models import Q, QuerySet
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from loom.access import Actor
from loom.language.ids import home_of, place_of
from loom.links.models import Link
from loom.links.queries import with_seen_ends, written
from loom.links.vocabulary import vocabulary_of
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.text.hashes import instant, instant_or_none
from loom.transfer.records import MAX_TEXT_BYTES
from loom.trees import feature_parts
from loom.trees.models import Node, NodeSource, Tree
from loom.trees.queries.lookup import nodes_in
from loom.trees.queries.places import in_chunks
from loom.turns.access import may_read_call
from loom.turns.models import Call
from loom.turns.queries import homes_of_calls

VERSION = 1
FLAGS = ("pruned", "version_pruned", "excluded", "sandbox")
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Uid = Annotated[str, Field(max_length=32)]
Name = Annotated[str, Field(max_length=80)]
Item = Annotated[str, Field(max_length=80)]
# Of annotations, and of texts that were put together from parts or asked for a turn.
Form = Literal["", "note", "question", "suggestion", "warning", "objection", "diff", "parts", "ask"]


def _known_finish(finish: str) -> str:
    if finish != "complete" and finish.partition(":")[0] != "interrupted":
        raise PydanticCustomError("finish", "it is neither complete nor interrupted:reason")
    return finish


Finish = Annotated[str, Field(max_length=80), AfterValidator(_known_finish)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class TreePart(_Part):
    """The tree itself."""

    title: Annotated[str, Field(max_length=300)] = ""
    mode: Literal["dialogue", "buffer"]
    description: str = ""
    system_context: str = ""
    summary: str = ""
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] = "truncateMiddle"
    memory: str = ""
    author_note: str = ""
    note_depth: Annotated[int, Field(ge=1, le=100)] = 3
    lore_scan: Annotated[int, Field(ge=1, le=100_000)] = 2000
    lore_budget: Annotated[int, Field(ge=0, le=100_000)] = 1000
    imported: dict[str, Any] | None = None


class ParticipantPart(_Part):
    """An author in the tree."""

    name: Name
    kind: Literal["human", "model"]


class SourceRecord(_Part):
    """A source of a node: a local id, `tree`, or an address in another tree."""

    item: Item
    role: Literal["primary", "context", "instruction", "parts"]
    version_seen: Annotated[str, Field(max_length=64)] = ""


class ProofRecord(_Part):
    """The hashed values that are not among the node's other fields."""

    author: Annotated[str, Field(max_length=64)]
    call: Uid | None = None
    configuration: Hash | None = None
    parent: Hash | None = None


class NodePart(_Part):
    """One version of one slot. `content` only if it is not one block with `text`."""

    id: str
    slot: str | None = None
    parent: str | None = None
    kind: Literal["text", "annotation", "thought", "claim"] = "text"
    form: Form = ""
    text: str = ""
    content: list[dict[str, Any]] | None = None
    author: Name = ""
    created_at: str = ""
    edited_from: str | None = None
    finish: Finish = "complete"
    generation: Uid | None = None
    summary: str = ""
    flags: list[Literal["pruned", "version_pruned", "excluded", "sandbox"]] = []
    resolved_at: str | None = None
    sources: list[SourceRecord] = []
    imported: dict[str, Any] | None = None
    proof: ProofRecord | None = None
    hash: Hash | None = None


class CallPart(_Part):
    """One exchange with a provider, sealed. `response` is the base64 of the gzip of the body
    bytes, whose hex SHA-256 is `sha256`; `request` is without keys."""

    id: Annotated[str, Field(max_length=32, pattern=r"^[a-z0-9]+$")]
    by: Name
    purpose: Annotated[str, Field(max_length=12)] = "continue"
    provider: Annotated[str, Field(max_length=40)]
    configuration: Annotated[str, Field(max_length=64)] = ""
    request: dict[str, Any]
    response: str
    bytes: Literal["exact", "reassembled"]
    status: Annotated[int, Field(ge=0, le=999)] | None = None
    headers: dict[str, str] = {}
    sha256: Hash
    usage: dict[str, Any] = {}
    note: str = ""
    strategy: Annotated[str, Field(max_length=16)] = ""
    started_at: str
    first_at: str | None = None
    sealed_at: str


class MarkPart(_Part):
    """A mark on a node (its local id) or on the tree (`tree`)."""

    kind: Literal["bookmark", "tag", "read", "main", "plus", "minus"]
    label: Annotated[str, Field(max_length=200)] = ""
    item: Item
    by: Name = ""
    at: str = ""


class LinkPart(_Part):
    """A link from an item of this tree to another."""

    type: Annotated[str, Field(max_length=40)] = "related"
    source: Item
    target: Item
    note: Annotated[str, Field(max_length=2000)] = ""
    words: Annotated[str, Field(max_length=2000)] = ""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    by: Name = ""
    at: str = ""


Body = dict[str, Any]
MOST = 2 * MAX_TEXT_BYTES - 4096  # characters of one call, so that it can be imported again


def named_calls(homes: Sequence[int], nodes: "QuerySet[Node]") -> "QuerySet[Call]":
    """The sealed calls that nodes name, of the trees with these row ids."""
    named = nodes.exclude(call_uid="").values("call_uid")
    rows = Call.objects.filter(tree__in=homes, sealed_at__isnull=False)
    return rows.filter(Q(origin="", uid__in=named) | Q(origin__in=named))


def batches(actor: Actor, homes: Sequence[int], nodes: "QuerySet[Node]") -> Iterator[list[Body]]:
    """The sealed calls that the nodes name and the actor may read, one at a time. One that is too
    large to be imported again is left out: its nodes then verify as incomplete."""
    for key in list(named_calls(homes, nodes).order_by("id").values_list("pk", flat=True)):
        call = Call.objects.select_related("participant", "turn").get(pk=key)
        body = _body(call)
        if may_read_call(actor, call) and len(json.dumps(body)) <= MOST:
            yield [body]


def _body(call: Call) -> Body:
    return {
        "id": call.origin or call.uid,
        "by": call.participant.name,
        "purpose": call.purpose,
        "provider": call.provider,
        "configuration": call.configuration,
        "request": call.request,
        "response": base64.b64encode(bytes(call.response)).decode(),
        "bytes": call.bytes,
        "status": call.status,
        "headers": call.headers,
        "sha256": call.sha256,
        "usage": call.usage,
        "note": call.note,
        "strategy": call.strategy,
        "started_at": instant(call.started_at),
        "first_at": instant_or_none(call.first_at),
        "sealed_at": instant_or_none(call.sealed_at),
    }


# Writing Heddle's own JSON, one node per line, read from the database a thousand at a time.


PAGE = 1000


def pieces(
    actor: Actor, tree: Tree, *, calls: bool = True, is_alone: bool = True
) -> Iterator[bytes]:
    """The whole tree as pieces of JSON, with the calls that the actor may read, unless they are
    left out. What is written in the meantime is either left out or complete. A sandbox that is not
    alone is within the file of the tree at which it hangs, which has the calls that are kept
    there."""
    last = nodes_in(tree.pk).order_by("-id").values_list("id", flat=True)[0]
    nodes = nodes_in(tree.pk, last=last)
    marks = Mark.objects.filter(tree=tree, removed_at=None)
    # Ratings are everybody's own: others see only how many there are.
    marks = marks.exclude(~Q(participant=actor.participant), kind__in=("plus", "minus"))
    links = Link.objects.filter(tree=tree, removed_at=None)
    head = {
        "heddle": VERSION,
        "tree": {name: getattr(tree, name) for name in TreePart.model_fields},
        **feature_parts.written(actor, tree),
    }
    yield _json(head)[:-1] + b',\n"participants": '
    yield _json(_participants(nodes, marks, links)) + b',\n"nodes": [\n'
    yield from _joined(_nodes(tree, nodes))
    yield b'\n],\n"marks": [\n'
    yield from _joined(_marks(tree, marks, last))
    yield b'\n],\n"links": [\n'
    yield from _joined(_links(actor, tree, links, last))
    yield b'\n],\n"calls": [\n'
    if calls:
        homes = homes_of_calls(tree) if is_alone else [tree.pk]
        yield from _joined(batches(actor, homes, nodes))
    yield b"\n]}\n"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _joined(batches: Iterator[list[Body]]) -> Iterator[bytes]:
    separator = b""
    for batch in batches:
        if batch:
            yield separator + b",\n".join(map(_json, batch))
            separator = b",\n"


def _participants(
    nodes: "QuerySet[Node]", marks: "QuerySet[Mark]", links: "QuerySet[Link]"
) -> list[Body]:
    ids = set(
        chain(
            nodes.order_by().values_list("author_id", flat=True).distinct(),
            marks.order_by().values_list("participant_id", flat=True).distinct(),
            links.order_by().values_list("by_id", flat=True).distinct(),
        )
    )
    rows = Participant.objects.filter(id__in=ids).order_by("name")
    return [{"name": row.name, "kind": row.kind} for row in rows]


# As values: loading instances of five models for each node took three times as long.
_COLUMNS = """id local_id slot_id slot__local_id parent_slot__local_id kind form text blocks
    author__name author__uid created_at edited_from__local_id finish generation_uid summary
    pruned version_pruned excluded sandbox resolved_at imported proof_author call_uid
    configuration parent_hash hash""".split()


def _nodes(tree: Tree, nodes: "QuerySet[Node]") -> Iterator[list[Body]]:
    for ids in in_chunks(_sized(nodes), count=PAGE):
        sources = _sources(tree, ids)
        rows = {row["id"]: row for row in nodes.filter(id__in=ids).order_by().values(*_COLUMNS)}
        yield [_node(rows[key], sources.get(key, [])) for key in ids]


def _sized(nodes: "QuerySet[Node]") -> Iterator[tuple[int, int]]:
    """The nodes in the order in which they began, so that siblings are in order in the file. A
    node comes after everything that it began below."""
    rows = nodes.order_by().values_list("id", "place", "length")
    begun = sorted((place_of(key, place), key, size) for key, place, size in rows.iterator())
    yield from ((key, size) for _, key, size in begun)


def _node(row: Body, sources: list[Body]) -> Body:
    """The node, without fields that have their default."""
    is_first = row["id"] == row["slot_id"]
    body = {
        "id": row["local_id"],
        "slot": row["slot__local_id"],
        "parent": row["parent_slot__local_id"],
        "kind": row["kind"],
        "form": row["form"],
        "text": row["text"] if row["blocks"] is None else "",
        "content": row["blocks"],
        "author": row["author__name"],
        "created_at": instant(row["created_at"]),
        "edited_from": row["edited_from__local_id"],
        "finish": row["finish"],
        "generation": row["generation_uid"],
        "summary": row["summary"],
        # The flags of a slot belong to its first version.
        "flags": [flag for flag in FLAGS if row[flag] and (is_first or flag == "version_pruned")],
        "resolved_at": instant_or_none(row["resolved_at"]),
        "sources": sources,
        "imported": row["imported"] or None,
    }
    proof = {
        "author": row["proof_author"] or row["author__uid"],
        "call": row["call_uid"] or None,
        "configuration": row["configuration"] or None,
        "parent": row["parent_hash"] or None,
    }
    kept = {key: value for key, value in body.items() if value not in (None, "", [])}
    return {**kept, "proof": proof, "hash": row["hash"]}


def _sources(tree: Tree, ids: list[int]) -> dict[int, list[Body]]:
    rows = list(NodeSource.objects.filter(node__in=ids).order_by("id"))
    shown = _names(tree, (row.item_id for row in rows))
    by_node: dict[int, list[Body]] = {}
    for row in rows:
        body = {"item": shown[row.item_id], "role": row.role, "version_seen": row.version_seen}
        by_node.setdefault(row.node_id, []).append(body)
    return by_node


def _names(tree: Tree, items: Any) -> dict[int, str]:
    """Items as the file writes them: the tree itself is `tree`."""
    own = f"tree:{tree.uid}"
    return {key: "tree" if name == own else name for key, name in written(items, tree.pk).items()}


def _marks(tree: Tree, rows: "QuerySet[Mark]", last: int) -> Iterator[list[Body]]:
    for batch in _pages(rows.select_related("participant")):
        shown = _names(tree, (row.item_id for row in batch))
        yield [
            {
                "kind": row.kind,
                "label": row.label,
                "item": shown[row.item_id],
                "by": row.participant.name,
                "at": instant(row.at),
            }
            for row in batch
            if _is_known(row.item_id, last)
        ]


def _links(actor: Actor, tree: Tree, rows: "QuerySet[Link]", last: int) -> Iterator[list[Body]]:
    types = vocabulary_of(tree.grove)
    for page in _pages(rows.select_related("by")):
        batch = with_seen_ends(actor, tree, page)
        shown = _names(tree, (item for row in batch for item in (row.source_id, row.target_id)))
        yield [
            {
                "type": types.read(row.type, outward=True),
                "source": shown[row.source_id],
                "target": shown[row.target_id],
                "note": row.note,
                "words": row.words,
                "confidence": row.confidence,
                "by": row.by.name,
                "at": instant(row.at),
            }
            for row in batch
            if all(key < 0 or _is_known(key, last) for key in (row.source_id, row.target_id))
        ]


def _is_known(item: int, last: int) -> bool:
    """Whether an item existed when the export began (those of other trees did). A document is not
    in the file, but the links to it are."""
    if item < 0:
        return False
    return home_of(item) != home_of(last) or item <= last


def _pages(rows: "QuerySet[Any]") -> Iterator[list[Any]]:
    after = 0
    while page := list(rows.filter(pk__gt=after).order_by("pk")[:PAGE]):
        after = page[-1].pk
        yield page
