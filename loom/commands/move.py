"""Moving about: switch, the outline's folds, and the position outside of a line."""

from typing import Annotated

from loom.commands.context import Context, Reply, get_node, touched, tree_of
from loom.commands.node_writer import demand_visible
from loom.commands.registry import Args, RefField, Written, command
from loom.commands.view import counted
from loom.models import Node
from loom.queries import lookup
from loom.queries.lookup import path_of
from loom.queries.outline import OUTLINE_DEPTH, outline_of
from loom.rules.errors import CommandError
from loom.rules.permissions import LOOM

SHOWN_ENDS = 2


class Switch(Args):
    """Where to."""

    ref: Annotated[RefField, Written("ref", lead="to")]


@command(
    "switch",
    group="Move",
    klass="look ✓",
    permissions={LOOM},
    stream="workspace",
    aliases=("go", "focus"),
)
def switch(context: Context, args: Switch) -> Reply:
    """Moves you to a node and selects that version for its slot."""
    is_tree = args.ref.kind == "tree"
    node = lookup.root_of(tree_of(context, args.ref)) if is_tree else get_node(context, args.ref)
    if node.kind != "text":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is not a text; you can only switch to texts.",
            hint=f"→ view {node.local_id}",
        )
    demand_visible(node)
    context.move(node)
    if Node.objects.filter(slot=node.slot_id).exclude(pk=node.pk).exists():
        context.choose(node)
    below = lookup.slots_below(node.slot_id).count()
    shown = lookup.node_ref(node, context.tree.pk)
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


# The outline of a workspace: how far it is folded, and what a search marked in it.


MAX_DEPTH = 50


class TreeReset(Args):
    """How far the outline is folded."""

    reset: Annotated[str, Written("word", lead="reset")]
    depth: Annotated[
        int, Written("option", key="depth", value="int", minimum=0, maximum=MAX_DEPTH)
    ] = OUTLINE_DEPTH


@command("tree", group="Look", klass="look ✓", permissions={LOOM})
def tree_reset(context: Context, args: TreeReset) -> Reply:
    """Folds the outline of your workspace to a depth."""
    folded = {"depth": args.depth, "expanded": []}
    context.outline = {**outline_of(context.workspace), **folded}
    return Reply(f"✓ outline folded to depth {args.depth}")


class FindClear(Args):
    """Nothing more is said."""

    clear: Annotated[str, Written("word", lead="clear")]


@command("find", group="Look", klass="look ✓", permissions={LOOM})
def find_clear(context: Context, args: FindClear) -> Reply:
    """Removes the marks of the last search from the outline."""
    marked = len(outline_of(context.workspace)["hits"])
    nothing = {"query": "", "hits": [], "scores": {}}
    context.outline = {**outline_of(context.workspace), **nothing}
    return Reply(f"✓ search cleared ({marked} marked)")
