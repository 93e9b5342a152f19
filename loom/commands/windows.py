"""Windows: what a participant keeps in view (docs/model.md §3)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

from loom.commands.context import Context, Reply, get_node, get_window
from loom.commands.registry import Args, RefField, Written, command
from loom.events import streams
from loom.grammar.slices import get
from loom.grammar.tokens import ParseError
from loom.models import Node, Participant, Window, Workspace
from loom.queries import windows
from loom.queries.windows import lines_of, state_of
from loom.rules import identity
from loom.rules.errors import CommandError, not_found
from loom.rules.permissions import LOOM
from loom.rules.windows import MOST_VISIBLE, Lines, State, mentioned

LONGEST_LABEL = 200


def _set(context: Context, window: Window, state: State) -> Window:
    """Gives a window its state, which is stored with the step of the line."""
    window.is_visible, window.is_kept = state.is_visible, state.is_kept
    window.is_extended, window.is_closed = state.is_extended, state.is_closed
    if window not in context.windows:
        context.windows.append(window)
    return window


def _new(context: Context, **fields: object) -> Window:
    """A window that the line opens; its number is that of the line's step."""
    _demand_room(context)
    made = Window(
        workspace=context.workspace,
        number=context.workspace.steps_made + 1,
        turn_uid=context.turn,
        opened_at=context.now,
        **fields,
    )
    context.windows.append(made)
    return made


def _demand_room(context: Context, more: int = 1) -> None:
    if windows.visible(context.workspace).count() + more > MOST_VISIBLE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {MOST_VISIBLE} windows can be visible.",
            hint="→ hide those that you no longer need; → memory windows lists them",
        )


def demand_label(label: str) -> str:
    """The label of a window or stash; INVALID_SYNTAX where it is none."""
    if not label.strip() or len(label) > LONGEST_LABEL:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A label has 1 to {LONGEST_LABEL} characters.",
            hint="name it in a few words",
        )
    return label


def get_stash(context: Context, label: str) -> Window:
    """The stash with that label. NOT_FOUND where there is none."""
    found = windows.stashed(context.workspace).filter(label__iexact=label).first()
    if found is None:
        raise not_found(f'stash:"{label}"', "→ memory stashed lists them")
    return found


# -- open


class Open(Args):
    """What to keep in view: a node, lines of one, a result or a stash."""

    ref: Annotated[RefField, Written("ref")]
    keep: Annotated[bool, Written("flag")] = False
    label: Annotated[str, Written("option", key="label", value="quoted")] = ""


@command("open", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def open_(context: Context, args: Open) -> Reply:
    """Opens a window on a node or lines of it; with `keep` until you hide it, otherwise for
    this turn. `open #14 keep` keeps a result."""
    label = demand_label(args.label) if args.label else ""
    if args.ref.kind in ("window", "stash"):
        window = _named(context, args.ref)
        show_window(context, window, keep=args.keep)
    else:
        window = _on_node(context, args)
    if label and window.kind != "node":
        raise CommandError(
            "INVALID_SYNTAX",
            f"#{window.number} is a {window.kind}; only a window on a text takes a label.",
            hint=f"→ open #{window.number} keep",
        )
    window.label = label or window.label
    return Reply(f"✓ opened {title_of(context, window)}", items=items_of(window))


def _named(context: Context, ref: RefField) -> Window:
    if ref.kind == "window":
        return get_window(context, int(ref.id))
    return get_stash(context, ref.name or ref.id)


def _on_node(context: Context, args: Open) -> Window:
    if args.ref.kind in ("branch", "range", "tree"):
        raise CommandError(
            "INVALID_SYNTAX",
            "A window shows one node or lines of it.",
            hint="open its nodes one by one, or → view the whole of it",
        )
    node = get_node(context, args.ref, slices=True)
    if node.text == "":
        raise CommandError("REJECTED", f"[{node.local_id}] has no text.", hint="open another node")
    lines = _range(node, args)
    window = _showing(context, node, lines)
    if window is None:
        window = _new(
            context,
            kind="node",
            item_id=identity.of_node(node.pk),
            version_seen=node.hash,
            first=lines.first,
            last=lines.last,
        )
    else:
        both = lines.with_all([lines_of(window)])
        window.first, window.last = both.first, both.last
    show_window(context, window, keep=args.keep)
    return window


def _range(node: Node, args: Open) -> Lines:
    """The lines of the text that the slice of a ref names; all of them without one."""
    if args.ref.slice is None:
        return Lines(1, node.text.count("\n") + 1)
    try:
        cut = get(node.text, args.ref.slice)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    if cut.last < cut.first:
        raise not_found(f"That part of [{node.local_id}]", f"→ view {node.local_id} full")
    return Lines(cut.first, cut.last)


def _showing(context: Context, node: Node, lines: Lines) -> Window | None:
    """The window that shows one of the lines already, or hidden just these."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, kind="node")
    found = list(rows.filter(item=identity.of_node(node.pk)).order_by("number"))
    overlapping = [one for one in found if one.is_visible and lines_of(one).overlaps(lines)]
    same = [one for one in found if lines_of(one) == lines]
    return next(iter([*overlapping, *same]), None)


def show_window(context: Context, window: Window, *, keep: bool = False) -> None:
    """Shows a window; what it and other visible ones of the same node both hold is in it alone."""
    if not window.is_visible:
        _demand_room(context)
    if window._state.adding:  # of this line: it begins with the turn
        window.is_kept = keep
    else:
        _set(context, window, state_of(window).shown(in_turn=bool(context.turn), keep=keep))
    if window.kind != "node":
        return
    rest = windows.visible(context.workspace).filter(kind="node", item=window.item_id)
    others = [one for one in rest if one.pk != window.pk]
    while found := [one for one in others if lines_of(one).overlaps(lines_of(window))]:
        merged = lines_of(window).with_all(map(lines_of, found))
        window.first, window.last = merged.first, merged.last
        window.is_kept = window.is_kept or any(one.is_kept for one in found)
        window.label = window.label or next((one.label for one in found if one.label), "")
        others = [one for one in others if one not in found]
        for one in found:
            _set(context, one, state_of(one).closed())


def items_of(window: Window) -> tuple[int, ...]:
    """The items that a line about the window touches."""
    return (window.item_id,) if window.item_id is not None else ()


def title_of(context: Context, window: Window) -> str:
    """`#4 [a7x2] lines 1–3 · keep`."""
    kept = " · keep" if window.is_kept else ""
    return f"#{window.number} {windows.name_of(window, context.tree)}{kept}"


# -- hide, show, close


class Named(Args):
    """Windows by their numbers."""

    windows: Annotated[tuple[RefField, ...], Written("ref", many=True, refs=("window",))]


class Labelled(Args):
    """Windows by their label."""

    label: Annotated[str, Written("option", key="label", value="quoted")]


class All(Args):
    """All windows."""

    all: Annotated[str, Written("word", lead="all")]


Change = Callable[[Context, Window], None]


def _hide(context: Context, window: Window) -> None:
    _set(context, window, state_of(window).hidden())


def close_window(context: Context, window: Window) -> None:
    """Closes a window with the step of the line."""
    _set(context, window, state_of(window).closed())


def _each(context: Context, found: Iterable[Window], word: str, change: Change) -> Reply:
    """Changes the windows; NOT_FOUND where there are none."""
    numbers = []
    items: list[int] = []
    for window in found:
        if not window.is_closed:  # another one of the line may have taken it in
            change(context, window)
            numbers.append(window.number)
            items += items_of(window)
    if not numbers:
        raise not_found("A window for this", "→ memory windows lists what is open")
    return Reply(f"✓ {word} {_numbered(numbers)}", items=tuple(dict.fromkeys(items)))


def _numbered(numbers: Sequence[int]) -> str:
    return " ".join(f"#{one}" for one in numbers)


def _by_number(context: Context, args: Named, word: str, change: Change) -> Reply:
    wanted = list(dict.fromkeys(int(ref.id) for ref in args.windows))
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number__in=wanted)
    found = {one.number: one for one in rows.order_by("number")}
    missing = [one for one in wanted if one not in found]
    if not found:
        raise not_found(_numbered(missing), "→ memory windows lists what is open")
    reply = _each(context, (found[one] for one in wanted if one in found), word, change)
    more = f" · not found {_numbered(missing)}" if missing else ""
    return Reply(f"{reply.text}{more}", items=reply.items)


def _labelled(context: Context, label: str) -> list[Window]:
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False)
    found = rows.filter(kind__in=("node", "stash"), label__iexact=label).order_by()
    return windows.by_number(found)


def _visible(context: Context) -> list[Window]:
    return windows.by_number(windows.visible(context.workspace))


@command("hide", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def hide(context: Context, args: Named) -> Reply:
    """Hides windows: they are not sent to you again until you show them."""
    return _by_number(context, args, "hidden", _hide)


@command("hide", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def hide_labelled(context: Context, args: Labelled) -> Reply:
    """Hides the windows with a label."""
    seen = [one for one in _labelled(context, args.label) if one.is_visible]
    return _each(context, seen, "hidden", _hide)


@command("hide", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def hide_all(context: Context, args: All) -> Reply:
    """Hides all windows."""
    return _each(context, _visible(context), "hidden", _hide)


@command("show", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def show(context: Context, args: Named) -> Reply:
    """Shows hidden windows again, as they were; also results of earlier turns."""
    return _by_number(context, args, "shown", show_window)


@command("show", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def show_labelled(context: Context, args: Labelled) -> Reply:
    """Shows the windows with a label."""
    return _each(context, _labelled(context, args.label), "shown", show_window)


@command("close", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def close(context: Context, args: Named) -> Reply:
    """Closes windows for good."""
    return _by_number(context, args, "closed", close_window)


@command("close", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def close_labelled(context: Context, args: Labelled) -> Reply:
    """Closes the windows with a label."""
    return _each(context, _labelled(context, args.label), "closed", close_window)


@command("close", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def close_all(context: Context, args: All) -> Reply:
    """Closes all visible windows."""
    return _each(context, _visible(context), "closed", close_window)


class Drop(Args):
    """A node that is pinned, or a stash."""

    ref: Annotated[RefField, Written("ref")]


@command("drop", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def drop(context: Context, args: Drop) -> Reply:
    """Closes the windows on a node, or a stash: `drop a7x2`, `drop stash:"label"`."""
    if args.ref.kind in ("window", "stash"):
        return _each(context, [_named(context, args.ref)], "closed", close_window)
    node = get_node(context, args.ref)
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, kind="node")
    found = rows.filter(item=identity.of_node(node.pk)).order_by("number")
    return _each(context, found, "closed", close_window)


# -- what a turn does to them


def after_turn(workspace: Workspace, told: str, *, actor: Participant) -> None:
    """Hides what was visible for a turn that has ended, except what its words (`told`) extend.
    Needs a transaction in which the workspace is locked."""
    numbers = mentioned(told)
    rows = Window.objects.filter(workspace=workspace, is_closed=False)
    seen = list(rows.filter(is_visible=True, is_kept=False))
    if numbers:
        results = rows.filter(kind="result", is_visible=False, is_kept=False)
        seen += results.filter(number__in=numbers)[:MOST_VISIBLE]
    changed = []
    for window in seen:
        state = state_of(window).after_turn(is_mentioned=window.number in numbers)
        if state != state_of(window):
            window.is_visible, window.is_extended = state.is_visible, state.is_extended
            changed.append(window)
    if not changed:
        return
    Window.objects.bulk_update(changed, ["is_visible", "is_extended"])
    writer = streams.lock(workspace, actor=actor.uid)
    body = [windows.brief(one) for one in changed]
    writer.append("window.changed", {"windows": body, "revision": workspace.revision})
    writer.flush()
