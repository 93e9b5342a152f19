"""Where a person is in a tree: stored when they arrive at a node, so every browser opens there.

This is not a command: it has no line, no step and no event. Nobody else sees it, and it changes
nothing of the tree.
"""

from loom.access import Actor, workspace_of
from loom.engine.views import stored
from loom.errors import CommandError
from loom.trees.models import Node, Tree
from loom.workspace.models import Workspace


def arrive(actor: Actor, tree: Tree, node: Node) -> None:
    """Makes a node of the tree the position of the person's workspace; REJECTED for a node that is
    not a text. A pruned text is accepted: the tree then opens above what hides it."""
    if node.kind != "text":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is not a text.",
            hint="send the text that it is about",
        )
    workspace = stored(workspace_of(actor.participant, tree))
    if workspace.position_id != node.pk:
        Workspace.objects.filter(pk=workspace.pk).update(position=node)
