"""Where a reader stands in a tree, and which stretch of his path a page shows."""

from dataclasses import dataclass

from loom.access import Actor
from loom.models import Node, Tree, Workspace
from loom.queries import lookup
from loom.queries.lookup import NEAREST
from loom.queries.node_context import Spot
from loom.queries.path import path_ids
from loom.rules.errors import CommandError, not_found
from loom.rules.ids import looks_like_id

MOST_STEPS = 40


@dataclass(frozen=True)
class Place:
    """Somebody at a node of a tree."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    node: Node


def place_of(actor: Actor, tree: Tree, workspace: Workspace, named: str) -> Place:
    """The place at the node `named` (a local id), else where the workspace stands."""
    if named:
        return Place(actor, tree, workspace, node_named(tree, named))
    position = lookup.rows().get(pk=workspace.position_id)
    if position.tree_id != tree.pk:
        position = lookup.root_of(tree)
    visible = lookup.visible_at_or_above(position, workspace)
    if workspace.revision == 0 and visible.parent_slot_id is None:
        visible = lookup.first_fork(visible, most=MOST_STEPS)
    return Place(
        actor, tree, workspace, lookup.selected_version(visible.slot_id, workspace) or visible
    )


def node_named(tree: Tree, local_id: str) -> Node:
    """The text node of that id. Annotations lead to what they are about. NOT_FOUND else."""
    node = known_node(tree, local_id)
    for _ in range(8):  # a reply hangs below a note: a few steps lead to the text
        if node is None:
            raise not_found(f"[{local_id}]", "Open the tree without it.")
        if node.kind == "text" or node.parent_slot is None:
            return node
        node = lookup.newest_version(node.parent_slot)
        node = lookup.rows().get(pk=node.pk)
    raise not_found(f"[{local_id}]", "Open the tree without it.")


def known_node(tree: Tree, local_id: str) -> Node | None:
    """The node of that id; None too where it can be no id."""
    wanted = local_id.lower()
    return lookup.find_node(tree, wanted) if looks_like_id(wanted) else None


@dataclass(frozen=True)
class Stretch:
    """Some nodes of a path, without the root; `above` is the version (a row id) that stands
    above the first of them, and `has_above` says whether it is not the root's. `path` holds the
    versions that were read, root first: the last NEAREST of it at least."""

    spots: list[Spot]
    path: list[int]
    above: int
    has_above: bool


def stretch_of(place: Place, *, after: str, before: str, limit: int) -> Stretch:
    """At most `limit` nodes of the path that end at the place (or above `before`), never
    the root, only those below `after`. One query, two where `before` or `after` is given.

    CONFLICT where `after` is not on this path: the page asks for the whole of it then.
    """
    most = max(limit + 1, NEAREST)  # one more: whether there is anything above
    if before:
        upper = known_node(place.tree, before)
        most += max(0, place.node.depth - upper.depth + 1) if upper else 0
    path = path_ids(place.actor, place.tree, place.workspace, place.node, most=most)
    slots = [slot for slot, _ in path]
    first = 1 if len(path) > place.node.depth else 0  # without the root
    end = slots.index(_slot_of(place.tree, before, slots)) if before else len(path)
    floor = first
    if after:
        slot = _slot_of(place.tree, after, slots)
        floor = slots.index(slot) + 1
        if end - floor > limit:
            raise _not_joined(after)
    start = max(floor, end - limit)
    return Stretch(
        spots=[Spot(node, slot) for slot, node in path[start:end]],
        path=[node for _, node in path],
        above=path[start - 1][1] if start else 0,
        has_above=start > first or not first,
    )


def _slot_of(tree: Tree, local_id: str, slots: list[int]) -> int:
    node = known_node(tree, local_id)
    if node is None or node.slot_id not in slots:
        raise _not_joined(local_id)
    return int(node.slot_id)


def _not_joined(local_id: str) -> CommandError:
    return CommandError(
        "CONFLICT",
        f"[{local_id}] is not on this path, or too far up.",
        hint="Ask for the path without it.",
    )
