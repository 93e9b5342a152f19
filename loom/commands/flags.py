"""Hiding and leaving out: prune, restore, exclude, include. One row is flagged each time;
what hangs below is hidden by computation."""

from typing import Annotated

from loom.commands.args import Args, RefField, Written
from loom.commands.context import Context, Reply, touched
from loom.commands.edits import flag
from loom.commands.guards import demand_not_root, demand_text_node
from loom.commands.phrases import counted
from loom.commands.registry import command
from loom.commands.resolve import get_own_node
from loom.models import Node
from loom.queries import descent
from loom.rules.refusals import Refused


class Hide(Args):
    """A slot, or with `version` only the version named."""

    ref: Annotated[RefField, Written("ref")]
    version: Annotated[bool, Written("flag")] = False


class OfSlot(Args):
    """A slot."""

    ref: Annotated[RefField, Written("ref")]


@command("prune", group="Make", klass="write", letters="AW", stream="tree")
def prune(context: Context, args: Hide) -> Reply:
    """Hides a node and all below it from views and contexts; nothing is deleted."""
    node = get_own_node(context, args.ref)
    demand_not_root(node, "pruned")
    if args.version:
        return _prune_version(context, node)
    if node.slot.pruned:
        raise Refused(
            "REJECTED",
            f"[{node.local_id}] is pruned already.",
            hint=f"→ restore {node.local_id} brings it back",
        )
    below = descent.count_below(node.slot_id)
    inverse = flag(context, node, "pruned", True)
    return Reply(
        f"✓ pruned [{node.local_id}]{_and(below)}", items=touched(node), inverse=(inverse,)
    )


def _and(below: int) -> str:
    return f" and {counted(below, 'descendant')}" if below else ""


def _prune_version(context: Context, node: Node) -> Reply:
    if node.version_pruned:
        raise Refused(
            "REJECTED",
            f"The version [{node.local_id}] is pruned already.",
            hint=f"→ restore {node.local_id} version brings it back",
        )
    others = Node.objects.filter(slot=node.slot_id, version_pruned=False).exclude(pk=node.pk)
    if not others.exists():
        raise Refused(
            "REJECTED",
            f"[{node.local_id}] is the last version here.",
            hint=f"prune {node.local_id}",
        )
    inverse = flag(context, node, "version_pruned", True)
    return Reply(f"✓ pruned version [{node.local_id}]", items=touched(node), inverse=(inverse,))


@command("restore", group="Make", klass="write", letters="AW", stream="tree")
def restore(context: Context, args: Hide) -> Reply:
    """Brings a pruned node, or a pruned version, back with all below it."""
    node = get_own_node(context, args.ref)
    name = "version_pruned" if args.version else "pruned"
    is_set = node.version_pruned if args.version else node.slot.pruned
    if not is_set:
        raise Refused(
            "REJECTED", f"[{node.local_id}] is not pruned.", hint="only pruned ones come back"
        )
    what = "version " if args.version else ""
    below = "" if args.version else _and(descent.count_below(node.slot_id))
    inverse = flag(context, node, name, False)
    return Reply(
        f"✓ restored {what}[{node.local_id}]{below}", items=touched(node), inverse=(inverse,)
    )


@command("exclude", group="Make", klass="write", letters="AW", stream="tree")
def exclude(context: Context, args: OfSlot) -> Reply:
    """Leaves this node's text out of everything a model is sent; what hangs below stays."""
    return _excluded(context, args, True)


@command("include", group="Make", klass="write", letters="AW", stream="tree")
def include(context: Context, args: OfSlot) -> Reply:
    """Takes an excluded node's text in again."""
    return _excluded(context, args, False)


def _excluded(context: Context, args: OfSlot, value: bool) -> Reply:
    node = get_own_node(context, args.ref)
    demand_not_root(node, "excluded")
    demand_text_node(node, "excluded")
    word = "excluded" if value else "included"
    if node.slot.excluded == value:
        raise Refused("REJECTED", f"[{node.local_id}] is {word} already.", hint="nothing to do")
    inverse = flag(context, node, "excluded", value)
    return Reply(f"✓ {word} [{node.local_id}]", items=touched(node), inverse=(inverse,))
