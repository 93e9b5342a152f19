"""The position of a workspace in its tree, and its checkpoint."""

from typing import TYPE_CHECKING

from django.db import transaction

from loom.engine import streams
from loom.people.models import Participant
from loom.platform.inserts import update_row
from loom.trees.models import Node, Workspace
from loom.trees.queries import lookup

if TYPE_CHECKING:
    pass
from loom.engine.views import locked


def set_position_now(workspace: Workspace, node: Node, *, actor: Participant) -> None:
    """Moves a workspace to a node, in a transaction of its own."""
    with transaction.atomic():
        set_position(workspace, node, actor=actor)


def set_position(workspace: Workspace, node: Node, *, actor: Participant) -> None:
    """Moves a workspace to a node and writes the event. Needs a transaction."""
    row = locked(workspace)
    if row.position_id == node.pk:
        return
    row.position = node
    row.revision += 1
    update_row(row, "position", "revision")
    writer = streams.lock(row, actor=actor.uid)
    changed = {"position": lookup.node_ref(node, row.tree_id), "versions": {}}
    writer.append("view.changed", {**changed, "revision": row.revision})
    writer.flush()


def set_checkpoint(workspace: Workspace, head: int, *, actor: Participant) -> None:
    """Moves the checkpoint of a workspace: events of its tree up to `head` are no longer
    news. Needs a transaction."""
    row = locked(workspace)
    row.checkpoint = head
    row.revision += 1
    update_row(row, "checkpoint", "revision")
    writer = streams.lock(row, actor=actor.uid)
    writer.append("view.changed", {"checkpoint": head, "revision": row.revision})
    writer.flush()
