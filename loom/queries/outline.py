"""The tree as an outline: what hangs below a slot, down to a depth, with counts."""

from collections import defaultdict
from typing import NamedTuple

from loom.access import Actor
from loom.models import Node, Tree, Workspace
from loom.queries.rows import NodeRow, fetch, rows_of, walked
from loom.queries.standing import standing_of
from loom.queries.tallies import counted_below

MAX_ROWS = 1000

# Breadth first, so that what is left out lies deepest. Bounded by depth and by rows.
_DOWN = """
    WITH RECURSIVE down(slot, above, level) AS (
        SELECT id, parent_slot_id, 0 FROM loom_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id, down.level + 1 FROM down
        JOIN loom_node n ON n.parent_slot_id = down.slot AND n.kind = 'text'
            AND n.slot_id = n.id AND NOT n.pruned
        WHERE down.level < %s AND {walked}
    ) SELECT slot, above FROM down LIMIT %s
"""


class Line(NamedTuple):
    """One line of an outline. `level` from 0; `children` and `annotations` that are seen;
    `shown` of the children are lines below it; `is_last` among its siblings shown."""

    row: NodeRow
    level: int
    children: int
    annotations: int
    shown: int
    is_last: bool


class Outline(NamedTuple):
    """Lines in reading order; `is_cut` where there were more than `MAX_ROWS`."""

    lines: list[Line]
    is_cut: bool


def outline(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node,
    *,
    depth: int = 5,
    limit: int = MAX_ROWS,
) -> Outline:
    """The text slots from `node` down `depth` levels, in order of creation below each other.

    In each slot the version that stands; `node` itself in its own. Five queries.
    """
    sql = _DOWN.format(walked=walked("down.slot"))
    found = fetch(sql, [node.slot_id, depth, limit + 1])
    is_cut = len(found) > limit
    below: dict[int, list[int]] = defaultdict(list)
    for slot, above in found[:limit]:
        if slot != node.slot_id:
            below[above].append(slot)
    slots = [slot for slot, _ in found[:limit]]
    return Outline(_lines(node, workspace, slots, below), is_cut)


def _lines(
    node: Node, workspace: Workspace | None, slots: list[int], below: dict[int, list[int]]
) -> list[Line]:
    """Reading order without recursion: a stack of (slot, level, is it the last)."""
    standing = {slot: key for slot, (key, _) in standing_of(slots, workspace).items()}
    standing[node.slot_id] = node.pk
    rows = {row.slot_id: row for row in rows_of([standing[slot] for slot in slots])}
    counts = counted_below(slots)
    lines = []
    stack = [(node.slot_id, 0, True)]
    while stack:
        slot, level, is_last = stack.pop()
        children = sorted(below[slot])
        texts, notes = counts.get((slot, "text"), 0), counts.get((slot, "annotation"), 0)
        lines.append(Line(rows[slot], level, texts, notes, len(children), is_last))
        for place, child in enumerate(reversed(children)):
            stack.append((child, level + 1, place == 0))
    return lines
