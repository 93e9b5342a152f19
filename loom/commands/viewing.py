"""Changing where a workspace stands, outside of a line: a turn begins, or goes back."""

from django.db import transaction

from loom.commands.records import locked, position_ref
from loom.log import streams
from loom.models import Node, Participant, Workspace


def stand_now(workspace: Workspace, node: Node, *, actor: Participant) -> None:
    """The same in a transaction of its own."""
    with transaction.atomic():
        stand(workspace, node, actor=actor)


def stand(workspace: Workspace, node: Node, *, actor: Participant) -> None:
    """Moves a workspace to a node and tells its stream. Needs a transaction."""
    row = locked(workspace)
    if row.position_id == node.pk:
        return
    row.position = node
    row.revision += 1
    row.save(update_fields=["position", "revision"])
    writer = streams.lock(row, actor=actor.uid)
    changed = {"position": position_ref(node, row.tree_id), "versions": {}}
    writer.append("view.changed", {**changed, "revision": row.revision})
    writer.flush()
