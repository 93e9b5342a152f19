"""Nodes as the API shows them, with how much belongs to each (docs/model.md §14.3.8)."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic_core import to_json

from loom.access import Actor
from loom.links.foot import count_of
from loom.trees.models import Tree
from loom.trees.queries import places
from loom.trees.queries.lookup import (
    EXCLUDED,
    PRUNED,
    RESOLVED,
    SANDBOX,
    VERSION_PRUNED,
    NodeRow,
)
from loom.trees.queries.node_bodies import Body, Facts, body_of, facts_of
from loom.trees.queries.places import counted_below

Tally = dict[str, int]


class Attached(NamedTuple):
    """What belongs to the nodes of a batch: `below` counts slots by slot above and kind, `links`
    by node id. Pruned slots, and links that the reader may not see, are not counted."""

    below: dict[tuple[int, str], int]
    links: dict[int, int]


def attached_to(actor: Actor, rows: Sequence[NodeRow]) -> Attached:
    """What belongs to the nodes; two queries, up to six if there are links."""
    links = count_of(actor, {row.id: row.slot_id for row in rows})
    return Attached(counted_below({row.slot_id for row in rows}), links)


MOST_DESCENDANTS = 10_000


def tallies_of(
    actor: Actor, rows: Sequence[NodeRow], facts: Facts, *, descendants: bool = False
) -> dict[int, Tally]:
    """The `counts` of each node, by node id; `descendants` costs one walk per node, which
    ends after MOST_DESCENDANTS."""
    below, links = attached_to(actor, rows)
    tallies = {}
    for row in rows:
        tally = {
            "children": below.get((row.slot_id, "text"), 0),
            "annotations": below.get((row.slot_id, "annotation"), 0),
            "links": links[row.id],
            "versions": len(facts.versions.get(row.slot_id, (None,))),
        }
        if descendants:
            many = places.count_below(row.slot_id, most=MOST_DESCENDANTS + 1)
            tally["descendants"] = min(many, MOST_DESCENDANTS)
            if many > MOST_DESCENDANTS:
                tally["is_more"] = True
        tallies[row.id] = tally
    return tallies


def node_bodies(
    actor: Actor, tree: Tree, rows: Sequence[NodeRow], *, descendants: bool = False
) -> list[Body]:
    """The full bodies of nodes of one tree, in their order; a fixed number of queries.

    `descendants` adds the number of visible text slots below each: one walk per row.
    """
    facts = facts_of(tree.pk, rows)
    tallies = tallies_of(actor, rows, facts, descendants=descendants)
    bodies = []
    for row in rows:
        body = body_of(row, tree.uid, facts)
        body["counts"] = tallies[row.id]
        bodies.append(body)
    return bodies


_NODE = (
    '{"id":"%s","tree":"%s","kind":"%s",%s,"text":%s,"content":%s,"author":%s,'
    '"parent":%s,"slot":"%s","depth":%d,"versions":%s,%s,"sources":%s,"created_at":"%s",%s,%s,'
    '"bookmarks":%s,"tags":%s,"hash":"%s","proof":{%s,"content":%s,"created_at":"%s",'
    '"kind":"%s","parent":%s},"counts":{"children":%d,"annotations":%d,"links":%d,"versions":%d}}'
)
_PLAIN = (
    '"form":""',
    '"edited_from":null',
    '"finish":"complete","generation":null,"call":null,"summary":""',
    '"author":"%s","call":null,"configuration":null,"edited_from":null',
)
_TRUTH = ("false", "true")


def nodes_json(
    actor: Actor, tree: Tree, rows: Sequence[NodeRow], hidden: set[int] | None = None
) -> tuple[Iterator[str], dict[str, str]]:
    """The body of each node, and the selected version by slot, both by local id.

    `hidden` as in facts_of.
    """
    facts = facts_of(tree.pk, rows, hidden)
    attached = attached_to(actor, rows)
    versions = {facts.local_ids[row.slot_id]: row.local_id for row in rows}
    return _written(rows, tree.uid, facts, attached), versions


def _written(rows: Sequence[NodeRow], tree: str, facts: Facts, attached: Attached) -> Iterator[str]:
    authors: dict[str, str] = {}
    flags_of = {flags: _flags_json(flags) for flags in {row.flags for row in rows}}
    marked = facts.sources.keys() | facts.bookmarks.keys() | facts.tags.keys()
    local_ids, below, links = facts.local_ids, attached.below, attached.links
    for row in rows:
        # Unpacked in one go: reading the fields one by one is the main cost here.
        key, local_id, slot, above, depth, kind, text, who, _, _, at, upon, digest, bits, _ = row
        if who not in authors:
            authors[who] = _json({"id": who, "name": row.author_name, "kind": row.author_kind})
        written = _json(text)
        form, edited, ending, proof, content = _rest_json(row, facts, written)
        sources, bookmarks, tags = _marks_json(facts, key) if key in marked else ("[]", "[]", "[]")
        versions = facts.versions.get(slot)
        parent = "null" if above is None else f'"{local_ids[above]}"'
        selected = f'["{local_id}"]' if versions is None else _json(versions)
        flags = flags_of[bits] % _TRUTH[slot in facts.hidden]
        head = (local_id, tree, kind, form, written, content, authors[who], parent)
        place = (local_ids[slot], depth, selected, edited, sources, at, flags, ending)
        proven = (
            bookmarks,
            tags,
            digest,
            proof,
            content,
            at,
            kind,
            f'"{upon}"' if upon else "null",
        )
        yield _NODE % (
            *head,
            *place,
            *proven,
            below.get((slot, "text"), 0),
            below.get((slot, "annotation"), 0),
            links.get(key, 0),
            1 if versions is None else len(versions),
        )


def _marks_json(facts: Facts, key: int) -> tuple[str, str, str]:
    """Sources, bookmarks and tags of a node, if it has any."""
    marks = facts.sources.get(key), facts.bookmarks.get(key), facts.tags.get(key)
    sources, bookmarks, tags = (_json(many or []) for many in marks)
    return sources, bookmarks, tags


def _json(value: Any) -> str:
    return to_json(value).decode()


def _flags_json(bits: int) -> str:
    """The flags, with a place left for `hidden`."""
    is_pruned = _TRUTH[bits & (PRUNED | VERSION_PRUNED) != 0]
    return (
        f'"pruned":{is_pruned},"excluded":{_TRUTH[bits & EXCLUDED != 0]},"hidden":%s,'
        f'"sandbox":{_TRUTH[bits & SANDBOX != 0]},"resolved":{_TRUTH[bits & RESOLVED != 0]}'
    )


def _rest_json(row: NodeRow, facts: Facts, written: str) -> tuple[str, str, str, str, str]:
    """Form, what it was edited from, how it ended, the rest of its proof, and its content."""
    if row.rest is None:
        form, origin, end, proven = _PLAIN
        return form, origin, end, proven % row.author_uid, _one_block(written)
    more = row.more
    edited, edited_hash = facts.edited.get(more.edited_from_id or 0, (None, None))
    ending = {
        "finish": more.finish,
        "generation": more.generation_uid or None,
        "call": more.call_uid or None,
        "summary": more.summary,
    }
    proof = {
        "author": more.proof_author or row.author_uid,
        "call": more.call_uid or None,
        "configuration": more.configuration or None,
        "edited_from": edited_hash,
    }
    parts = {"form": more.form}, {"edited_from": edited}, ending, proof
    form, origin, end, proven = (_json(part)[1:-1] for part in parts)
    content = _one_block(written) if more.blocks is None else _json(row.content)
    return form, origin, end, proven, content


def _one_block(written: str) -> str:
    return f'[{{"type":"text","text":{written}}}]'
