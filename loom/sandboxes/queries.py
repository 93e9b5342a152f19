"""The sandboxes that somebody may see, where one hangs, and what was written in it."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from loom import access
from loom.access import Actor
from loom.errors import CommandError, not_found
from loom.language.ids import ORDINAL_BITS, home_of
from loom.people.models import User
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import nodes_in


@dataclass(frozen=True)
class SandboxPlace:
    """Where a sandbox hangs, as its page shows it: the tree and the text there (None: the person
    may not see them any more)."""

    tree: Tree | None
    node: Node | None
    ends: datetime | None
    count: int  # nodes that promoting would add


def open_sandboxes(user: User) -> QuerySet[Tree]:
    """The sandboxes of a person that are neither promoted nor discarded, the newest first."""
    rows = access.visible_trees(user).filter(sandbox_of=user, archived_at__isnull=True)
    return rows.order_by("-pk")


def demand_sandbox(tree: Tree) -> None:
    """Refuses with REJECTED in a tree that is no sandbox."""
    if tree.sandbox_of_id is None:
        raise CommandError(
            "REJECTED",
            "This tree is no sandbox.",
            hint="→ sandbox from REF begins one; run this in it",
        )


def new_nodes(tree: Tree) -> QuerySet[Node]:
    """What was written in a sandbox, in order: all but the copies that it was begun with."""
    last = (tree.pk << ORDINAL_BITS) + (tree.sandbox_copies or 0)
    rows = nodes_in(tree.pk, after=last)
    return rows.select_related("author", "edited_from").order_by("id")


def origin_of(actor: Actor, tree: Tree) -> tuple[Actor, Tree, Node]:
    """Who the actor is in the tree at which a sandbox hangs, that tree, and the text. NOT_FOUND if
    they may not see it any more. Three queries."""
    at = tree.sandbox_at or 0
    uid = access.known_trees(actor).filter(pk=home_of(at)).values_list("uid", flat=True).first()
    node = Node.objects.filter(pk=at).first()
    if uid is None or node is None:
        raise not_found("The text that this sandbox hangs at")
    there, origin = access.get_tree(actor.user, uid)
    return there, origin, node


def place_of(actor: Actor, tree: Tree) -> SandboxPlace:
    """Where a sandbox hangs, for its page."""
    count = new_nodes(tree).order_by().count()
    try:
        _, origin, node = origin_of(actor, tree)
    except CommandError:
        return SandboxPlace(None, None, tree.expires_at, count)
    return SandboxPlace(origin, node, tree.expires_at, count)
