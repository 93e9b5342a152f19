"""A tree as the API shows it (docs/model.md §14.3.7), and its size."""

from typing import Any, NamedTuple

from loom.access import Actor
from loom.models import Node, Stream, Tree, Workspace
from loom.queries import lookup
from loom.queries.rows import fetch, walked
from loom.rules.hashes import instant

# A slot counts as seen when neither it nor one above is pruned. `hidden` is what hangs
# below pruned slots: empty in most trees, and then this is one pass over the tree.
_SIZE = """
    WITH RECURSIVE hidden(slot) AS (
        SELECT id FROM loom_node WHERE tree_id = %s AND pruned
        UNION
        SELECT n.id FROM hidden
        JOIN loom_node n ON n.parent_slot_id = hidden.slot AND n.kind = 'text'
            AND n.slot_id = n.id AND NOT n.pruned
        WHERE {walked}
    ), seen AS (
        SELECT id, parent_slot_id, depth FROM loom_node
        WHERE tree_id = %s AND id = slot_id AND kind = 'text'
            AND id NOT IN (SELECT slot FROM hidden)
    )
    SELECT COUNT(*) - COUNT(DISTINCT parent_slot_id), COALESCE(MAX(depth), 0) FROM seen
"""


class Size(NamedTuple):
    """`nodes` counts all kinds, all versions, pruned ones and the root; `branches` leaves
    that are seen; `depth` of the deepest text that is seen, the root has 0."""

    nodes: int
    branches: int
    depth: int


def size_of(actor: Actor, tree: Tree) -> Size:
    """How big the tree is, as its stream keeps it; one query, however big it is."""
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
    if (
        stream.leaves is None or stream.deepest is None
    ):  # grown by an import that is not done, or before this was kept
        return Size(stream.items, *measured(tree.pk))
    return Size(stream.items, stream.leaves, stream.deepest)


def measured(tree_id: int) -> tuple[int, int]:
    """The branches and the depth of a tree, by one pass over it. Every text but the root hangs
    below a text, so that leaves are the texts less those that are a text's parent."""
    leaves, depth = fetch(_SIZE.format(walked=walked("hidden.slot")), [tree_id] * 2)[0]
    return leaves, depth


def grown(size: tuple[int, int], node: Node) -> tuple[int, int]:
    """The branches and the depth of a tree of this size once a stored node has come to it."""
    leaves, depth = size
    if node.kind != "text" or node.slot_id != node.pk or node.parent_slot_id is None:
        return size
    beside = lookup.slots_below(node.parent_slot_id).exclude(pk=node.pk)
    return leaves + bool(beside.values_list("pk")[:1]), max(depth, node.depth)


def tree_body(actor: Actor, tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The tree for somebody; `workspace` is the caller's own (None: he has none yet)."""
    size = size_of(actor, tree)
    return {
        "id": tree.uid,
        "grove": tree.grove.uid,
        "title": tree.title,
        "mode": tree.mode,
        "description": tree.description,
        "system_context": tree.system_context,
        "summary": tree.summary,
        "truncation": tree.truncation,
        "root": lookup.root_of(tree).local_id,
        "node_count": size.nodes,
        "branch_count": size.branches,
        "depth": size.depth,
        "seq": head_of(tree),
        "created_at": instant(tree.created_at),
        "archived_at": instant(tree.archived_at) if tree.archived_at else None,
        "workspace": workspace_part(tree, workspace),
    }


def head_of(tree: Tree) -> int:
    """The last seq of the tree's stream; 0 where nothing happened yet."""
    heads = Stream.objects.filter(name=f"tree:{tree.uid}").values_list("head", flat=True)
    return heads.first() or 0


def workspace_part(tree: Tree, workspace: Workspace | None) -> dict[str, Any] | None:
    """Id and position of a workspace; the position is the nearest node that is not hidden."""
    if workspace is None:
        return None
    return {"id": workspace.uid, "position": position_of(tree, workspace)}


def position_of(tree: Tree, workspace: Workspace) -> str:
    """Where the workspace stands: a local id, with its tree where that is another one."""
    stands = lookup.rows().get(pk=workspace.position_id)
    node = lookup.visible_at_or_above(stands, workspace)
    if node.tree_id == tree.pk:
        return node.local_id
    return f"tree:{node.tree.uid} node:{node.local_id}"
