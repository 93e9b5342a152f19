"""Moving about: `switch`. It moves nobody but the one who says it."""

from typing import Annotated

from loom.commands.args import Args, RefField, Written
from loom.commands.context import Context, Reply, touched
from loom.commands.guards import demand_visible
from loom.commands.phrases import counted
from loom.commands.records import position_ref
from loom.commands.registry import command
from loom.commands.resolve import get_node, tree_of
from loom.models import Node
from loom.queries import lookup
from loom.queries.path import path_of
from loom.rules.refusals import Refused

SHOWN_ENDS = 2


class Switch(Args):
    """Where to."""

    ref: Annotated[RefField, Written("ref", lead="to")]


@command(
    "switch", group="Move", klass="look ✓", letters="A", stream="workspace", aliases=("go", "focus")
)
def switch(context: Context, args: Switch) -> Reply:
    """Moves you to a node, and chooses that version for its place."""
    is_tree = args.ref.kind == "tree"
    node = lookup.root_of(tree_of(context, args.ref)) if is_tree else get_node(context, args.ref)
    if node.kind != "text":
        raise Refused(
            "REJECTED",
            f"[{node.local_id}] is no text, and only texts are stood on.",
            hint=f"→ view {node.local_id}",
        )
    demand_visible(node)
    context.move(node)
    if Node.objects.filter(slot=node.slot_id).exclude(pk=node.pk).exists():
        context.choose(node)
    below = lookup.slots_below(node.slot_id).count()
    shown = position_ref(node, context.tree.pk)
    return Reply(
        f"✓ switched to [{shown}]\n"
        f"  depth:{node.depth} · {counted(below, 'continuation')} · path: {_path(context, node)}",
        refs=(shown,),
        items=touched(node),
    )


def _path(context: Context, node: Node) -> str:
    """`r2d4 → … → a7x2 → b3k9`: the first and the last nodes of the path."""
    ids = [row.local_id for row in path_of(context.actor, node.tree, context.workspace, node)]
    if len(ids) > SHOWN_ENDS + 2:
        ids = [ids[0], "…", *ids[-SHOWN_ENDS:]]
    return " → ".join(ids)
