"""Writing through a window or a slice: where the text goes, and what the windows show afterwards.

A slice is a lens (docs/model.md §3, §12 F12): reading returns what was written, writing back what
was read changes nothing, and the last of two writes counts, also if the number of lines changes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from loom.access import may_reach
from loom.engine.context import Context, Reply
from loom.engine.models import Step
from loom.errors import CommandError, not_found
from loom.language.refs import ParseError, Ref, Slice, print_ref
from loom.language.slices import Cut, get, put
from loom.text.beginnings import common_length
from loom.trees.grove_texts import TextPart, WindowSource
from loom.trees.models import Node
from loom.trees.named_items import get_node, get_own_node
from loom.trees.queries import lookup
from loom.turns.models import Turn
from loom.workspace.commands.windows import held, known, move_window, node_of, shows
from loom.workspace.models import Window
from loom.workspace.queries import windows
from loom.workspace.queries.open_windows import get_window
from loom.workspace.queries.windows import followed, lines_of, source_of
from loom.workspace.window_rules import Lines, Span, total_of


@dataclass(frozen=True)
class Aim:
    """What a ref to a part of a text means: `#4` is the node and the lines that the window shows.
    `lines` are all lines of the window, in the text of that node."""

    ref: Ref
    window: Window | None = None
    lines: Lines | None = None


def aimed(context: Context, ref: Ref, *, writes: bool = False) -> Aim:
    """The ref, or for a window a ref to the lines that it shows. REJECTED if the caller
    `writes` and the window is read-only."""
    if ref.kind != "window":
        return Aim(ref)
    window = known(context, get_window(context, int(ref.id)))
    node = node_of(window)
    if node is None or not may_reach(context.actor, node.tree_id, here=context.tree):
        get_node(context, ref)  # which says that it shows none
        raise AssertionError(window.kind)
    if writes:
        _demand_lens(window)
    lines = Lines(1, total_of(node.text)) if window.form else lines_of(window)
    if window.is_live:
        newest = lookup.selected_version(node.slot_id, context.workspace) or node
        lines = followed(source_of(node), source_of(newest), lines)
        node = newest
    if lines.last < lines.first:
        raise _refused(window, "shows no line any more", f"→ resize #{window.number} lines:1-20")
    is_part = lines != Lines(1, total_of(node.text))
    part = ref.slice or (Slice("lines", lines.first, lines.last) if is_part else None)
    if writes and ref.slice is not None:
        _demand_inside(window, lines, _lines_of(node.text, ref.slice))
    elsewhere = node.tree.uid if node.tree_id != context.tree.pk else ""
    return Aim(Ref("node", id=node.local_id, tree_id=elsewhere, slice=part), window, lines)


def _refused(window: Window, why: str, hint: str) -> CommandError:
    return CommandError("REJECTED", f"#{window.number} {why}.", hint=hint)


def _demand_lens(window: Window) -> None:
    number = window.number
    if window.form:
        raise _refused(window, "shows a difference, which is read-only", f"→ view #{number} full")
    if windows.is_fixed(window):
        hint = f"→ resize #{number} lines:a-b first"
        raise _refused(window, f"shows {window.place}, which is read-only", hint)


def _demand_inside(window: Window, own: Lines, lines: Lines) -> None:
    if lines.first < own.first or lines.last > own.last:
        reason = f"shows {windows.named(own)}; {windows.named(lines)} are outside"
        raise _refused(window, reason, f"→ resize #{window.number} first")


def _cut(text: str, part: Slice) -> Cut:
    try:
        return get(text, part)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None


def _lines_of(text: str, part: Slice) -> Lines:
    cut = _cut(text, part)
    return Lines(cut.first, cut.last)


def cut_of(name: str, ref: Ref, text: str) -> Cut:
    """The lines of the text that the slice of a ref names; all of them without one. NOT_FOUND for
    a slice past its end; `name` is what the text is called there."""
    if ref.slice is None:
        return Cut(text, 1, total_of(text))
    cut = _cut(text, ref.slice)
    if cut.last < cut.first:
        raise no_part(name, total_of(text), print_ref(replace(ref, slice=None)))
    return cut


def demand_lines(ref: Ref, shown: TextPart) -> None:
    """NOT_FOUND for a part of a document past its end, with the names of its sections."""
    if shown.last < shown.first:
        whole = print_ref(replace(ref, slice=None))
        parts = f": {shown.parts}" if shown.has_sections else ""
        raise no_part(whole, total_of(shown.source.text), whole, parts)


def no_part(name: str, total: int, whole: str, parts: str = "") -> CommandError:
    """Why a slice past the end of a text shows nothing: how many lines it has, and the line that
    shows the `whole` of it."""
    many = f"it has {total:,} line{'' if total == 1 else 's'}"
    return not_found(f"That part of {name}", f"{many}{parts}; → view {whole} full")


def shown_part(node: Node, ref: Ref) -> str:
    """The text of a node, or of the slice that a ref names, with a note about what was cut off.
    NOT_FOUND for a slice past its end."""
    return cut_of(f"[{node.local_id}]", ref, node.text).shown


# -- windows that show no lines of one text


Change = Callable[[str], str]  # what a window shows, as it is and as it shall be
WritesThrough = Callable[[Context, Window, Change], Reply]
_WRITES: dict[str, WritesThrough] = {}


def writes_through(kind: str) -> Callable[[WritesThrough], WritesThrough]:
    """Registers what an edit through windows of a kind that another feature has does."""

    def register(write: WritesThrough) -> WritesThrough:
        _WRITES[kind] = write
        return write

    return register


def written_through(context: Context, ref: Ref, change: Change) -> Reply | None:
    """The reply to an edit through a window that a feature writes itself; None for a ref to
    anything else."""
    if ref.kind != "window":
        return None
    window = known(context, get_window(context, int(ref.id)))
    write = _WRITES.get(window.kind)
    return write(context, window, change) if write is not None else None


# -- what an edit changes


@dataclass(frozen=True)
class EditTarget:
    """The node that an edit changes, the part of its text (None: all of it), and the window
    through which it was edited, with its lines in that text. `is_again`: an earlier line of the
    batch made this node from the one that was named."""

    node: Node
    part: Slice | None
    window: Window | None = None
    lines: Lines | None = None
    is_again: bool = False

    def put(self, new: str) -> tuple[str, Span]:
        """The text with the part replaced, and the changed lines."""
        text = self.node.text
        own = Lines(1, total_of(text)) if self.part is None else _lines_of(text, self.part)
        whole = with_slice(text, self.part, new)
        return whole, Span(own.first, own.last, total_of(new))

    def replaced(self, old: str, new: str) -> tuple[str, Span]:
        """The text with one passage replaced, which must occur exactly once in the part."""
        text = self.node.text
        if self.part is None:
            whole, at, first = replaced(text, old, new), text.find(old), 1
        else:
            cut = _cut(text, self.part)
            part = replaced(cut.text, old, new)
            whole = with_slice(text, self.part, part)
            text, at, first = cut.text, cut.text.find(old), cut.first
        start = first + text.count("\n", 0, at)
        return whole, Span(start, start + old.count("\n"), total_of(new))


def target_of(context: Context, ref: Ref) -> EditTarget:
    """What an edit of a ref changes. In a batch of a turn all lines refer to one revision of a
    text: their line numbers are those before the batch. CONFLICT if an earlier line of the batch
    changed one of them."""
    aim = aimed(context, ref, writes=True)
    named = get_own_node(context, aim.ref, slices=True)
    node, spans = edited_in_batch(context.turn, named)
    part, lines = aim.ref.slice, aim.lines
    if node.pk != named.pk and part is not None and part.kind in ("lines", "para"):
        own = _followed(_lines_of(named.text, part), spans, named)
        part = Slice("lines", own.first, own.last)
    if node.pk != named.pk and lines is not None:
        lines = _moved(lines, spans)
    return EditTarget(node, part, aim.window, lines, node.pk != named.pk)


def _followed(lines: Lines, spans: list[Span] | None, node: Node) -> Lines:
    """Where the lines are after the changes of the batch. CONFLICT if it changed the lines."""
    for span in spans if spans is not None else [Span(lines.first, lines.last, 0)]:
        if span.touches(lines):
            raise CommandError(
                "CONFLICT",
                f"An earlier line of this batch changed {windows.named(lines)} of "
                f"[{node.local_id}].",
                hint="look at the text, then edit it again",
            )
        lines = span.moved(lines)
    return lines


def _moved(lines: Lines, spans: list[Span] | None) -> Lines:
    for span in spans or ():
        lines = span.moved(lines)
    return lines


def follow(
    context: Context, target: EditTarget, node: Node, span: Span, *, is_version: bool
) -> str:
    """Makes the window of an edit show the new node, and for a version also the other visible
    windows on the text. Returns `, lines 12–15; #4 now 10–31` for the reply."""
    window = target.window
    if window is None or target.lines is None:
        return ""
    old, new = source_of(target.node), source_of(node)
    now = span.moved(target.lines)
    if is_version:
        move_along(context, old, new, span, but=window)
    window.place = ""
    move_window(context, window, new, now)
    wrote = Lines(span.first, span.first + max(span.now, 1) - 1)
    return f", {windows.named(wrote)}; #{window.number} now {range_of(now)}"


def move_along(
    context: Context, old: WindowSource, new: WindowSource, span: Span, *, but: Window | None = None
) -> None:
    """Makes the visible windows on a version show its successor, each with its own lines."""
    for other in held(context):
        if other is not but and shows(other, old):
            move_window(context, other, new, span.moved(lines_of(other)))


def range_of(lines: Lines) -> str:
    """`10–31`, `10`."""
    return f"{lines.first}–{lines.last}" if lines.last > lines.first else f"{lines.first}"


def with_slice(text: str, part: Slice | None, new: str) -> str:
    """`text` with one slice replaced by `new`; all of it if there is no slice."""
    if part is None:
        return new
    if part.kind == "part":  # `view` counts parts with the header included
        raise CommandError(
            "REJECTED", "part: is read-only.", hint="use lines:a-b, or replace:… with:…"
        )
    try:
        return put(text, part, new)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None


def steps_of_batch(turn_uid: str) -> QuerySet[Step]:
    """The lines of the current round of a turn that ran and were not undone; one query."""
    number = Turn.objects.values_list("round", flat=True).get(uid=turn_uid)
    return Step.objects.filter(
        turn_uid=turn_uid, turn_place__startswith=f"{number}.", outcome="ok", is_undone=False
    )


def edited_in_batch(turn_uid: str, node: Node) -> tuple[Node, list[Span] | None]:
    """The node, or the one that earlier lines of the current round of a turn made from it (two
    edits of one node in one batch build on each other); and the lines that each of them changed,
    None if that is not known. Two queries, none outside of a turn."""
    if not turn_uid:
        return node, []
    # A split also makes nodes from one.
    steps = steps_of_batch(turn_uid).filter(canonical__startswith="→ edit ")
    lines_by_node = {
        op["node"]: op.get("lines")
        for inverse in steps.order_by("id").values_list("inverse", flat=True)
        for op in inverse or []
        if op.get("op") == "made"
    }
    spans: list[Span] | None = []
    for row in lookup.rows().filter(pk__in=lines_by_node):  # oldest first
        if row.edited_from_id == node.pk:
            lines = lines_by_node[row.pk]
            spans = None if lines is None or spans is None else [*spans, Span(*lines)]
            node = row
    return node, spans


def replaced(text: str, old: str, new: str) -> str:
    """`text` with `old`, which must occur exactly once, replaced. CONFLICT with the count."""
    count = text.count(old) if old else 0
    if count != 1:
        raise CommandError(
            "CONFLICT",
            f"The passage occurs {count} times; it must occur exactly once.",
            hint="quote more of it" if count else "look at the text, then quote it exactly",
        )
    return text.replace(old, new)


def common_prefix(old: str, new: str) -> str:
    """The longest text that both begin with."""
    return new[: common_length(old, new)]
