"""NodeRow: a node as a tuple, and the columns it is read from.

Long paths are read as tuples: model instances cost six times as much (measured, 2,000).
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from loom.models import Node
from loom.rules.hashes import instant


class NodeRow(NamedTuple):
    """One version of one slot. Flags `pruned`, `excluded`, `sandbox`, `resolved` are the slot's.

    `blocks` is JSON text (None: one text block holding `text`), `at` RFC 3339 in UTC with
    microseconds, as in the API; truth values may come as 0 and 1.
    """

    id: int
    local_id: str
    tree_id: int
    slot_id: int
    parent_slot_id: int | None
    kind: str
    form: str
    text: str
    blocks: str | None
    length: int
    author_id: int
    author_uid: str
    author_name: str
    author_kind: str
    edited_from_id: int | None
    depth: int
    parent_hash: str
    hash: str
    configuration: str
    call_uid: str
    generation_uid: str
    finish: str
    at: str
    proof_author: str
    version_pruned: bool
    summary: str
    pruned: bool
    excluded: bool
    sandbox: bool
    resolved: bool

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks."""
        if self.blocks is None:
            return [{"type": "text", "text": self.text}]
        return json.loads(self.blocks)  # type: ignore[no-any-return]

    @property
    def created_at(self) -> datetime:
        """When the node was made."""
        return datetime.fromisoformat(self.at)


_INSTANT = {
    "sqlite": """replace(v.created_at, ' ', 'T')
        || CASE length(v.created_at) WHEN 26 THEN 'Z' ELSE '.000000Z' END""",
    "postgresql": """to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')""",
}


def columns(slot: str = "s") -> str:
    """The SELECT list of a NodeRow: versions as `v`, authors as `a`, first versions of
    slots as `slot`."""
    at = _INSTANT[connection.vendor]
    blocks = "v.blocks::text" if connection.vendor == "postgresql" else "v.blocks"
    return f"""v.id, v.local_id, v.tree_id, v.slot_id, v.parent_slot_id, v.kind, v.form, v.text,
        {blocks}, v.length, v.author_id, a.uid, a.name, a.kind, v.edited_from_id, v.depth, v.parent_hash, v.hash,
        v.configuration, v.call_uid, v.generation_uid, v.finish, {at}, v.proof_author,
        v.version_pruned, v.summary, {slot}.pruned, {slot}.excluded, {slot}.sandbox,
        ({slot}.resolved_at IS NOT NULL OR v.resolved_at IS NOT NULL)"""


def fetch(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a query, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def listed(ids: Iterable[int]) -> str:
    """Row ids as the inside of an SQL list; never empty. Integers only, so nothing to escape."""
    return ",".join([str(int(one)) for one in ids]) or "NULL"


def rows_of(ids: Sequence[int]) -> list[NodeRow]:
    """The nodes of these row ids, in the order asked for; unknown ones are left out."""
    sql = f"""SELECT {columns()} FROM loom_node v
        JOIN loom_node s ON s.id = v.slot_id JOIN loom_participant a ON a.id = v.author_id
        WHERE v.id IN ({listed(ids)})"""
    found = {row[0]: NodeRow._make(row) for row in fetch(sql)}
    return [found[one] for one in ids if one in found]


def row_of(node: Node) -> NodeRow:
    """The row of an instance; reads its author and its slot where they are not at hand."""
    slot = node if node.slot_id == node.pk else node.slot
    return NodeRow(
        id=node.pk,
        local_id=node.local_id,
        tree_id=node.tree_id,
        slot_id=node.slot_id,
        parent_slot_id=node.parent_slot_id,
        kind=node.kind,
        form=node.form,
        text=node.text,
        blocks=None if node.blocks is None else json.dumps(node.blocks),
        length=node.length,
        author_id=node.author_id,
        author_uid=node.author.uid,
        author_name=node.author.name,
        author_kind=node.author.kind,
        edited_from_id=node.edited_from_id,
        depth=node.depth,
        parent_hash=node.parent_hash,
        hash=node.hash,
        configuration=node.configuration,
        call_uid=node.call_uid,
        generation_uid=node.generation_uid,
        finish=node.finish,
        at=instant(node.created_at),
        proof_author=node.proof_author,
        version_pruned=node.version_pruned,
        summary=node.summary,
        pruned=slot.pruned,
        excluded=slot.excluded,
        sandbox=slot.sandbox,
        resolved=slot.resolved_at is not None or node.resolved_at is not None,
    )
