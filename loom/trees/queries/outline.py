"""The tree as an outline (what is below a slot, as far as a reader has expanded it), and its
size."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from loom.access import Actor, may_reach
from loom.engine.models import Stream
from loom.language.ids import ORDINAL_BITS, place_of
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.counts import folded
from loom.text.shortening import summary_or_excerpt
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import (
    NodeRow,
    fetch,
    order_sql,
    rows_of,
    seen_below,
    selected_versions,
    step_down,
    walked,
)
from loom.trees.queries.places import counted_below

OUTLINE_DEPTH = 2  # levels shown by default
SIBLINGS = 12  # siblings shown beside the position
ANCESTORS = 4  # shown above the position; if there are more, the nearest, and how many are left out
LINES = 30  # lines of an outline before anything is expanded
HITS = 5  # hits of a search that are unfolded
MOST_EXPANDED = 40  # expanded nodes of one workspace; the last ones count
CHILDREN = 30  # children shown of an expanded node
WORDS = 8  # words shown of a node
NOTHING: dict[str, Any] = {
    **{"expanded": [], "collapsed": [], "found": []},
    **{"query": "", "hits": [], "scores": {}},
}


def outline_of(workspace: Workspace) -> dict[str, Any]:
    """The state of the outline: folded to `depth`, except for what was `expanded` or `collapsed`;
    the last `query` of find and the local ids of its `hits`, with their `scores`; and what earlier
    searches `found`, which stays unfolded."""
    return {"depth": OUTLINE_DEPTH, **NOTHING, **workspace.outline}


MAX_ROWS = 1000


def _last_below(slot: str) -> str:
    """SQL for the place of the last text below a slot that is read."""
    return f"""COALESCE((
        SELECT {order_sql("m")} FROM trees_node m WHERE {seen_below(slot, "m")}
        ORDER BY {order_sql("m")}, m.id LIMIT 1 OFFSET {MAX_ROWS}), {2**63 - 1})"""


# Breadth first, so that the deepest lines are left out. Bounded by depth and by rows: of the texts
# below one no more are read than there may be rows.
_DOWN = f"""
    WITH RECURSIVE down(slot, above, level, place, last) AS (
        SELECT id, parent_slot_id, 0, place, {_last_below("trees_node.id")}
        FROM trees_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id, down.level + 1, n.place, {_last_below("n.id")} FROM down
        JOIN trees_node n ON {seen_below("down.slot")} AND {order_sql("n")} <= down.last
        WHERE down.level < %s AND {{walked}}
    ) SELECT slot, above, place FROM down LIMIT %s
"""


class OutlineRow(NamedTuple):
    """One line of an outline. `level` starts at 0; `children` and `annotations` count the visible
    ones; `shown` of the children have lines below it; `is_last` among its shown siblings. With
    `left_out` the line stands for that many nodes, each below the one before."""

    row: NodeRow
    level: int
    children: int
    annotations: int
    shown: int
    is_last: bool
    left_out: int = 0


class Outline(NamedTuple):
    """Lines in reading order; `is_cut` if there are more than `MAX_ROWS`."""

    lines: list[OutlineRow]
    is_cut: bool


def drawn(lines: Sequence[OutlineRow], here: int, words: Callable[[NodeRow], str]) -> list[str]:
    """The lines as text: `├─ - [a7x2]* "…" [3+]`, expanded (-), folded (+) or a leaf (·), with the
    number of children that are not shown; `here` is the slot of the position, `words` returns the
    text of a node."""
    bars: list[str] = []
    drawn_lines = []
    for line in lines:
        del bars[max(line.level - 1, 0) :]
        row, hidden = line.row, line.children - line.shown
        symbol = "+" if hidden > 0 else "-" if line.children else "·"
        star = "*" if row.slot_id == here else ""
        branch = "└─ " if line.is_last else "├─ "
        tail = f" {folded(hidden)}" if hidden > 0 else "" if line.children else " (leaf)"
        shown = f"{symbol} [{row.local_id}]{star} {words(row)}".rstrip() + tail
        drawn_lines.append(f"{''.join(bars)}{branch if line.level else ''}{shown}")
        if line.level:
            bars.append("   " if line.is_last else "│  ")
    return drawn_lines


def outline(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node,
    *,
    depth: int = 5,
    limit: int = MAX_ROWS,
) -> Outline:
    """The text slots from `node` down `depth` levels, siblings in their order.

    In each slot the selected version; `node` itself in its own. Five queries.
    """
    sql = _DOWN.format(walked=walked("down.slot"))
    reached = fetch(sql, [node.slot_id, depth, limit + 1])
    is_cut = len(reached) > limit
    below: dict[int, list[int]] = defaultdict(list)
    for slot, above, _ in sorted(reached[:limit], key=lambda row: place_of(row[0], row[2])):
        if slot != node.slot_id:
            below[above].append(slot)
    slots = [row[0] for row in reached[:limit]]
    return Outline(_lines(node, workspace, slots, below), is_cut)


def _lines(
    node: Node, workspace: Workspace | None, slots: list[int], below: dict[int, list[int]]
) -> list[OutlineRow]:
    """Reading order without recursion: a stack of (slot, level, whether it is the last)."""
    selected = {slot: key for slot, (key, _) in selected_versions(slots, workspace).items()}
    selected[node.slot_id] = node.pk
    rows = {row.slot_id: row for row in rows_of([selected[slot] for slot in slots])}
    counts = counted_below(slots)
    lines = []
    stack = [(node.slot_id, 0, True)]
    while stack:
        slot, level, is_last = stack.pop()
        children = below[slot]
        texts, notes = counts.get((slot, "text"), 0), counts.get((slot, "annotation"), 0)
        lines.append(OutlineRow(rows[slot], level, texts, notes, len(children), is_last))
        for place, child in enumerate(reversed(children)):
            stack.append((child, level + 1, place == 0))
    return lines


def unfolded(
    lines: list[OutlineRow], path: Sequence[NodeRow], workspace: Workspace, *, alone: bool = False
) -> list[OutlineRow]:
    """The lines, with lines added from the deepest node of the path that has one down to its end,
    and the siblings of the end, unless it is `alone`. Nothing is added if the end has a line
    already."""
    at = {line.row.slot_id: place for place, line in enumerate(lines)}
    deepest = max((n for n, row in enumerate(path) if row.slot_id in at), default=-1)
    missing = path[deepest + 1 :]
    if deepest < 0 or not missing:
        return lines
    place = at[path[deepest].slot_id]
    opened = lines[place]
    end = _end_of(lines, place)
    added = _chain(missing[:-1], opened.level + 1)
    end_rows = [missing[-1]] if alone else _siblings(missing[-1], path[-2].slot_id, workspace)
    beside = [row for row in end_rows if row.slot_id not in at]
    level = opened.level + 1 + len(added)
    counts = counted_below([row.slot_id for row in beside])
    for row in beside:
        below = counts.get((row.slot_id, "text"), 0)
        notes = counts.get((row.slot_id, "annotation"), 0)
        added.append(OutlineRow(row, level, below, notes, 0, row is beside[-1]))
    before = [
        line._replace(is_last=False) if line.level == opened.level + 1 else line
        for line in lines[place + 1 : end]
    ]
    direct = 1 if missing[:-1] else len(beside)
    opened = opened._replace(shown=min(opened.shown + direct, opened.children))
    return [*lines[:place], opened, *before, *added, *lines[end:]]


def _chain(above: Sequence[NodeRow], level: int) -> list[OutlineRow]:
    """A line for each of the nodes, each below the one before; if there are many, the last ones."""
    left_out = len(above) - ANCESTORS if len(above) > ANCESTORS else 0
    lines = [OutlineRow(above[0], level, 0, 0, 0, True, left_out)] if left_out else []
    counts = counted_below([row.slot_id for row in above[left_out:]])
    for row in above[left_out:]:
        below = counts.get((row.slot_id, "text"), 0)
        notes = counts.get((row.slot_id, "annotation"), 0)
        lines.append(OutlineRow(row, level + len(lines), below, notes, min(below, 1), True))
    return lines


def _siblings(here: NodeRow, parent_slot: int, workspace: Workspace) -> list[NodeRow]:
    """The node with its siblings, in order; if there are many, the nearest ones. Reads few slots,
    however many there are."""
    least = SIBLINGS - 1
    slots = fetch(_BESIDE, [parent_slot, *[here.slot_id] * 3, least] * 2)
    before = [slot for slot, side in slots if side < 0]  # the nearest first
    after = [slot for slot, side in slots if side > 0]
    before = before[: max(SIBLINGS // 2, least - len(after))]
    after = after[: least - len(before)]
    near = selected_versions([*before, *after], workspace)
    rows = {row.slot_id: row for row in rows_of([key for key, _ in near.values()])}
    rows[here.slot_id] = here
    return [rows[slot] for slot in (*reversed(before), here.slot_id, *after)]


def _side(sign: int, than: str, way: str) -> str:
    """SQL for the visible slots on one side of a slot, the nearest first."""
    order, own = order_sql("n"), f"(SELECT {order_sql('o')} FROM trees_node o WHERE o.id = %s)"
    return f"""SELECT * FROM (
        SELECT n.id, {sign} FROM trees_node n
        WHERE {seen_below("%s")}
            AND {order} {than}= {own} AND ({order} {than} {own} OR n.id {than} %s)
        ORDER BY {order} {way}, n.id {way} LIMIT %s
    ) side"""


_BESIDE = f"{_side(-1, '<', 'DESC')} UNION ALL {_side(1, '>', 'ASC')}"


# The outline of a workspace.


def outline_text(actor: Actor, workspace: Workspace, state: dict[str, Any] | None = None) -> str:
    """The outline of a workspace as text, or as another `state` would make it, with the first
    words of its nodes; used to count its tokens."""
    at, tree = workspace.position, workspace.tree
    if not may_reach(actor, at.tree_id, here=tree):
        at = lookup.root_of(tree)
    at = lookup.visible_at_or_above(at, workspace)
    path = lookup.path_of(actor, at.tree, workspace, at)
    lines = outline_left(actor, at.tree, workspace, path, state)
    drawn_lines = drawn(
        lines, at.slot_id, lambda row: summary_or_excerpt(row.summary, row.text, WORDS)
    )
    return "\n".join(drawn_lines)


def outline_left(
    actor: Actor,
    tree: Tree,
    workspace: Workspace,
    path: Sequence[NodeRow],
    state: dict[str, Any] | None = None,
    *,
    limit: int = LINES,
) -> list[OutlineRow]:
    """The outline of a tree as a workspace has expanded it: to its depth, down to the end of
    `path` with its siblings, to the best hits of its searches, and the nodes that it has expanded;
    without what is below nodes that it has collapsed."""
    state = {**outline_of(workspace), **(state or {})}
    root = lookup.root_of(tree)
    lines = outline(actor, tree, workspace, root, depth=state["depth"], limit=limit).lines
    lines = unfolded(lines, path, workspace)
    for hit in dict.fromkeys([*state["found"], *state["hits"][:HITS]]):
        lines = _with_way(actor, tree, workspace, lines, hit)
    opened, closed = set(state["expanded"]), set(state["collapsed"])
    rows = tree.nodes.filter(local_id__in=opened | closed, kind="text").order_by("depth", "id")
    named = list(rows.values_list("local_id", "slot_id")) if opened or closed else []
    for name, slot in named:
        if all(line.row.slot_id != slot for line in lines):
            lines = _with_way(actor, tree, workspace, lines, name)
    lines = _with_children(lines, [slot for name, slot in named if name in opened], workspace)
    return _without(lines, {slot for name, slot in named if name in closed})


def _with_way(
    actor: Actor, tree: Tree, workspace: Workspace, lines: list[OutlineRow], local_id: str
) -> list[OutlineRow]:
    """The lines, with the way to a node that has no line yet."""
    if any(line.row.local_id == local_id and not line.left_out for line in lines):
        return lines
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text":
        return lines
    way = lookup.path_of(actor, tree, workspace, node)
    return unfolded(lines, way, workspace, alone=True)


def _with_children(
    lines: list[OutlineRow], slots: list[int], workspace: Workspace
) -> list[OutlineRow]:
    """The lines, with the continuations of these slots, at most CHILDREN each; parents come before
    what is below them. Four queries, however many slots."""
    if not slots:
        return lines
    below: dict[int, list[int]] = {slot: [] for slot in slots}
    for slot, above in fetch(" UNION ALL ".join([_FIRST] * len(slots)), slots):
        below[above].append(slot)
    every = [slot for some in below.values() for slot in some]
    rows = {row.slot_id: row for row in rows_of([k for k, _ in _selected(every, workspace)])}
    counts = counted_below(every)
    for slot in slots:
        lines = _opened(lines, slot, [rows[child] for child in below[slot]], counts)
    return lines


_FIRST = f"""SELECT * FROM (
        SELECT n.id, n.parent_slot_id FROM trees_node n
        WHERE {seen_below("%s")}
        ORDER BY {order_sql("n")}, n.id LIMIT {CHILDREN}
    ) first"""


def _selected(slots: Sequence[int], workspace: Workspace) -> list[tuple[int, str]]:
    return list(selected_versions(slots, workspace).values()) if slots else []


def _opened(
    lines: list[OutlineRow], slot: int, rows: Sequence[NodeRow], counts: dict[tuple[int, str], int]
) -> list[OutlineRow]:
    """The lines, with one for each of these rows below the line of a slot; rows that already have
    one keep what is below them."""
    place = next(
        (at for at, outline_row in enumerate(lines) if outline_row.row.slot_id == slot), None
    )
    if place is None or not rows or lines[place].left_out:
        return lines
    line, end = lines[place], _end_of(lines, place)
    blocks: dict[int, list[OutlineRow]] = {}
    for inner in lines[place + 1 : end]:
        if inner.level == line.level + 1:
            blocks[inner.row.slot_id] = []
        blocks[next(reversed(blocks))].append(inner)
    for row in rows:
        texts = counts.get((row.slot_id, "text"), 0)
        notes = counts.get((row.slot_id, "annotation"), 0)
        fresh = OutlineRow(row, line.level + 1, texts, notes, 0, False)
        blocks.setdefault(row.slot_id, [fresh])
    order = [row.slot_id for row in rows]
    order += [slot for slot in blocks if slot not in order]
    opened_lines = [line._replace(shown=min(len(order), line.children))]
    for key in order:
        first, *rest = blocks[key]
        opened_lines += [first._replace(is_last=key == order[-1]), *rest]
    return [*lines[:place], *opened_lines, *lines[end:]]


def _end_of(lines: Sequence[OutlineRow], place: int) -> int:
    """The place after what is below a line."""
    end = place + 1
    while end < len(lines) and lines[end].level > lines[place].level:
        end += 1
    return end


def _without(lines: list[OutlineRow], slots: set[int]) -> list[OutlineRow]:
    """The lines, without what is below these slots."""
    kept_lines: list[OutlineRow] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        is_folded = line.row.slot_id in slots and not line.left_out
        kept_lines.append(line._replace(shown=0) if is_folded else line)
        place = _end_of(lines, place) if is_folded else place + 1
    return kept_lines


# The size of a tree: its nodes, branches and depth.


# A slot is visible when neither it nor one above is pruned. `hidden` are the slots below pruned
# ones: none in most trees, and then this is a single pass over the tree.
_SIZE = """
    WITH RECURSIVE hidden(slot) AS (
        SELECT id FROM trees_node WHERE tree_id = %s AND pruned
        UNION
        SELECT n.id FROM hidden {below}
    ), seen AS (
        SELECT id, parent_slot_id, depth FROM trees_node
        WHERE id BETWEEN %s AND %s AND id = slot_id AND kind = 'text'
            AND id NOT IN (SELECT slot FROM hidden)
    )
    SELECT COUNT(*) - COUNT(DISTINCT parent_slot_id), COALESCE(MAX(depth), 0) FROM seen
"""


class Size(NamedTuple):
    """`nodes` counts all kinds, all versions, pruned ones and the root; `branches` the visible
    leaves; `depth` is that of the deepest visible text, the root has 0."""

    nodes: int
    branches: int
    depth: int


def size_of(actor: Actor, tree: Tree) -> Size:
    """The size of the tree, as its stream stores it; one query, however large the tree is."""
    stream = _STREAM.first(name=f"tree:{tree.uid}")
    if stream is None:
        raise Stream.DoesNotExist(f"no stream of the tree {tree.uid}")
    return stored_size(tree, stream)


_STREAM = PreparedQuery(lambda: Stream.objects.filter(name=Given("name")))


def stored_size(tree: Tree, stream: Stream) -> Size:
    """The size of the tree as its stream stores it; measured if it is not stored."""
    if (
        stream.leaves is None or stream.deepest is None
    ):  # an import is still running, or the tree is older than this column
        return Size(stream.items, *measured(tree.pk))
    return Size(stream.items, stream.leaves, stream.deepest)


def measured(tree_id: int, *, last: int = (1 << ORDINAL_BITS) - 1) -> tuple[int, int]:
    """The branches and the depth of a tree, by one pass over it; of its nodes up to the ordinal
    `last`. Every text but the root is below a text, so the leaves are the texts minus those that
    are a text's parent."""
    sql = _SIZE.format(below=step_down("hidden", slot="slot", columns="n.id"))
    first = tree_id << ORDINAL_BITS  # of its range of row ids: no other tree is read
    leaves, depth = fetch(sql, [tree_id, first, first + last])[0]
    return leaves, depth


# The part of a tree that a prune hides or a restore shows: what is visible from the slot down.
_PART = """
    WITH RECURSIVE part(slot, parent, depth) AS (
        SELECT id, parent_slot_id, depth FROM trees_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.parent_slot_id, n.depth FROM part {below}
    ) SELECT slot, parent, depth FROM part LIMIT %s
"""
MOST_COUNTED = 1_000  # slots of a part that are counted while its tree is locked
MOST_ROUNDS = 2  # of 500 slots, among which the deepest visible one is looked for
_DEEP = """
    SELECT id, depth FROM trees_node
    WHERE tree_id = %s AND kind = 'text' AND slot_id >= id AND NOT pruned
        AND (depth, id) < (%s, %s) AND depth > %s
    ORDER BY depth DESC, id DESC LIMIT 500
"""


def size_after(size: tuple[int, int], slot: Node, *, pruned: bool) -> tuple[int, int] | None:
    """The branches and the depth of a tree of this size after the flag of a text slot was set.
    Reads what is below the slot, and what is as deep as the deepest hidden part; None if that is
    too much to read while others wait (`MOST_COUNTED`)."""
    leaves, deepest = size
    if slot.kind != "text" or slot.parent_slot_id is None or places.is_below_pruned(slot):
        return size
    below = step_down("part", slot="slot", columns="n.id, n.parent_slot_id, n.depth")
    part = fetch(_PART.format(below=below), [slot.pk, MOST_COUNTED + 1])
    if len(part) > MOST_COUNTED:
        return None
    inner = len(part) - len({parent for key, parent, _ in part if key != slot.pk})
    beside = lookup.slots_below(slot.parent_slot_id).exclude(pk=slot.pk).values_list("pk")[:1]
    change = inner - (0 if beside else 1)
    depth = max(depth for _, _, depth in part)
    if not pruned:
        return leaves + change, max(deepest, depth)
    if depth < deepest:
        return leaves - change, deepest
    left = _deepest_beside(slot, deepest, {key for key, _, _ in part})
    return None if left is None else (leaves - change, left)


def _deepest_beside(slot: Node, deepest: int, gone: set[int]) -> int | None:
    """The depth of the deepest visible text that is not in `gone`, at least the parent's; None if
    it is not found soon."""
    least, last = slot.depth - 1, 0
    deepest += 1
    for _ in range(MOST_ROUNDS + len(gone) // 500):
        rows = fetch(_DEEP, [slot.tree_id, deepest, last, least])
        others = {key: depth for key, depth in rows if key not in gone}
        seen = others.keys() - lookup.below_pruned(slot.tree_id, others)
        if seen:
            return max(int(others[key]) for key in seen)
        if not rows:
            return least
        last, deepest = rows[-1]
    return None
