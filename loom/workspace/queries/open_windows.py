"""The open windows that refs name, and the nodes that they show."""

from collections.abc import Sequence
from dataclasses import replace

from loom.access import may_reach
from loom.engine.context import Context
from loom.engine.registry import Command
from loom.engine.shown_texts import shows_text
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import Ref, Slice, print_ref
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node
from loom.trees.named_items import names_node
from loom.trees.queries import lookup
from loom.workspace.models import Window
from loom.workspace.queries.windows import STRETCHES, seen_by
from loom.workspace.window_rules import total_of

OPEN_ONES = "→ memory windows lists what is open"


def get_window(context: Context, number: int) -> Window:
    """The open window of the workspace with that number. Raises what `no_window` returns."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number=number)
    windows = rows.select_related("item", "step").order_by()[:1]
    if not windows:
        raise no_window(context, [number])
    return windows[0]


def no_window(context: Context, numbers: Sequence[int], hint: str = OPEN_ONES) -> CommandError:
    """Why none of these numbers is an open window: REJECTED if they were closed, NOT_FOUND if they
    never existed."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=True, number__in=numbers)
    closed = list(rows.order_by("number").values_list("number", flat=True))
    if not closed:
        return not_found(" ".join(f"#{number}" for number in numbers), hint)
    named = " ".join(f"#{number}" for number in closed)
    reason = f"{named} {'was' if len(closed) == 1 else 'were'} closed."
    return CommandError("REJECTED", reason, hint="→ open REF opens what it showed in a new window")


@names_node("window")
def node_shown(context: Context, ref: Ref, slices: bool) -> Node:
    """The node that a window shows, as the caller may read it."""
    window = get_window(context, int(ref.id))
    node = _node_of(context, window) if window.kind in ("node", "search") else None
    if node is None:
        text = text_in(context, window)
        shown = "several texts" if text else "no node"
        hint = f"name one of them, such as {text}" if text else f"→ view #{window.number}"
        raise CommandError("REJECTED", f"#{window.number} shows {shown}.", hint=hint)
    is_part = (window.first, window.last) != (1, node.text.count("\n") + 1)
    if slices and is_part and ref.slice is None:
        lines = f"lines:{window.first}-{window.last}"
        raise CommandError(
            "REJECTED",
            f"#{window.number} shows a part of [{node.local_id}].",
            hint=f"name it: {lookup.node_ref(node, context.tree.pk)} {lines}",
        )
    return node


@shows_text
def text_shown(context: Context, ref: Ref, command: Command) -> Ref | None:
    """The text of the grove that a window shows, as the caller may read it; a slice of the ref is
    one of the text. REJECTED where a part of it may be meant, and the window shows a part."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number=int(ref.id))
    window = rows.filter(kind="document").first()
    item = window.item_id or 0 if window is not None else 0
    text = grove_texts().seen(context.actor, context.tree, [item]).get(item)
    if window is None or text is None:
        return None
    named = Ref("document", name=text.title, slice=ref.slice)
    if command.facts.shown == "part" and ref.slice is None and window.form != "diff":
        source = seen_by(window)
        if source is not None and (window.first, window.last) != (1, total_of(source.text)):
            part = Slice("lines", first=window.first or 1, last=window.last or 1)
            raise CommandError(
                "REJECTED",
                f"#{window.number} shows a part of {print_ref(named)}.",
                hint=f"name it: {print_ref(replace(named, slice=part))}",
            )
    return named


def text_in(context: Context, window: Window) -> str:
    """A ref to the last of the texts that a window on a branch or range shows; "" for all other
    windows, and for a text that the caller may not read."""
    node = _node_of(context, window) if window.kind in STRETCHES else None
    return "" if node is None else lookup.node_ref(node, context.tree.pk)


def _node_of(context: Context, window: Window) -> Node | None:
    """The node of a window, as far as the caller may read it."""
    key = ids.node_id(window.item_id or 0)
    node = lookup.rows().filter(pk=key).first() if key is not None else None
    if node is None or not may_reach(context.actor, node.tree_id, here=context.tree):
        return None
    return node
