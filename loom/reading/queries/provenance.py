"""Where a node came from: its call as a reader may see it, and what it depends on."""

import gzip
import json
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext, gettext_noop

from loom.access import Actor
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS
from loom.reading.queries.node_bodies import node_bodies
from loom.reading.queries.verify import chain_of, verify_node
from loom.text.beginnings import common_length
from loom.text.changes import Pieces, inherited, put_together
from loom.text.hashes import instant, instant_or_none
from loom.text.unified_diff import unified_diff
from loom.trees.models import Node, NodeSource, Tree, Workspace
from loom.trees.queries.lookup import (
    PARTS,
    NodeRow,
    as_row,
    columns,
    fetch,
    listed,
    rows_of,
    step_to,
    walked,
)
from loom.trees.queries.node_bodies import row_of
from loom.turns import old_calls
from loom.turns.access import may_read_call
from loom.turns.models import Call, Generation, Turn
from loom.turns.queries import homes_of_calls, nodes_of_call

MOST_EDITS = 500  # steps back from a text
MOST_TOGETHER = 4  # times that texts are put together from texts that were put together
# What texts were edited from, as far back as it goes. The walk holds ids alone: a text is read
# once, however many were made from it.
_BACK = """
    WITH RECURSIVE back(id, steps) AS (
        SELECT n.id, 1 FROM trees_node n WHERE n.id IN ({wanted})
        UNION
        SELECT n.edited_from_id, back.steps + 1 FROM back {step}
        WHERE n.edited_from_id IS NOT NULL AND back.steps < {most} AND {walked}
    )
    SELECT {columns} FROM (SELECT DISTINCT id FROM back) b JOIN trees_node v ON v.id = b.id
    JOIN trees_node s ON s.id = v.slot_id JOIN people_participant a ON a.id = v.author_id
"""

DAMAGED = "The stored answer cannot be read."
SHOWN_BYTES = 1024 * 1024  # of a response's text; `…/response` returns all of it
Body = dict[str, Any]


@dataclass(frozen=True)
class CallSeen:
    """A call for one reader. Unless `is_open` it has no texts, only their lengths (docs/model.md
    §7). `answer` is None if the stored bytes are damaged."""

    call: Call
    is_open: bool
    answer: bytes | None
    sections: tuple[Body, ...]

    @property
    def is_trimmed(self) -> bool:
        """Whether the bytes of the response are no longer kept, by a rule of the operator."""
        return old_calls.is_gone(self.call, "response")

    @property
    def is_request_trimmed(self) -> bool:
        """Whether the request is no longer kept, by a rule of the operator."""
        return old_calls.is_gone(self.call, "request")

    @property
    def response(self) -> bytes:
        """The bytes of the response, as far as they can be read."""
        return self.answer or b""

    @property
    def shown(self) -> str:
        """The start of the response as text."""
        return self.response[:SHOWN_BYTES].decode("utf-8", "replace") if self.is_open else ""

    @property
    def thoughts(self) -> list[str]:
        """The model's thoughts before each candidate, as the provider reported them; none for
        readers who may not read the call, or if there were none."""
        return thoughts_in(self.response) if self.is_open else []

    def body(self) -> Body:
        """As the API returns it; two queries."""
        call = self.call
        nodes = nodes_of_call(call)
        return {
            "id": call.uid,
            "tree": call.tree.uid,
            "participant": call.participant.uid,
            "origin": call.origin or None,
            "turn": call.turn.uid if call.turn else None,
            "purpose": call.purpose,
            "provider": call.provider,
            "configuration": call.configuration,
            "open": self.is_open,
            "request": call.request if self.is_open else {},
            "sections": list(self.sections),
            "thoughts": self.thoughts,
            "response": self.shown,
            "length": len(self.response),
            "bytes": call.bytes,
            "status": call.status,
            "headers": call.headers if self.is_open else {},
            "sha256": call.sha256,
            "usage": call.usage,
            "note": call.note if self.answer is not None else DAMAGED,
            "strategy": call.strategy or None,
            "generations": list(call.generations.order_by("index").values_list("uid", flat=True)),
            "nodes": [node.local_id for node in nodes],
            "started_at": instant(call.started_at),
            "first_at": instant_or_none(call.first_at),
            "sealed_at": instant_or_none(call.sealed_at),
        }


def call_of(node: Node) -> Call | None:
    """The call a node came from: made here, or imported together with the node. That of a text of
    a sandbox may be kept in the tree at which it hangs."""
    if not node.call_uid:
        return None
    homes = homes_of_calls(node.tree)
    rows = Call.objects.select_related("tree", "participant", "turn")
    made_here = rows.filter(uid=node.call_uid, origin="").first()
    if made_here is not None and made_here.tree_id in homes:
        return made_here
    return rows.filter(origin=node.call_uid, tree__in=homes).first()


def seen(call: Call, *, is_open: bool) -> CallSeen:
    """The call for a reader who may see all of it, or only its parts' lengths."""
    return CallSeen(call, is_open, response_of(call), tuple(_sections(call.request)))


def response_of(call: Call) -> bytes | None:
    """The bytes of the body as stored; None before the call is sealed, and if they are damaged."""
    try:
        return gzip.decompress(bytes(call.response)) if call.response else b""
    except (OSError, EOFError, zlib.error):
        return None


def thoughts_in(response: bytes) -> list[str]:
    """The thoughts of each candidate in the bytes of an answer, one JSON value or a stream of
    them: `reasoning_content` or `reasoning` beside a text, or blocks of the kind `thinking`. They
    are stored nowhere else: they are not part of the text, and are sent to nobody (docs/model.md
    §7)."""
    text = response.decode("utf-8", "replace")
    if not any(word in text for word in THINKING):
        return []
    parts: dict[int, list[str]] = {}
    for line in [text] if text.lstrip().startswith("{") else text.split("\n"):
        value = _json(line.removeprefix("data:"))
        for index, thought in _thoughts_of(value) if isinstance(value, dict) else ():
            parts.setdefault(index, []).append(thought)
    return ["".join(parts.get(index, ())) for index in range(max(parts, default=-1) + 1)]


THINKING = ("reasoning", "thinking")
MOST_CANDIDATES = 100


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _thoughts_of(value: Body) -> Iterator[tuple[int, str]]:
    """(the candidate, a piece of its thoughts) of one event of a stream, or of a whole answer."""
    for choice in _list(value.get("choices")):
        index = choice.get("index", 0) if isinstance(choice, dict) else -1
        inner = (choice.get("delta") or choice.get("message")) if index != -1 else None
        if isinstance(inner, dict) and isinstance(index, int) and 0 <= index < MOST_CANDIDATES:
            thought = inner.get("reasoning_content") or inner.get("reasoning")
            if isinstance(thought, str):
                yield index, thought
    for block in (value.get("content_block"), value.get("delta"), *_list(value.get("content"))):
        thought = block.get("thinking") if isinstance(block, dict) else None
        if isinstance(thought, str):
            yield 0, thought


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _sections(request: Body) -> list[Body]:
    """The parts of the request: each one's name and length in characters."""
    body = request.get("body")
    if not isinstance(body, dict):
        return []
    sections = [{"name": name, "characters": _length(body[name])}
             for name in ("system", "prompt") if name in body]  # fmt: skip
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict):
            length = _length(message.get("content"))
            sections.append({"name": str(message.get("role", "")), "characters": length})
    return sections


# The texts of requests, and what differs between two of them.


MOST_LINES = 400  # of a difference
AROUND = 2  # lines that are the same, around one that differs
LONGEST = 2_000  # characters of a line of it


@dataclass(frozen=True)
class TextDifference:
    """The difference between two texts: the number of `same` characters at the beginning of both,
    and the lines of a unified diff; `is_cut`: there are more."""

    same: int
    lines: tuple[str, ...]
    is_cut: bool

    @property
    def many(self) -> int:
        """How many lines were added or removed."""
        return sum(line.startswith(("+", "-")) for line in self.lines)


def changed(old: str, new: str) -> TextDifference:
    """The difference between a text and an earlier one."""
    same = common_length(old, new)
    start = new.rfind("\n", 0, same) + 1  # whole lines are compared
    lines = unified_diff(old[start:].split("\n"), new[start:].split("\n"), around=AROUND)
    shown = [line[:LONGEST] for line, _ in zip(lines, range(MOST_LINES + 3), strict=False)][2:]
    return TextDifference(same, tuple(shown[:MOST_LINES]), len(shown) > MOST_LINES)


def messages_in(request: Body) -> list[tuple[str, str]]:
    """The parts of a request with their roles: its prompt, its system text, its messages."""
    body = request.get("body")
    if not isinstance(body, dict):
        return []
    parts = [(name, body[name]) for name in ("prompt", "system") if name in body]
    given = body.get("messages")
    for message in given if isinstance(given, list | tuple) else ():
        if isinstance(message, Mapping):
            parts.append((str(message.get("role", "")), message.get("content")))
    return [(role, words(content)) for role, content in parts]


def request_text(request: Body) -> str:
    """A request as one text: for each part its role on a line, then its text."""
    return "\n".join(f"{role}\n{text}" for role, text in messages_in(request))


def words(content: Any) -> str:
    """The text of a content, which may be a list of blocks."""
    if isinstance(content, list):
        return "\n\n".join(map(words, content))
    if isinstance(content, dict):
        return str(content.get("text", ""))
    return content if isinstance(content, str) else ""


def calls_of(turn: Turn) -> list[tuple[Call, int]]:
    """The calls of a turn in order, without their texts, and the round of each; 0 if a line of the
    turn asked for candidates. Two queries."""
    rows = list(Call.objects.filter(turn=turn, origin="").defer("request", "response"))
    named = Generation.objects.filter(call__in=[call.pk for call in rows])
    rounds = dict(named.values_list("call_id", "round"))
    return [(call, rounds.get(call.pk, 0)) for call in rows]


def call_before(call: Call) -> Call | None:
    """The call of the round before in the same turn; None if this is the first."""
    rows = Call.objects.filter(turn=call.turn_id, purpose=call.purpose, pk__lt=call.pk)
    return rows.order_by("-pk").first() if call.turn_id else None


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(_length(part) for part in value)
    return _length(value.get("text", "")) if isinstance(value, dict) else 0


# Where a node came from: its hash and the hashed fields, its call, and what it depends on.


ABOVE = 200  # versions above that are listed, the nearest ones
SAID = {
    "valid": gettext_noop(
        "Everything matches: the hashes, the versions they were built upon, and the bytes of each"
        " answer."
    ),
    "incomplete": gettext_noop(
        "What is here matches, but not all of it can be proved: the answer of a call is not sealed,"
        " was put together from parts, or is not here."
    ),
    "invalid": gettext_noop("Something does not match: it was changed after it was written."),
}

UNVOUCHED = gettext_noop(
    "%(n)s of %(checked)s came from a file: nobody but the file vouches for their hashes, authors"
    " and times."
)
LATER = gettext_noop("Later versions were written since: %(ids)s.")


@dataclass(frozen=True)
class VersionOrigin:
    """One version that a node depends on; `call` if a model wrote it."""

    id: str
    by: str
    at: str
    hash: str
    call: str


@dataclass(frozen=True)
class Provenance:
    """Everything known about a node's origin. `call` is None if no model wrote it, or
    (`is_call_away`) if its call is not stored here; `above` goes from the root downwards."""

    node: dict[str, Any]
    generation: Generation | None
    call: CallSeen | None
    is_call_away: bool
    above: tuple[VersionOrigin, ...]
    left_out: int
    report: dict[str, Any]
    sentences: tuple[str, ...]

    @property
    def verdict(self) -> tuple[str, ...]:
        """The sentences in the language of the reader of a page."""
        return _sentences(self.report, gettext)

    def body(self) -> dict[str, Any]:
        """As the API returns it."""
        generation = self.generation
        return {
            "node": self.node["id"],
            "hash": self.node["hash"],
            "proof": self.node["proof"],
            "finish": self.node["finish"],
            "above": [vars(version) for version in self.above],
            "left_out": self.left_out,
            "generation": generation.uid if generation else None,
            "note": generation.note if generation else "",
            "ended_at": instant_or_none(generation.ended_at) if generation else None,
            "call": self.call.body() if self.call else None,
            "verify": {**self.report, "said": list(self.sentences)},
        }


def provenance_of(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Provenance:
    """The provenance of a node for a reader; reads the stored responses of the calls above."""
    call = call_of(node)
    chain = [key for key, _ in chain_of([node.pk]) if key != node.pk]
    report = verify_node(actor, tree, workspace, node)
    generations = Generation.objects.filter(tree__in=homes_of_calls(tree))
    return Provenance(
        node=node_bodies(actor, tree, [row_of(node)])[0],
        generation=generations.filter(uid=node.generation_uid).first(),
        call=seen(call, is_open=may_read_call(actor, call)) if call else None,
        is_call_away=bool(node.call_uid) and call is None,
        above=tuple(
            VersionOrigin(row.local_id, row.author_name, row.at, row.hash, row.call_uid)
            for row in rows_of(chain[-ABOVE:])
        ),
        left_out=max(0, len(chain) - ABOVE),
        report=report,
        sentences=_sentences(report),
    )


def _sentences(report: dict[str, Any], translated: Callable[[str], str] = str) -> tuple[str, ...]:
    """What was found, in English, or as `translated` for a page."""
    broken = [f"[{entry['node']}]: {entry['reason']}" for entry in report["broken"]]
    later = report["later_versions"]
    more = [translated(LATER) % {"ids": ", ".join(later)}] if later else []
    counts = {"n": f"{report['imported']:,}", "checked": f"{report['checked']:,}"}
    unvouched = [translated(UNVOUCHED) % counts] if report["imported"] else []
    return (translated(SAID[report["status"]]), *unvouched, *broken, *more)


def with_origins(ids: Collection[int]) -> dict[int, NodeRow]:
    """The nodes with these row ids and everything that they were edited from, by row id. At most
    one query."""
    if not ids:
        return {}
    sql = _BACK.format(
        columns=columns(),
        wanted=listed(ids),
        most=MOST_EDITS,
        walked=walked("back.id"),
        step=step_to("back", node="id", columns="n.edited_from_id"),
    )
    return {row[0]: as_row(row) for row in fetch(sql)}


def pieces_of(
    rows: Sequence[NodeRow], origins: Mapping[int, NodeRow] | None = None
) -> dict[int, Pieces]:
    """The pieces of each row, by row id. One query, none if none of them is an edit or `origins`
    is given; two more for each time that texts were put together from parts of others."""
    return _pieces_of(rows, origins, MOST_TOGETHER)


def _pieces_of(
    rows: Sequence[NodeRow], origins: Mapping[int, NodeRow] | None, depth: int
) -> dict[int, Pieces]:
    if origins is None:
        edited = {row.more.edited_from_id for row in rows}
        origins = with_origins({origin_id for origin_id in edited if origin_id is not None})
    ways = {row.id: _way(row, origins) for row in rows}
    together = {way[-1].id: way[-1] for way in ways.values() if depth and way[-1].is_of_parts}
    first = _put_together(list(together.values()), depth) if together else {}
    return {key: _along(way, first.get(way[-1].id)) for key, way in ways.items()}


def _put_together(rows: Sequence[NodeRow], depth: int) -> dict[int, Pieces]:
    """The pieces of texts that were put together from parts of others of their tree."""
    sources: dict[int, list[int]] = {row.id: [] for row in rows}
    named = NodeSource.objects.filter(node__in=sources, role=PARTS).order_by("id")
    for node, item in named.values_list("node_id", "item_id"):
        key = item_ids.node_id(item)
        if key is not None and key >> ORDINAL_BITS == node >> ORDINAL_BITS:
            sources[node].append(key)
    wanted = {key for keys in sources.values() for key in keys}
    origins = with_origins(wanted)
    pieces = _pieces_of([origins[key] for key in wanted if key in origins], origins, depth - 1)
    return {
        row.id: put_together(
            [(origins[key].text, pieces[key]) for key in sources[row.id] if key in pieces],
            row.text,
            row.author_uid,
        )
        for row in rows
    }


def writers_of(row: NodeRow, pieces: Pieces) -> list[str]:
    """Who wrote the text of a row, most characters first; its author if it is empty. Those who
    only split or cut a text wrote nothing of it."""
    lengths: dict[str, int] = {}
    for author, length in pieces:
        lengths[author] = lengths.get(author, 0) + length
    return sorted(lengths, key=lambda writer: -lengths[writer]) or [row.author_uid]


def _whole(author: str, text: str) -> Pieces:
    return ((author, len(text)),) if text else ()


def _way(newest: NodeRow, origins: Mapping[int, NodeRow]) -> list[NodeRow]:
    """A text and what it was edited from, the newest first."""
    way = [newest]
    while (before := way[-1].more.edited_from_id) is not None and before in origins:
        way.append(origins[before])
    return way


def _along(way: Sequence[NodeRow], first: Pieces | None) -> Pieces:
    """From the oldest version, with its pieces if others than its author wrote in it, to the
    newest."""
    *later, row = way
    pieces = first if first is not None else _whole(row.author_uid, row.text)
    while later:
        previous, row = row, later.pop()
        texts = _Texts(previous.text, row.text, pieces, row.author_uid)
        pieces = _step(previous.hash, row.hash, texts)
    return pieces


class _Texts:
    """The texts of one step; identified by two hashes, so that a cache does not compare texts."""

    def __init__(self, before: str, after: str, pieces: Pieces, author: str) -> None:
        self.before, self.after, self.pieces, self.author = before, after, pieces, author

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Texts)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=4096)
def _step(before_hash: str, after_hash: str, texts: _Texts) -> Pieces:
    # The hash of a node covers its author, text and what it was edited from, so two of them
    # decide the outcome.
    return inherited(texts.before, texts.pieces, texts.after, texts.author)
