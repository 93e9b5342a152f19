"""Inverses: what undo does, one small operation at a time.

Each operation checks that things still are as its step left them and that nobody else has
built on them (else CONFLICT), acts, and returns its own reverse, which redo applies.
"""

from collections.abc import Callable
from typing import Any

from loom.commands import annotations, continuing, documents, links, marks
from loom.commands.context import Context, Op
from loom.commands.node_writer import flag
from loom.models import Generation, Link, Mark, Node, Tree
from loom.queries import lookup
from loom.rules.errors import CommandError

Apply = Callable[[Context, Op], list[Op]]


def apply(context: Context, ops: list[Op]) -> list[Op]:
    """Does the operations in order; the list that takes them back."""
    reverse: list[Op] = []
    for op in ops:
        reverse = [*_APPLY[op["op"]](context, op), *reverse]
    return reverse


def _conflict(what: str, who: str) -> CommandError:
    return CommandError(
        "CONFLICT",
        f"{what} has since been changed or built on by {who}.",
        hint="look first; → undo step:n undoes another step",
    )


def _flag(context: Context, op: Op) -> list[Op]:
    node = lookup.rows().get(pk=op["node"])
    if getattr(node, op["flag"]) == op["value"]:
        raise _conflict(f"[{node.local_id}]", "somebody")
    if op["flag"] == "version_pruned" and op["value"]:
        _demand_another_version(node)
    return [flag(context, node, op["flag"], op["value"])]


def _demand_another_version(node: Node) -> None:
    """Refuses CONFLICT where hiding this version would leave its slot with none."""
    others = Node.objects.filter(slot=node.slot_id, version_pruned=False).exclude(pk=node.pk)
    if not others.exists():
        raise CommandError(
            "CONFLICT",
            f"[{node.local_id}] is the last version left there.",
            hint=f"→ prune {node.local_id}",
        )


def _made(context: Context, op: Op) -> list[Op]:
    """A node that was made is pruned (a version by itself), or comes back."""
    node = lookup.rows().get(pk=op["node"])
    name = "pruned" if node.pk == node.slot_id else "version_pruned"
    if getattr(node, name) == op["pruned"]:
        raise _conflict(f"[{node.local_id}]", "somebody")
    if op["pruned"]:
        _demand_untouched(context, node)
        if name == "version_pruned":
            _demand_another_version(node)
    flag(context, node, name, op["pruned"])
    return [{**op, "pruned": not op["pruned"]}]


def _demand_untouched(context: Context, node: Node) -> None:
    """Refuses CONFLICT where somebody else wrote below the node, or put it otherwise."""
    others = lookup.rows().filter(tree=node.tree_id, id__gt=node.pk)
    others = others.exclude(author__in=context.own)
    built = others.filter(parent_hash=node.hash, parent_slot=node.slot_id)
    reworded = others.filter(slot=node.slot_id)
    for other in [*built[:50], *reworded[:50]]:
        if other.slot.pruned or other.version_pruned or _is_mine(context, other):
            continue
        raise _conflict(f"[{node.local_id}]", f"{other.author.name} ([{other.local_id}])")


def _is_mine(context: Context, node: Node) -> bool:
    """Whether a model wrote it because the caller asked."""
    return (
        Generation.objects.filter(uid=node.generation_uid, asked_by__in=context.own).exists()
        if node.generation_uid
        else False
    )


def _mark(context: Context, op: Op) -> list[Op]:
    mark = Mark.objects.select_related("participant").get(pk=op["mark"])
    if (mark.removed_at is not None) == op["removed"]:
        raise _conflict(f"The {mark.kind} on {op['item']}", "somebody")
    return [marks.set_removed(context, mark, op["item"], op["removed"])]


def _link(context: Context, op: Op) -> list[Op]:
    link = Link.objects.select_related("by").get(pk=op["link"])
    if (link.removed_at is not None) == op["removed"]:
        raise _conflict("The link", "somebody")
    return [links.set_removed(context, link, op["ends"], op["removed"])]


def _resolve(context: Context, op: Op) -> list[Op]:
    node = lookup.rows().get(pk=op["node"])
    if (node.resolved_at is not None) == op["value"]:
        raise _conflict(f"[{node.local_id}]", "somebody")
    return [annotations.set_resolved(context, node, op["value"])]


def _generations(context: Context, op: Op) -> list[Op]:
    """Stops what still runs (what it wrote is pruned once it ends), prunes what has ended."""
    reverse: list[Op] = []
    rows = Generation.objects.select_for_update().filter(uid__in=op["uids"]).order_by("-id")
    for row in rows:
        if row.status in continuing.ENDED:
            if row.node_id and not lookup.rows().get(pk=row.node_id).pruned:
                reverse = [
                    *_made(context, {"op": "made", "node": row.node_id, "pruned": True}),
                    *reverse,
                ]
            continue
        row.stop_asked, row.discard = True, True
        row.save(update_fields=["stop_asked", "discard"])
        reverse = [{"op": "stopped", "uid": row.uid}, *reverse]
    return reverse


def _stopped(context: Context, op: Op) -> list[Op]:
    """Redo of a stopped generation: what it had written by then comes back."""
    row = Generation.objects.select_for_update().get(uid=op["uid"])
    row.discard = False
    row.save(update_fields=["discard"])
    if row.node_id and lookup.rows().get(pk=row.node_id).pruned:
        return _made(context, {"op": "made", "node": row.node_id, "pruned": False})
    return [{"op": "generations", "uids": [row.uid]}]


def _steer(context: Context, op: Op) -> list[Op]:
    """What subjects are sent besides the path, as it was."""
    row = Tree.objects.get(pk=context.tree.pk)
    before = {name: getattr(row, name) for name in op["fields"]}
    if "now" in op and before != op["now"]:
        raise _conflict("What models are sent of this tree", "somebody")
    for name, value in op["fields"].items():
        setattr(row, name, value)
    row.save(update_fields=list(op["fields"]))
    context.world.append("tree.changed", {"tree": row.uid, **op["fields"]})
    return [{"op": "steer", "fields": before, "now": op["fields"]}]


def _document(context: Context, op: Op) -> list[Op]:
    return [documents.undo_write(context, op)]


_APPLY: dict[str, Any] = {
    "steer": _steer,
    "flag": _flag,
    "made": _made,
    "mark": _mark,
    "link": _link,
    "resolve": _resolve,
    "generations": _generations,
    "stopped": _stopped,
    "document": _document,
}
