"""Settings that are pinned to a branch: what is asked with at a slot and below it."""

from typing import Any

from loom.access import Actor
from loom.models import BranchSettings, Node, Tree, Workspace
from loom.queries.lookup import path_ids


def pins_on(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> list[BranchSettings]:
    """The pins at a node and above it, the topmost first; one query where the tree has none, else
    two."""
    pins = {
        one.slot_id: one
        for one in BranchSettings.objects.filter(tree=tree).select_related("slot")
        if one.settings
    }
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
