"""The path from the root to a node as one participant reads it, and single nodes by place."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet

from loom.access import Actor
from loom.models import (
    ORDER,
    ORDINAL_BITS,
    BranchSettings,
    Node,
    Step,
    StepItem,
    Tree,
    VersionChoice,
    Workspace,
)
from loom.models.base import Given, Prepared
from loom.queries.node_rows import NodeRow, as_row, columns, fetch, listed, walked

_COUNT_BELOW = """
    WITH RECURSIVE down(id, depth) AS (
        SELECT id, depth FROM loom_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.depth FROM down
        JOIN loom_node n ON n.parent_slot_id = down.id AND n.slot_id = n.id
            AND n.depth > down.depth
        WHERE n.kind = 'text' AND NOT n.pruned AND {walked}
    ) SELECT COUNT(*) FROM down WHERE id <> %s
"""


def count_below(slot_id: int) -> int:
    """The number of text slots below the slot that are not hidden by a prune further down."""
    return int(fetch(_COUNT_BELOW.format(walked=walked("down.id")), [slot_id, slot_id])[0][0])


# Single nodes by id and by position: the selected version, and what is above and beside.


# Wider joins cost more than they save: building the SQL of six took 4 ms (measured).
RELATED = ("author", "slot")


def by_id(node_id: int) -> Node:
    """The node with this row id, which is known to exist."""
    found = _BY_ID.first(pk=node_id)
    if found is None:
        raise Node.DoesNotExist(f"no node {node_id}")
    return found


def node_ref(node: Node, tree_id: int) -> str:
    """How a node is referred to from a tree: its local id, with its tree where that is another."""
    if node.tree_id == tree_id:
        return node.local_id
    return f"tree:{node.tree.uid} node:{node.local_id}"


def rows() -> QuerySet[Node]:
    """Nodes with what is shown with them, in order of creation."""
    return Node.objects.select_related(*RELATED).order_by("id")


_BY_ID = Prepared(lambda: rows().filter(pk=Given("pk")))
_NAMED = Prepared(lambda: rows().filter(tree=Given("tree"), local_id=Given("local_id")))
_NEWEST = Prepared(
    lambda: rows().filter(slot=Given("slot"), version_pruned=False).order_by("-id")[:1]
)
_CHOSEN = Prepared(
    lambda: rows().filter(
        pk__in=VersionChoice.objects.filter(
            workspace=Given("workspace"), slot=Given("slot")
        ).values("node_id"),
        version_pruned=False,
    )
)
_PRUNED = Prepared(
    lambda: Node.objects.filter(tree=Given("tree"), pruned=True).values_list("id").order_by()
)


def root_of(tree: Tree) -> Node:
    """The tree's root: its first node."""
    return _of(tree, by_id((tree.pk << ORDINAL_BITS) + 1))


def find_node(tree: Tree, local_id: str) -> Node | None:
    """The node with that local id in the tree."""
    found = _NAMED.first(tree=tree.pk, local_id=local_id)
    return _of(tree, found) if found is not None else None


def _of(tree: Tree, node: Node) -> Node:
    node.tree = tree
    return node


def newest_version(node: Node) -> Node:
    """The newest version of the node's slot that is not pruned, else the node itself."""
    return _NEWEST.first(slot=node.slot_id) or node


def selected_version(slot_id: int, workspace: Workspace | None) -> Node | None:
    """The selected version of a slot: the workspace's choice, else the newest not pruned."""
    if workspace is not None:
        chosen = _CHOSEN.first(workspace=workspace.pk, slot=slot_id)
        if chosen is not None:
            return chosen
    return _NEWEST.first(slot=slot_id) or rows().filter(slot=slot_id).last()


def version_above(node: Node, workspace: Workspace | None) -> Node | None:
    """The selected version of the slot above; None for the root."""
    if node.parent_slot_id is None:
        return None
    return selected_version(node.parent_slot_id, workspace)


def slots_below(slot_id: int | Given, *, pruned: bool = False) -> QuerySet[Node]:
    """First versions of the text slots below a slot in the order of siblings; pruned ones only if
    asked for."""
    below = rows().filter(parent_slot=slot_id, kind="text", slot_id=F("id"))
    below = below.annotate(order=ORDER).order_by("order", "id")
    return below if pruned else below.filter(pruned=False)


# As far down from a slot as there is only one way to go: the slot and so many steps.
ONLY_WAY = """down(id, steps) AS (
        SELECT CAST(%s AS BIGINT), 0
        UNION ALL
        SELECT (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(x.id) END FROM (
            SELECT n.id FROM loom_node n WHERE n.parent_slot_id = down.id AND n.kind = 'text'
                AND n.slot_id = n.id AND NOT n.pruned LIMIT 2
        ) x), down.steps + 1
        FROM down WHERE down.id IS NOT NULL AND down.steps < %s
    )"""
_ONLY_WAY = f"""WITH RECURSIVE {ONLY_WAY}
    SELECT down.id, CASE WHEN s.sandbox THEN 1 ELSE 0 END
    FROM down JOIN loom_node s ON s.id = down.id ORDER BY down.steps
"""


def first_fork(root: Node, *, most: int, sandboxes: bool = True) -> Node:
    """As far down from the root as there is only one way to go, at most so many steps, and not
    into a sandbox where those are not read. The first version of the slot; two queries."""
    end = root.slot_id
    with connection.cursor() as cursor:
        cursor.execute(_ONLY_WAY, [root.slot_id, most])
        for key, is_sandbox in cursor.fetchall()[1:]:
            if is_sandbox and not sandboxes:
                break
            end = key
    return root if end == root.pk else _of(root.tree, by_id(end))


def hidden_by(node: Node, changed: Mapping[int, bool] | None = None) -> Node | None:
    """The highest pruned slot at or above the node, which hides it; None if it is visible.
    `changed` overrides which slots are pruned."""
    pruned = pruned_slots(node.tree_id)
    for slot, is_pruned in (changed or {}).items():
        (pruned.add if is_pruned else pruned.discard)(slot)
    hiding = next((slot for slot in slots_above(node) if slot in pruned), None) if pruned else None
    return by_id(hiding) if hiding else None


def is_below_pruned(slot: Node) -> bool:
    """Whether a slot above this one is pruned."""
    return bool(below_pruned(slot.tree_id, [slot.pk]))


def pruned_slots(tree_id: int) -> set[int]:
    """The slots of a tree that are pruned themselves, from the partial index."""
    return {row[0] for row in _PRUNED.all(tree=tree_id)}


def slots_above(node: Node) -> list[int]:
    """The slot ids from the root down to the node's own, by one recursive query."""
    sql = """
        WITH RECURSIVE up(slot, parent, depth) AS (
            SELECT id, parent_slot_id, depth FROM loom_node WHERE id = %s
            UNION ALL
            SELECT n.id, n.parent_slot_id, n.depth FROM up
            JOIN loom_node n ON n.id = up.parent AND n.depth < up.depth
        ) SELECT slot FROM up ORDER BY depth
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [node.slot_id])
        return [row[0] for row in cursor.fetchall()]


def visible_at_or_above(
    node: Node, workspace: Workspace | None, changed: Mapping[int, bool] | None = None
) -> Node:
    """The node, or if it is hidden the nearest node above that is not: there the version selected
    in the workspace."""
    hiding = hidden_by(node, changed)
    if hiding is None or hiding.parent_slot_id is None:
        return node
    return selected_version(hiding.parent_slot_id, workspace) or node


NEAREST = 200  # of a path, where not all of it is read


# The path from the root to a node as one participant reads it, and what is hidden on it.


def selected_versions(
    slots: Iterable[int], workspace: Workspace | None
) -> dict[int, tuple[int, str]]:
    """(row id, local id) of the selected version, by slot id; two queries.

    The workspace's choice, else the newest not pruned, else (all are pruned) the newest.
    """
    wanted = set(slots)
    chosen = _choices(wanted, workspace)
    selected: dict[int, tuple[int, str]] = {}
    decided: set[int] = set()
    sql = f"""SELECT id, local_id, slot_id, version_pruned FROM loom_node
        WHERE slot_id IN ({listed(wanted)}) ORDER BY id"""
    for node, local_id, slot, gone in fetch(sql):
        if slot in decided or (gone and slot in selected):
            continue
        selected[slot] = (node, local_id)
        if node == chosen.get(slot) and not gone:
            decided.add(slot)
    return selected


def _choices(slots: set[int], workspace: Workspace | None) -> dict[int, int]:
    if workspace is None or not workspace.pk:
        return {}
    sql = f"""SELECT slot_id, node_id FROM loom_versionchoice
        WHERE workspace_id = %s AND slot_id IN ({listed(slots)})"""
    return dict(fetch(sql, [workspace.pk]))


# Hidden slots: those below a pruned one. Computed, never stored.


# UNION, not UNION ALL: a slot reached twice is walked once, and a ring ends the walk.
_ABOVE = """
    WITH RECURSIVE up(slot, above, pruned) AS (
        SELECT id, parent_slot_id, pruned FROM loom_node WHERE id IN ({slots})
        UNION
        SELECT s.id, s.parent_slot_id, s.pruned FROM up JOIN loom_node s ON s.id = up.above
    ) SELECT slot, above, pruned FROM up
"""
# Pruned slots further down are where the walk begins as well, so it need not go through
# them. Kinds are named so that SQLite takes the index of what is seen below a slot (100,000
# slots: 170 ms instead of 350, measured).
_DOWN = """
    WITH RECURSIVE down(slot) AS (
        SELECT id FROM loom_node WHERE tree_id = %s AND pruned
        UNION
        SELECT n.id FROM down JOIN loom_node n ON n.parent_slot_id = down.slot
            AND n.kind IN ('text', 'annotation', 'thought', 'claim')
            AND n.slot_id = n.id AND NOT n.pruned
        WHERE {walked}
    ) SELECT slot FROM down
"""


def has_pruned(tree_id: int) -> bool:
    """Whether any slot of the tree is pruned; most trees have none. Uses the partial index."""
    return bool(fetch("SELECT 1 FROM loom_node WHERE tree_id = %s AND pruned LIMIT 1", [tree_id]))


def hidden_slots(tree: Tree) -> set[int]:
    """The pruned slots of the tree and all slots below them; costs as much as is hidden."""
    return {row[0] for row in fetch(_DOWN.format(walked=walked("down.slot")), [tree.pk])}


def withheld(actor: Actor, ids: Iterable[int]) -> set[int]:
    """Those of the nodes whose text the actor is not shown: none for a person; for a model the
    excluded, the pruned, and those below a pruned one (docs/model.md §2.1)."""
    return withheld_from_models(ids) if actor.participant.kind == "model" else set()


def withheld_from_models(ids: Iterable[int]) -> set[int]:
    """Those of the nodes whose text is sent to no model; at most three queries per tree."""
    sql = f"""SELECT v.id, v.slot_id, v.tree_id,
        CASE WHEN v.version_pruned OR s.pruned OR s.excluded THEN 1 ELSE 0 END
        FROM loom_node v JOIN loom_node s ON s.id = v.slot_id WHERE v.id IN ({listed(ids)})"""
    slots: dict[int, dict[int, int]] = {}
    gone = set()
    for key, slot, tree, is_gone in fetch(sql):
        slots.setdefault(tree, {})[key] = slot
        if is_gone:
            gone.add(key)
    for tree, of_tree in slots.items():
        hidden = below_pruned(tree, of_tree.values())
        gone.update(key for key, slot in of_tree.items() if slot in hidden)
    return gone


def below_pruned(tree_id: int, slots: Iterable[int]) -> set[int]:
    """Those of `slots` that are below a pruned slot (their own flag does not count).

    One query upward from all of them together, none where nothing in the tree is pruned.
    """
    asked = set(slots)
    if not asked or not has_pruned(tree_id):
        return set()
    above, pruned = _walked_up(asked)
    return _marked(asked, above, pruned)


def hidden_among(slots: Mapping[int, int]) -> set[int]:
    """Those of the slots, given with the row ids of their trees, that are pruned or below a pruned
    one. Two queries, whatever the number of trees."""
    if not slots:
        return set()
    sql = f"""SELECT DISTINCT tree_id FROM loom_node
        WHERE tree_id IN ({listed(set(slots.values()))}) AND pruned"""
    trees = {row[0] for row in fetch(sql)}
    asked = {slot for slot, tree in slots.items() if tree in trees}
    if not asked:
        return set()
    above, pruned = _walked_up(asked)
    return _marked(asked, above, pruned) | (asked & pruned)


def _walked_up(slots: set[int]) -> tuple[dict[int, int | None], set[int]]:
    """The parents of the slots and of all above them, and those that are pruned; one query."""
    rows = fetch(_ABOVE.format(slots=listed(slots)))
    return {slot: parent for slot, parent, _ in rows}, {slot for slot, _, flag in rows if flag}


def _marked(asked: set[int], above: dict[int, int | None], pruned: set[int]) -> set[int]:
    """The given slots with a pruned one above; each slot is decided once, without recursion."""
    hidden: dict[int, bool] = {}
    for slot in asked:
        trail: list[int] = []
        at: int | None = slot
        while at is not None and at not in hidden and len(trail) <= len(above):
            trail.append(at)
            at = above.get(at)
        verdict = at is not None and (hidden.get(at, False) or at in pruned)
        for one in reversed(trail):
            hidden[one] = verdict
            verdict = verdict or one in pruned
    return {slot for slot in asked if hidden[slot]}


def items_of(steps: Iterable[Step]) -> dict[int, list[int]]:
    """The ids of the items that each step touched, in order, by the step's row id; one query."""
    found: dict[int, list[int]] = {step.pk: [] for step in steps}
    rows = StepItem.objects.filter(step__in=found).order_by("step_id", "place")
    for step, item in rows.values_list("step_id", "item_id"):
        found[step].append(item)
    return found


# The path from the root to a node, as one participant reads it.


__all__ = ["NodeRow", "hides", "path_ids", "path_of"]

# Depth falls with every step, so that the walk ends on a corrupt tree too. Flags of a slot are
# picked up on the way, since its first version is visited anyhow. Every condition on `s` names
# `up` as well: for one on `s` alone SQLite, once it has statistics, scans the whole table to
# build a Bloom filter.
UP = """
    WITH RECURSIVE up(slot, above, depth, pruned, excluded, sandbox, resolved_at) AS (
        SELECT s.id, s.parent_slot_id, s.depth, s.pruned, s.excluded, s.sandbox, s.resolved_at
        FROM loom_node s WHERE s.id = %s
        UNION ALL
        SELECT s.id, s.parent_slot_id, s.depth, s.pruned, s.excluded, s.sandbox, s.resolved_at
        FROM up JOIN loom_node s ON s.id = up.above AND s.depth < up.depth WHERE up.depth > %s
    )
"""
_DEPTH = NodeRow._fields.index("depth")
# Only later versions are looked for: most slots have none, which the index alone shows.
_NEWEST_SQL = """(SELECT x.id FROM loom_node x WHERE x.slot_id = up.slot AND x.id > up.slot
    AND NOT x.version_pruned ORDER BY x.id DESC LIMIT 1)"""
_CHOSEN_SQL = """(SELECT c.node_id FROM loom_versionchoice c JOIN loom_node x ON x.id = c.node_id
    WHERE c.workspace_id = %s AND c.slot_id = up.slot AND NOT x.version_pruned)"""


def selected_sql(workspace: Workspace | None) -> tuple[str, list[int]]:
    """SQL for the selected version of `up.slot`, and its parameters."""
    chosen = f"{_CHOSEN_SQL}, " if workspace is not None else ""
    params = [workspace.pk] if workspace is not None else []
    return f"COALESCE({chosen}{_NEWEST_SQL}, up.slot)", params


def selected_version_sql(node: Node, workspace: Workspace | None) -> tuple[str, list[int]]:
    """The same, but for the slot of `node` that node itself."""
    selected, params = selected_sql(workspace)
    return f"CASE WHEN up.slot = %s THEN %s ELSE {selected} END", [node.slot_id, node.pk, *params]


def path_of(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node | None = None
) -> list[NodeRow]:
    """The path to `node` (None: the workspace's position, else the root), root first.

    In each slot the version that the workspace chose, else the newest not pruned; `node` itself in
    its own slot, pruned or not. One query.
    """
    end = end_of(tree, workspace, node)
    selected, params = selected_version_sql(end, workspace)
    sql = f"""{UP} SELECT {columns("up")} FROM up JOIN loom_node v ON v.id = {selected}
        JOIN loom_participant a ON a.id = v.author_id"""
    # Sorted here: ORDER BY would carry every text through the sorter.
    rows = fetch(sql, [end.slot_id, 0, *params])
    rows.sort(key=itemgetter(_DEPTH))
    return list(map(as_row, rows))


def path_ids(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node | None = None,
    *,
    most: int | None = None,
) -> list[tuple[int, int]]:
    """The same path as (slot id, id of the selected version), root first; only the last `most`
    entries, which cost the same however deep the node is."""
    end = end_of(tree, workspace, node)
    selected, params = selected_version_sql(end, workspace)
    sql = f"{UP} SELECT up.slot, {selected} FROM up ORDER BY up.depth"
    top = 0 if most is None else max(0, end.depth - most + 1)
    rows: list[Any] = fetch(sql, [end.slot_id, top, *params])
    return rows


def hides(node: Node) -> bool:
    """Whether a slot on the path to `node`, its own included, is pruned or starts a sandbox. Reads
    no text."""
    sql = f"{UP} SELECT 1 FROM up WHERE pruned OR sandbox LIMIT 1"
    return bool(fetch(sql, [node.slot_id, 0]))


def end_of(tree: Tree, workspace: Workspace | None, node: Node | None) -> Node:
    """Where a path ends: at `node`, else where the workspace is, else at the root."""
    if node is not None:
        return node
    if workspace is not None and workspace.position.tree_id == tree.pk:
        return workspace.position
    return root_of(tree)


# Settings that are pinned to a branch: what is asked with at a slot and below it.


_PINS = Prepared(lambda: BranchSettings.objects.filter(tree=Given("tree")).select_related("slot"))


def pins_on(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> list[BranchSettings]:
    """The pins at a node and above it, the topmost first; one query where the tree has none, else
    two."""
    pins = {one.slot_id: one for one in _PINS.all(tree=tree.pk) if one.settings}
    if not pins:
        return []
    path = path_ids(actor, tree, workspace, node)
    return [pins[slot] for slot, _ in path if slot in pins]


def settings_at(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> dict[str, Any]:
    """The settings that hold at a node: of each the one that is pinned nearest above."""
    found: dict[str, Any] = {}
    for one in pins_on(actor, tree, workspace, node):
        found |= one.settings
    return found
