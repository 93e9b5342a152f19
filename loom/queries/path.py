"""The path from the root to a node, as one participant reads it."""

from operator import itemgetter
from typing import Any

from loom.access import Actor
from loom.models import Node, Tree, Workspace
from loom.queries.rows import NodeRow, as_row, columns, fetch

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
# Only versions after the first are looked for: most slots have none, which the index alone says.
_NEWEST = """(SELECT x.id FROM loom_node x WHERE x.slot_id = up.slot AND x.id > up.slot
    AND NOT x.version_pruned ORDER BY x.id DESC LIMIT 1)"""
_CHOSEN = """(SELECT c.node_id FROM loom_versionchoice c JOIN loom_node x ON x.id = c.node_id
    WHERE c.workspace_id = %s AND c.slot_id = up.slot AND NOT x.version_pruned)"""


def _standing(node: Node, workspace: Workspace | None) -> tuple[str, list[int]]:
    """SQL for the version that stands in a slot of the path, and its parameters."""
    chosen = f"{_CHOSEN}, " if workspace is not None else ""
    params = [node.slot_id, node.pk, *([workspace.pk] if workspace is not None else [])]
    return (
        f"CASE WHEN up.slot = %s THEN %s ELSE COALESCE({chosen}{_NEWEST}, up.slot) END",
        params,
    )


def path_of(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node | None = None
) -> list[NodeRow]:
    """The path to `node` (None: where the workspace stands, else the root), root first.

    In each slot stands the version the workspace chose, else the newest not pruned; `node`
    itself stands in its own slot, pruned or not. One query.
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
    """The same path as (slot id, id of the version that stands there), root first; at most
    the last `most` of it, which then cost the same however deep the node is."""
    end = _end(tree, workspace, node)
    standing, params = _standing(end, workspace)
    sql = f"{_UP} SELECT up.slot, {standing} FROM up ORDER BY up.depth"
    top = 0 if most is None else max(0, end.depth - most + 1)
    rows: list[Any] = fetch(sql, [end.slot_id, top, *params])
    return rows


def hides(node: Node) -> bool:
    """Whether a slot on the path to `node`, its own included, is pruned or begins a sandbox.
    Reads no text."""
    sql = f"{_UP} SELECT 1 FROM up WHERE pruned OR sandbox LIMIT 1"
    return bool(fetch(sql, [node.slot_id, 0]))


def _end(tree: Tree, workspace: Workspace | None, node: Node | None) -> Node:
    from loom.queries.lookup import root_of

    if node is not None:
        return node
    if workspace is not None and workspace.position.tree_id == tree.pk:
        return workspace.position
    return root_of(tree)
