"""Changing where a workspace stands, outside of a line, and what it has
seen: a turn begins, goes back, or ends."""

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


def see(workspace: Workspace, head: int, *, actor: Participant) -> None:
    """Moves the checkpoint of a workspace: what its tree told up to `head` is no news any
    more. Needs a transaction."""
    row = locked(workspace)
    row.checkpoint = head
    row.revision += 1
    row.save(update_fields=["checkpoint", "revision"])
    writer = streams.lock(row, actor=actor.uid)
    writer.append("view.changed", {"checkpoint": head, "revision": row.revision})
    writer.flush()
