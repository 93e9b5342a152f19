"""Where a person is in a tree, stored when they arrive at a node, so that every browser opens
there; and what they have seen of it.

This is not a command: it has no line, no step and no event. Nobody else sees it, and it changes
nothing of the tree.
"""

from django.db.models import Q
from django.utils import timezone

from loom.access import Actor, workspace_of
from loom.engine import streams
from loom.engine.models import Stream
from loom.engine.views import stored
from loom.errors import CommandError
from loom.notes.models import Mention
from loom.trees.models import Node, Tree, Workspace


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


def mark_seen(actor: Actor, tree: Tree, seq: int) -> None:
    """Stores up to which event a person has seen a tree, and that they saw where they were
    mentioned in it. It never goes back. There is no event: only the person themselves is notified.
    """
    now = timezone.now()
    heads = Stream.objects.filter(name=streams.name_of(tree)).values_list("head", flat=True)
    most = min(seq, heads.first() or 0)
    own = Workspace.objects.filter(tree=tree, participant=actor.participant)
    own.filter(Q(seen_at__isnull=True) | Q(seen_seq__lte=most)).update(seen_seq=most, seen_at=now)
    named = Mention.objects.filter(tree=tree, participant=actor.participant, seen_at__isnull=True)
    named.update(seen_at=now)
