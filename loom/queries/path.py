"""The path from the root to a node as one participant reads it, and what is hidden on it."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from loom.access import Actor
from loom.models import Node, Tree, VersionChoice, Workspace
from loom.queries.node_rows import NodeRow, as_row, columns, fetch, listed, walked


def selected_versions(
    slots: Iterable[int], workspace: Workspace | None
) -> dict[int, tuple[int, str]]:
    """(row id, local id) of the selected version, by slot id; two queries.

    The workspace's choice, else the newest not pruned, else (all are pruned) the newest.
    """
    wanted = set(slots)
    chosen = _choices(wanted, workspace)
    standing: dict[int, tuple[int, str]] = {}
    decided: set[int] = set()
    found = Node.objects.filter(slot__in=wanted).order_by("id")
    for node, local_id, slot, gone in found.values_list(
        "id", "local_id", "slot_id", "version_pruned"
    ):
        if slot in decided or (gone and slot in standing):
            continue
        standing[slot] = (node, local_id)
        if node == chosen.get(slot) and not gone:
            decided.add(slot)
    return standing


def _choices(slots: set[int], workspace: Workspace | None) -> dict[int, int]:
    if workspace is None:
        return {}
    found = VersionChoice.objects.filter(workspace=workspace, slot__in=slots)
    return dict(found.values_list("slot_id", "node_id"))


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
    above: dict[int, int | None] = {}
    pruned: set[int] = set()
    for slot, parent, flag in fetch(_ABOVE.format(slots=listed(asked))):
        above[slot] = parent
        if flag:
            pruned.add(slot)
    return _marked(asked, above, pruned)


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


# The path from the root to a node, as one participant reads it.


__all__ = ["NodeRow", "hides", "path_ids", "path_of"]

# Depth falls with every step, so that the walk ends on a corrupt tree too. Flags of a slot are
# picked up on the way, since its first version is visited anyhow. Every condition on `s` names
# `up` as well: for one on `s` alone SQLite, once it has statistics, scans the whole table to
# build a Bloom filter.
_UP = """
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
_NEWEST = """(SELECT x.id FROM loom_node x WHERE x.slot_id = up.slot AND x.id > up.slot
    AND NOT x.version_pruned ORDER BY x.id DESC LIMIT 1)"""
_CHOSEN = """(SELECT c.node_id FROM loom_versionchoice c JOIN loom_node x ON x.id = c.node_id
    WHERE c.workspace_id = %s AND c.slot_id = up.slot AND NOT x.version_pruned)"""


def _standing(node: Node, workspace: Workspace | None) -> tuple[str, list[int]]:
    """SQL for the selected version of a slot on the path, and its parameters."""
    chosen = f"{_CHOSEN}, " if workspace is not None else ""
    params = [node.slot_id, node.pk, *([workspace.pk] if workspace is not None else [])]
    return (
        f"CASE WHEN up.slot = %s THEN %s ELSE COALESCE({chosen}{_NEWEST}, up.slot) END",
        params,
    )


def path_of(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node | None = None
) -> list[NodeRow]:
    """The path to `node` (None: the workspace's position, else the root), root first.

    In each slot the version that the workspace chose, else the newest not pruned; `node` itself in
    its own slot, pruned or not. One query.
    """
    end = _end(tree, workspace, node)
    standing, params = _standing(end, workspace)
    sql = f"""{_UP} SELECT {columns("up")} FROM up JOIN loom_node v ON v.id = {standing}
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
    end = _end(tree, workspace, node)
    standing, params = _standing(end, workspace)
    sql = f"{_UP} SELECT up.slot, {standing} FROM up ORDER BY up.depth"
    top = 0 if most is None else max(0, end.depth - most + 1)
    rows: list[Any] = fetch(sql, [end.slot_id, top, *params])
    return rows


def hides(node: Node) -> bool:
    """Whether a slot on the path to `node`, its own included, is pruned or starts a sandbox. Reads
    no text."""
    sql = f"{_UP} SELECT 1 FROM up WHERE pruned OR sandbox LIMIT 1"
    return bool(fetch(sql, [node.slot_id, 0]))


def _end(tree: Tree, workspace: Workspace | None, node: Node | None) -> Node:
    from loom.queries.lookup import root_of

    if node is not None:
        return node
    if workspace is not None and workspace.position.tree_id == tree.pk:
        return workspace.position
    return root_of(tree)
