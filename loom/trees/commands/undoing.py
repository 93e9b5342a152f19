"""What undo and redo do to nodes and to what models are sent of a tree."""

from collections.abc import Callable

from loom.engine.context import Context, Op
from loom.engine.models import Step
from loom.engine.undo import Own, after_undo_of_step, around_undo, conflict, undoes
from loom.engine.views import Moved, position_after
from loom.errors import CommandError
from loom.trees.commands.node_writer import flag
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup

AskedFor = Callable[[Node, Own], bool]

_asked_for: list[AskedFor] = []


def when_asked_for(test: AskedFor) -> AskedFor:
    """Registers a test: whether somebody of `own` had a node written by another participant."""
    _asked_for.append(test)
    return test


@undoes("flag")
def _flag(context: Context, op: Op, own: Own) -> list[Op]:
    node = lookup.rows().get(pk=op["node"])
    if getattr(node, op["flag"]) == op["value"]:
        raise conflict(f"[{node.local_id}]")
    if op["flag"] == "version_pruned" and op["value"]:
        _demand_another_version(node)
    return [flag(context, node, op["flag"], op["value"])]


def _demand_another_version(node: Node) -> None:
    """Refuses with CONFLICT if hiding this version would leave its slot without any."""
    others = Node.objects.filter(slot=node.slot_id, version_pruned=False).exclude(pk=node.pk)
    if not others.exists():
        raise CommandError(
            "CONFLICT",
            f"[{node.local_id}] is the last version left there.",
            hint=f"→ prune {node.local_id}",
        )


@undoes("made")
def undo_made(context: Context, op: Op, own: Own) -> list[Op]:
    """Prunes a node that was made (a version on its own), or restores it."""
    node = lookup.rows().get(pk=op["node"])
    name = "pruned" if node.pk == node.slot_id else "version_pruned"
    if getattr(node, name) == op["pruned"]:
        raise conflict(f"[{node.local_id}]")
    if op["pruned"]:
        _demand_untouched(node, own)
        if name == "version_pruned":
            _demand_another_version(node)
    flag(context, node, name, op["pruned"])
    return [{**op, "pruned": not op["pruned"]}]


def _demand_untouched(node: Node, own: Own) -> None:
    """Refuses with CONFLICT if somebody else wrote below the node, or changed it."""
    others = lookup.rows().filter(tree=node.tree_id, id__gt=node.pk)
    others = others.exclude(author__in=own)
    built = others.filter(parent_hash=node.hash, parent_slot=node.slot_id)
    reworded = others.filter(slot=node.slot_id)
    for other in [*built[:50], *reworded[:50]]:
        if (
            other.slot.pruned
            or other.version_pruned
            or any(test(other, own) for test in _asked_for)
        ):
            continue
        raise conflict(f"[{node.local_id}]", f"{other.author.name} ([{other.local_id}])")


@undoes("steer")
def _steer(context: Context, op: Op, own: Own) -> list[Op]:
    """Restores what subjects are sent in addition to the path."""
    row = Tree.objects.get(pk=context.tree.pk)
    before = {name: getattr(row, name) for name in op["fields"]}
    if "now" in op and before != op["now"]:
        raise conflict("What models are sent of this tree")
    for name, value in op["fields"].items():
        setattr(row, name, value)
    row.save(update_fields=list(op["fields"]))
    context.world.append("tree.changed", {"tree": row.uid, **op["fields"]})
    return [{"op": "steer", "fields": before, "now": op["fields"]}]


@around_undo
def _leave_hidden(context: Context) -> Callable[[], None]:
    """Moves the caller up to what is visible, if they have hidden their own position by the undo,
    and from a version that was taken back to the one that is current. Not in a dry run, where
    nothing was hidden and the reply does not mention it."""
    was_hidden = lookup.hidden_by(context.here) is not None

    def leave() -> None:
        if context.world.is_dry or was_hidden:
            return
        here = position_after(context.workspace, context)
        visible = lookup.visible_at_or_above(here, context.workspace)
        if visible.pk == here.pk and lookup.by_id(here.pk).version_pruned:
            visible = lookup.selected_version(here.slot_id, context.workspace) or here
        if visible.pk != here.pk:
            context.add(Moved(visible))

    return leave


@after_undo_of_step
def _lead_back(context: Context, step: Step) -> None:
    """Moves whoever undoes a prune to where they were when it moved them above it, unless they
    went elsewhere since."""
    ops = [op for op in step.inverse or [] if op["op"] == "flag" and op["flag"] == "pruned"]
    if not ops or step.workspace_id != context.workspace.pk or context.world.is_dry:
        return
    slot = lookup.by_id(ops[0]["node"])
    was = lookup.find_node(context.tree, step.position)
    here = position_after(context.workspace, context)
    if was is None or ops[0]["value"] or here.slot_id != slot.parent_slot_id:
        return
    if lookup.is_at_or_above(slot, was):
        context.add(Moved(was))
