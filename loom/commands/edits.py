"""Small deeds that several commands share: texts put otherwise, and flags set."""

from loom.commands.context import Context, Op
from loom.grammar.bad import Bad
from loom.grammar.refs import Slice
from loom.grammar.slices import put
from loom.models import Node
from loom.queries import counts
from loom.rules.refusals import Refused


def with_slice(text: str, part: Slice | None, new: str) -> str:
    """`text` with one slice replaced by `new`; all of it where there is no slice."""
    if part is None:
        return new
    try:
        return put(text, part, new)
    except Bad as bad:
        raise Refused(bad.code, bad.message, hint=bad.hint) from None


def replaced(text: str, old: str, new: str) -> str:
    """`text` with `old`, which must occur exactly once, replaced. CONFLICT with the count."""
    count = text.count(old) if old else 0
    if count != 1:
        raise Refused(
            "CONFLICT",
            f"The passage occurs {count} times; it must occur exactly once.",
            hint="quote more of it" if count else "look at the text, then quote it exactly",
        )
    return text.replace(old, new)


def common_prefix(old: str, new: str) -> str:
    """The longest text that both begin with."""
    pairs = enumerate(zip(old, new, strict=False))
    end = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
    return new[:end]


def flag(context: Context, node: Node, name: str, value: bool) -> Op:
    """Sets a flag (pruned, excluded: of the slot; version_pruned: of the version), writes
    the event, and returns the inverse."""
    row_id = node.pk if name == "version_pruned" else node.slot_id
    Node.objects.filter(pk=row_id).update(**{name: value})
    row = node if row_id == node.pk else Node.objects.get(pk=row_id)
    setattr(row, name, value)
    if name == "pruned" and not context.world.is_dry:
        context.world.sized(counts.measured(node.tree_id))
    context.world.append(
        "node.flagged",
        {"node": row.local_id, "slot": node.slot.local_id, "flag": name, "value": value},
    )
    return {"op": "flag", "node": row_id, "flag": name, "value": not value}
