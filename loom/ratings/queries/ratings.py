"""A member's own ratings of the texts of a tree."""

from loom.access import Actor
from loom.notes.models import Mark
from loom.trees.models import Tree

KINDS = ("plus", "minus")


def ratings_in(actor: Actor, tree: Tree) -> dict[str, str]:
    """The actor's own ratings in a tree: plus or minus by local id. One query."""
    marks = Mark.objects.filter(
        tree=tree, kind__in=KINDS, participant=actor.participant, removed_at__isnull=True
    )
    return dict(marks.values_list("item__node__local_id", "kind"))
