"""The verb `star`: it puts one's star on a node, and undo takes it off."""

from collections.abc import Iterable
from typing import Annotated, Any

from django.db.models import QuerySet

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.event_kinds import Payload, event
from loom.engine.registry import command, describe_verb
from loom.engine.undo import Own, undoes
from loom.language.verbs import Verb
from loom.permissions import LOOM, WRITE
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Node, Tree
from loom.trees.named_items import get_own_node, touched

from .models import Star


class StarArgs(Args):
    """The node."""

    ref: Annotated[RefField | None, Written("ref", but=("document",))] = None


@event("star.added", "star.removed", stream="tree")
class StarChanged(Payload):
    """A node (its local id) has a star more, or fewer."""

    node: str


describe_verb(Verb("star", done="Put a star", past="starred"))


@command("star", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def star(context: Context, args: StarArgs) -> Reply:
    """Puts a star on a node."""
    node = get_own_node(context, args.ref)
    return Reply(
        f"✓ starred [{node.local_id}]",
        refs=(node.local_id,),
        items=touched(node),
        inverse=(_put(context, node, to=True),),
    )


def _put(context: Context, node: Node, *, to: bool) -> Op:
    """Puts a star on a node or takes it off; returns the inverse."""
    by = context.actor.participant
    if not context.world.is_dry:
        if to:
            Star.objects.create(node=node, by=by)
        else:
            Star.objects.filter(node=node, by=by).delete()
    context.world.append("star.added" if to else "star.removed", {"node": node.local_id})
    return {"op": "star", "node": node.pk, "to": not to}


@undoes("star")
def _undo_star(context: Context, op: Op, own: Own) -> list[Op]:
    node = Node.objects.get(pk=op["node"])
    return [_put(context, node, to=op["to"])]


@erased_with_tree
def _stars_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    return [Star.objects.filter(node__tree=tree)]
