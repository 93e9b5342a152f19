"""Nodes as tuples: the columns they are read from, and who wrote each character of them.

Long paths are read as tuples: model instances cost six times as much. Every column costs
too (2,000 nodes: 0.2 ms each, measured), so what most nodes leave empty comes as one.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from django.db import connection

from loom.models import Call, Generation, Node, Turn
from loom.rules.identity import ORDINAL_BITS, PLACE_BITS, Pieces, inherited, instant

PRUNED, EXCLUDED, SANDBOX, VERSION_PRUNED, RESOLVED = 1, 2, 4, 8, 16
IMPORTED = 32  # only in rows: skeletons and events do not have it


GONE = EXCLUDED | PRUNED | VERSION_PRUNED  # what models are not sent


class Rest(NamedTuple):
    """What most nodes leave empty. `blocks` is JSON text (None: one block holding `text`)."""

    form: str = ""
    blocks: str | None = None
    edited_from_id: int | None = None
    configuration: str = ""
    call_uid: str = ""
    generation_uid: str = ""
    finish: str = "complete"
    proof_author: str = ""
    summary: str = ""


class NodeRow(NamedTuple):
    """One version of one slot. `at` is RFC 3339 in UTC with microseconds, as in the API; `flags`
    are bits, those of the slot except VERSION_PRUNED; `rest` is a JSON array or None."""

    id: int
    local_id: str
    slot_id: int
    parent_slot_id: int | None
    depth: int
    kind: str
    text: str
    author_uid: str
    author_name: str
    author_kind: str
    at: str
    parent_hash: str
    hash: str
    flags: int
    rest: str | None

    @property
    def more(self) -> Rest:
        """The columns that are mostly empty; read this once where several are needed."""
        return _EMPTY if self.rest is None else Rest._make(json.loads(self.rest))

    @property
    def created_at(self) -> datetime:
        """When the node was created."""
        return datetime.fromisoformat(self.at)

    @property
    def length(self) -> int:
        """The length of the text in code points."""
        return len(self.text)

    @property
    def pruned(self) -> bool:
        """Whether its slot is pruned."""
        return bool(self.flags & PRUNED)

    @property
    def version_pruned(self) -> bool:
        """Whether this version is pruned."""
        return bool(self.flags & VERSION_PRUNED)

    @property
    def excluded(self) -> bool:
        """Whether its slot is left out of requests to models."""
        return bool(self.flags & EXCLUDED)

    @property
    def sandbox(self) -> bool:
        """Whether its slot starts a sandbox."""
        return bool(self.flags & SANDBOX)

    @property
    def resolved(self) -> bool:
        """Whether it is an annotation that was resolved."""
        return bool(self.flags & RESOLVED)

    @property
    def imported(self) -> bool:
        """Whether it was imported from a file."""
        return bool(self.flags & IMPORTED)

    @property
    def form(self) -> str:
        """The form of an annotation: note, question, suggestion, warning, objection."""
        return self.more.form

    @property
    def finish(self) -> str:
        """`complete`, or `interrupted:reason`."""
        return self.more.finish

    @property
    def generation_uid(self) -> str:
        """The generation it came from, or empty."""
        return self.more.generation_uid

    @property
    def call_uid(self) -> str:
        """The call that produced it, or empty."""
        return self.more.call_uid

    @property
    def summary(self) -> str:
        """Its summary, or empty."""
        return self.more.summary

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks."""
        blocks = self.more.blocks
        return [{"type": "text", "text": self.text}] if blocks is None else json.loads(blocks)


_EMPTY = Rest()
# Takes a third of the time of NodeRow._make; the columns below are as many as the fields.
as_row: Callable[[tuple[Any, ...]], NodeRow] = partial(tuple.__new__, NodeRow)
_IN_UTC = {
    "sqlite": """replace({0}, ' ', 'T') || CASE length({0}) WHEN 26 THEN 'Z' ELSE '.000000Z' END""",
    "postgresql": """to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
}
_REST = """CASE WHEN v.form = '' AND v.blocks IS NULL AND v.edited_from_id IS NULL
        AND v.configuration = '' AND v.call_uid = '' AND v.generation_uid = ''
        AND v.finish = 'complete' AND v.proof_author = '' AND v.summary = '' THEN NULL
    ELSE {array}(v.form, {blocks}, v.edited_from_id, v.configuration, v.call_uid,
        v.generation_uid, v.finish, v.proof_author, v.summary){cast} END"""


def columns(slot: str = "s") -> str:
    """The SELECT list of a NodeRow: versions as `v`, authors as `a`, first versions of
    slots as `slot`."""
    postgres = connection.vendor == "postgresql"
    rest = _REST.format(
        array="json_build_array" if postgres else "json_array",
        blocks="v.blocks::text" if postgres else "v.blocks",
        cast="::text" if postgres else "",
    )
    return f"""v.id, v.local_id, v.slot_id, v.parent_slot_id, v.depth, v.kind, v.text,
        a.uid, a.name, a.kind, {in_utc("v.created_at")}, v.parent_hash, v.hash,
        {flag_bits(slot)} + CASE WHEN v.imported IS NULL THEN 0 ELSE {IMPORTED} END, {rest}"""


def in_utc(column: str) -> str:
    """SQL for a time as in the API: RFC 3339 in UTC with microseconds."""
    return _IN_UTC[connection.vendor].format(column)


def flag_bits(slot: str) -> str:
    """SQL for the flags as one number."""
    return f"""CAST({slot}.pruned AS INTEGER) + 2 * CAST({slot}.excluded AS INTEGER)
        + 4 * CAST({slot}.sandbox AS INTEGER) + 8 * CAST(v.version_pruned AS INTEGER)
        + CASE WHEN {slot}.resolved_at IS NULL THEN 0 ELSE 16 END"""


def fetch(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def walked(slot: str) -> str:
    """A condition that is always true and tells SQLite that a walk visits few slots. It expects a
    million rows otherwise, and scans the node table to build a Bloom filter."""
    held = f"{slot} IS NOT NULL"
    return f"likelihood({held}, 0.0001)" if connection.vendor == "sqlite" else held


def order_sql(alias: str) -> str:
    """SQL for the order of siblings, as `loom.models.ORDER` writes it for the index."""
    ordinal = f"{alias}.id & {(1 << ORDINAL_BITS) - 1}"
    return f"COALESCE({alias}.place, {ordinal} << {PLACE_BITS})"


def listed(ids: Iterable[int]) -> str:
    """Row ids as the inside of an SQL list; never empty. Only integers, so nothing to escape."""
    return ",".join([str(int(one)) for one in ids]) or "NULL"


def in_chunks(
    sized: Iterable[tuple[int, int]], *, count: int = 500, characters: int = 4_000_000
) -> Iterator[list[int]]:
    """Row ids in order, from (id, length of its text), in chunks whose texts together have little
    more than `characters`."""
    chunk: list[int] = []
    size = 0
    for key, length in sized:
        if chunk and (len(chunk) == count or size + length > characters):
            yield chunk
            chunk, size = [], 0
        chunk.append(key)
        size += length
    if chunk:
        yield chunk


def rows_of(ids: Sequence[int]) -> list[NodeRow]:
    """The nodes with these row ids, in the order given; unknown ones are left out."""
    if not ids:
        return []
    sql = f"""SELECT {columns()} FROM loom_node v
        JOIN loom_node s ON s.id = v.slot_id JOIN loom_participant a ON a.id = v.author_id
        WHERE v.id IN ({listed(ids)})"""
    found = {row[0]: as_row(row) for row in fetch(sql)}
    return [found[one] for one in ids if one in found]


def row_of(node: Node) -> NodeRow:
    """The row of an instance; reads its author and slot if they are not loaded."""
    slot = node if node.slot_id == node.pk else node.slot
    flags = (
        slot.pruned,
        slot.excluded,
        slot.sandbox,
        node.version_pruned,
        bool(slot.resolved_at),
        node.imported is not None,
    )
    rest = Rest(
        node.form,
        None if node.blocks is None else json.dumps(node.blocks),
        node.edited_from_id,
        node.configuration,
        node.call_uid,
        node.generation_uid,
        node.finish,
        node.proof_author,
        node.summary,
    )
    return NodeRow(
        id=node.pk,
        local_id=node.local_id,
        slot_id=node.slot_id,
        parent_slot_id=node.parent_slot_id,
        depth=node.depth,
        kind=node.kind,
        text=node.text,
        author_uid=node.author.uid,
        author_name=node.author.name,
        author_kind=node.author.kind,
        at=instant(node.created_at),
        parent_hash=node.parent_hash,
        hash=node.hash,
        flags=sum(bit << place for place, bit in enumerate(flags)),
        rest=None if rest == _EMPTY else json.dumps(rest),
    )


def nodes_of_call(call: Call) -> list[Node]:
    """The nodes that a call produced: its candidates, or those of the turn whose last round it was.
    An imported call has neither; for it all nodes of its tree are checked."""
    if call.origin:
        return list(Node.objects.filter(tree=call.tree, call_uid=call.origin).order_by("id"))
    candidates = Generation.objects.filter(call=call, node__isnull=False).values_list("node")
    keys = [key for (key,) in candidates]
    if call.turn_id is not None:
        turns = Turn.objects.filter(pk=call.turn_id, node__isnull=False).values_list("node")
        keys += [key for (key,) in turns]
    return list(Node.objects.filter(pk__in=keys, call_uid=call.uid).order_by("id"))


# Who wrote each character of some nodes, followed through their edits.

MOST_EDITS = 500  # steps back from a text


def with_origins(ids: Collection[int]) -> dict[int, NodeRow]:
    """The nodes of these row ids and all that they were edited from, by row id. At most one
    query."""
    if not ids:
        return {}
    sql = _BACK.format(
        columns=columns(), wanted=listed(ids), most=MOST_EDITS, walked=walked("back.id")
    )
    return {row[0]: as_row(row) for row in fetch(sql)}


def pieces_of(
    rows: Sequence[NodeRow], origins: Mapping[int, NodeRow] | None = None
) -> dict[int, Pieces]:
    """The pieces of each row, by row id. One query, none where none of them is an edit or what
    they were edited from (`origins`) is given."""
    edited = {row.id: row.more.edited_from_id for row in rows}
    if origins is None:
        wanted = {one for one in edited.values() if one is not None}
        origins = with_origins(wanted)
    found: dict[int, Pieces] = {}
    for row in rows:
        if edited[row.id] is None:
            found[row.id] = _whole(row.author_uid, row.text)
        else:
            found[row.id] = _along(row, origins)
    return found


def writers_of(row: NodeRow, pieces: Pieces) -> list[str]:
    """Who wrote the text of a row, most characters first; its author where it is empty. Who only
    split a text, or cut it, wrote nothing of it."""
    lengths: dict[str, int] = {}
    for author, length in pieces:
        lengths[author] = lengths.get(author, 0) + length
    return sorted(lengths, key=lambda one: -lengths[one]) or [row.author_uid]


def _whole(author: str, text: str) -> Pieces:
    return ((author, len(text)),) if text else ()


# What texts were edited from, as far back as it goes. The walk holds ids alone: a text is read
# once, however many were made from it.
_BACK = """
    WITH RECURSIVE back(id, steps) AS (
        SELECT n.id, 1 FROM loom_node n WHERE n.id IN ({wanted})
        UNION
        SELECT n.edited_from_id, back.steps + 1 FROM back JOIN loom_node n ON n.id = back.id
        WHERE n.edited_from_id IS NOT NULL AND back.steps < {most} AND {walked}
    )
    SELECT {columns} FROM (SELECT DISTINCT id FROM back) b JOIN loom_node v ON v.id = b.id
    JOIN loom_node s ON s.id = v.slot_id JOIN loom_participant a ON a.id = v.author_id
"""


def _along(newest: NodeRow, origins: Mapping[int, NodeRow]) -> Pieces:
    """From the oldest version to the newest."""
    chain = [newest]
    while (before := chain[-1].more.edited_from_id) is not None and before in origins:
        chain.append(origins[before])
    row = chain.pop()
    pieces = _whole(row.author_uid, row.text)
    while chain:
        previous, row = row, chain.pop()
        texts = _Texts(previous.text, row.text, pieces, row.author_uid)
        pieces = _step(previous.hash, row.hash, texts)
    return pieces


class _Texts:
    """The texts of one step; two hashes identify it, so that a cache does not compare texts."""

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
