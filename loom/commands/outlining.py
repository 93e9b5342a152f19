"""The outline of a workspace: how far it is folded, and what a search marked in it."""

from typing import Annotated

from loom.commands.args import Args, Written
from loom.commands.context import Context, Reply
from loom.commands.registry import command
from loom.queries.workspaces import OUTLINE_DEPTH, outline_of

MAX_DEPTH = 50


class TreeReset(Args):
    """How far the outline is folded."""

    reset: Annotated[str, Written("word", lead="reset")]
    depth: Annotated[
        int, Written("option", key="depth", value="int", minimum=0, maximum=MAX_DEPTH)
    ] = OUTLINE_DEPTH


@command("tree", group="Look", klass="look ✓", letters="A")
def tree_reset(context: Context, args: TreeReset) -> Reply:
    """Folds the outline of your workspace to a depth."""
    folded = {"depth": args.depth, "expanded": []}
    context.outline = {**outline_of(context.workspace), **folded}
    return Reply(f"✓ outline folded to depth {args.depth}")


class FindClear(Args):
    """Nothing more is said."""

    clear: Annotated[str, Written("word", lead="clear")]


@command("find", group="Look", klass="look ✓", letters="A")
def find_clear(context: Context, args: FindClear) -> Reply:
    """Takes the marks of the last search out of the outline."""
    marked = len(outline_of(context.workspace)["hits"])
    context.outline = {**outline_of(context.workspace), "query": "", "hits": []}
    return Reply(f"✓ search cleared ({marked} marked)")
