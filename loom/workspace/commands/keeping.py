"""Commands that control what stays in view: open, resize, refresh, hide, show, close, drop."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from loom.access import demand, may_reach
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import ParseError, Ref, Slice, print_ref, print_slice, quote
from loom.language.verbs import Phrases, Verb
from loom.links.derived import derived_type
from loom.links.vocabulary import link_type
from loom.permissions import LOOM, READ_DOCUMENTS
from loom.text.counts import counted
from loom.trees.grove_texts import WindowSource, grove_texts, is_text
from loom.trees.models import GroveText, Node
from loom.trees.named_items import get_node, tree_of
from loom.trees.queries import lookup
from loom.workspace.commands.lenses import cut_of, demand_lines
from loom.workspace.commands.linked_windows import (
    OF_TEXTS,
    LinkedWindows,
    LinksToOpen,
    not_of_texts,
    open_derived,
    open_linked,
    open_linked_to_text,
)
from loom.workspace.commands.windows import (
    changed_windows,
    close_window,
    demand_label,
    get_stash,
    held,
    hide_window,
    items_of,
    known,
    merge_into,
    move_window,
    new_window,
    next_step,
    node_of,
    note_change,
    numbered,
    place_window,
    show_window,
    shows,
    text_of_window,
    title_of,
    token_change,
    within_limit,
)
from loom.workspace.models import Window
from loom.workspace.near_misses import DROP_HINTS, HIDE_HINTS
from loom.workspace.queries import windows
from loom.workspace.queries.open_windows import get_window, no_window
from loom.workspace.queries.window_contents import newest_version
from loom.workspace.queries.windows import (
    followed,
    is_lens,
    lines_of,
    newest_for,
    range_of,
    seen_by,
    source_of,
)
from loom.workspace.window_rules import LARGE, MOST_PAD, Lines, total_of

# -- open


class Open(Args):
    """What to keep in view (a node, lines of one, a branch, range, tree, result or stash), and
    how."""

    ref: Annotated[RefField, Written("ref")]
    form: Annotated[
        Literal["diff", "prose", "nodes"] | None,
        Written("option", key="as", value="choice", choices=("diff", "prose", "nodes")),
    ] = None
    keep: Annotated[bool, Written("flag")] = False
    live: Annotated[bool, Written("flag")] = False
    pad: Annotated[int, Written("option", key="pad", value="int", minimum=0, maximum=MOST_PAD)] = 0
    along: Annotated[str, Written("option", key="with", value="word")] = ""
    label: Annotated[str, Written("option", key="label", value="quoted")] = ""


describe_verb(
    Verb(
        "open",
        past="opened",
        taught=(
            'open REF [keep] [live] [with:TYPE] [label:"x"] — a window on a text or a '
            "part of it, for this turn; keep: until you hide it"
        ),
        phrases=(Phrases("pin|keep open|keep", before="keep"),),
        swaps=(
            ("and keep it", "keep"),
            ("and keep", "keep"),
            ("in my context", ""),
            ("to my context", ""),
            ("to context", ""),
        ),
    )
)


@command(
    "open", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace", opens_windows=True
)
def open_(context: Context, args: Open) -> Reply:
    """Opens a window on a node or lines of it, a branch, a range or a tree; with `keep` until you
    hide it, otherwise for this turn. `open #14 keep` keeps a result. `live` follows the current
    version, `as:diff` shows what has changed, `pad:3` shows 3 lines around it, `with:TYPE` also
    opens what is linked by that type."""
    label = demand_label(args.label) if args.label else ""
    words = ""
    if args.ref.kind in ("window", "stash"):
        window = _named(context, args.ref)
        show_window(context, window, keep=args.keep)
    elif args.ref.kind == "document":
        window, words = _on_document(context, args)
    elif args.ref.kind in ("branch", "range", "tree"):
        window = _on_several(context, args)
    else:
        window, words = _on_node(context, args)
    if label and window.kind in ("result", "stash"):
        raise CommandError(
            "INVALID_SYNTAX",
            f"#{window.number} is a {window.kind}; only a window on a text takes a label.",
            hint=f"→ open #{window.number} keep",
        )
    window.label = label or window.label
    _adjust(context, window, args)
    along = _along(context, window, args)
    words = f"{title_of(context, window)}{words}{_with(context, args.along, along)}"
    limited = within_limit(context, [window, *along.opened])
    items = tuple(item for other in (window, *along.opened) for item in items_of(other))
    said = f"✓ opened {words}{limited}{token_change(context)}"
    return Reply(said, items=items, did={"kept": window.is_kept})


def _adjust(context: Context, window: Window, args: Open) -> None:
    """Applies the settings that the line gives for a window; the others stay. One text has the
    same form as prose and as nodes."""
    if window.kind in windows.LENSES:
        is_diff = window.form == "diff"
        if args.ref.kind == "window" and args.form and is_diff != (args.form == "diff"):
            raise _other_form(context, window)
        if is_diff and (args.pad or args.live):
            raise _not_so(args, "as:diff takes no pad and is not live")
        window.pad = args.pad or window.pad
    elif args.form == "diff" or args.pad:
        raise _not_so(args, "as:diff and pad: are for windows on one text")
    else:
        window.form = args.form if args.form == "prose" else "" if args.form else window.form
    if args.live and window.kind in ("result", "stash", "tree"):
        raise _not_so(args, f"a {window.kind} does not change, or always shows the newest")
    window.is_live = window.is_live or args.live


def _other_form(context: Context, window: Window) -> CommandError:
    """Why a window does not change between a text and what has changed in it: those are two
    windows."""
    text, node = text_of_window(context, window), node_of(window)
    named = f"doc:{quote(text.title)}" if text is not None else "REF"
    named = lookup.node_ref(node, context.tree.pk) if node is not None else named
    is_diff = window.form == "diff"
    reason = f"#{window.number} shows {'what has changed in a text' if is_diff else 'a text'}."
    hint = f"→ open {named}{'' if is_diff else ' as:diff'} opens the other in its own window"
    return CommandError("INVALID_SYNTAX", reason, hint=hint)


def _not_so(args: Open, why: str) -> CommandError:
    """Why what the line names cannot be shown as it says, and the line without that."""
    named = print_ref(args.ref)
    is_text = args.ref.kind not in ("window", "stash", "branch", "range", "tree")
    form = " as:diff" if is_text and args.form == "diff" else ""
    line = f"open {named}{form}{' keep' if args.keep else ''}"
    return CommandError("INVALID_SYNTAX", f"{named} cannot be shown so: {why}.", hint=f"→ {line}")


def _named(context: Context, ref: RefField) -> Window:
    if ref.kind == "window":
        return known(context, get_window(context, int(ref.id)))
    return get_stash(context, ref.name or ref.id)


def _on_node(context: Context, args: Open) -> tuple[Window, str]:
    """The window, and a note about its lines if some were cut off or there are many."""
    node = get_node(context, args.ref, slices=True)
    if node.text == "":
        raise CommandError("REJECTED", f"[{node.local_id}] has no text.", hint="open another node")
    if args.form == "diff":
        return _difference(context, node, keep=args.keep), ""
    cut = cut_of(f"[{node.local_id}]", args.ref, node.text)
    lines = Lines(cut.first, cut.last)
    part = args.ref.slice
    place = "" if part is None or part.kind in ("lines", "para") else print_slice(part)
    source = source_of(node)
    window, joined = _placed(context, source, lines, keep=args.keep, place=place[:200])
    reply = f"{_clipped(cut.clipped, part, lines, window)}{joined}"
    if lines.last - lines.first + 1 > LARGE:
        named = lookup.node_ref(node, context.tree.pk)
        total = total_of(node.text)
        reply += f"\n  {total:,} lines in all; → open {named} head:{LARGE} shows the first ones"
    return window, reply


def _on_document(context: Context, args: Open) -> tuple[Window, str]:
    """The window on a document or a part of it, and what was cut off. LIMIT_EXCEEDED for the whole
    of a long one, with its sections or parts."""
    demand(context.actor, {READ_DOCUMENTS}, "opening a document")
    text, part = grove_texts().get(context, args.ref), args.ref.slice
    if args.form == "diff":
        return _text_difference(context, text, keep=args.keep), ""
    try:
        shown = grove_texts().part_of(text, part)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    total = total_of(shown.source.text)
    if part is None and total > LARGE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"{print_ref(args.ref)} has {total:,} lines; open a part of it.",
            hint=f"→ open {print_ref(args.ref)} with one of {shown.parts}",
        )
    if not shown.source.text:
        hint = f'→ write {print_ref(replace(args.ref, slice=None))} append "…"'
        raise CommandError("REJECTED", "This document is empty.", hint=hint)
    demand_lines(args.ref, shown)
    place = "" if part is None or part.kind in ("lines", "para") else print_slice(part)
    lines, source = Lines(shown.first, shown.last), shown.source
    window, joined = _placed(context, source, lines, keep=args.keep, place=place[:200])
    grove_texts().note_seen(context, source.item, source.version)
    return window, f"{_clipped(shown.clipped, part, lines, window)}{joined}"


def _clipped(note: str, part: Slice | None, lines: Lines, window: Window) -> str:
    """What was cut off, in brackets. A slice ends before the empty line after a last line break; a
    window that shows that line too counts it."""
    last = lines_of(window).last
    if note and part is not None and part.kind == "lines" and last > lines.last:
        note = f"clipped: there are {last} lines"
    return f" ({note})" if note else ""


def _placed(
    context: Context, source: WindowSource, lines: Lines, *, keep: bool, place: str
) -> tuple[Window, str]:
    """The window on those lines, and what became of others that showed some of them."""
    before = {other.number: lines_of(other) for other in held(context) if shows(other, source)}
    window = place_window(context, source, lines, keep=keep, place=place)
    now, was = lines_of(window), before.pop(window.number, None)
    left = {other.number for other in held(context)}
    gone = [number for number in before if number not in left]
    words = ""
    if was is not None and was != now:
        then = "it shows both now" if now.with_all([was]) == now else "these are kept"
        words = f"\n  #{window.number} showed {windows.named(was)}; {then}"
    if gone:
        words += f"\n  joined with {numbered(gone)}, whose lines it shows now"
    return window, words


def _difference(context: Context, node: Node, *, keep: bool) -> Window:
    """The window that shows what has changed since this version, or in it."""
    item = ids.of_node(node.pk)
    return _difference_of(context, item, kind="node", version=node.hash, keep=keep)


def _text_difference(context: Context, text: GroveText, *, keep: bool) -> Window:
    """The window that shows what has changed since the version that this workspace has seen, or in
    the newest one. Whoever has seen that has then seen the newest."""
    seen = grove_texts().seen_version(context, text)
    if seen:
        grove_texts().note_seen(context, text.item_id, str(text.revision))
    version = str(seen or text.revision)
    return _difference_of(context, text.item_id, kind="document", version=version, keep=keep)


def _difference_of(context: Context, item: int, *, kind: str, version: str, keep: bool) -> Window:
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, form="diff")
    window = rows.filter(item=item).order_by("number").first()
    if window is None:
        window = new_window(context, kind=kind, form="diff", item_id=item, version_seen=version)
    show_window(context, known(context, window), keep=keep)
    return known(context, window)


def _on_several(context: Context, args: Open) -> Window:
    """The window on a branch, range or tree; opening it twice gives the same window."""
    kind = args.ref.kind
    keys: list[int] = []
    if kind == "tree":
        last = lookup.root_of(tree_of(context, args.ref))
    else:
        last, keys = _range(context, args.ref)
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, kind=kind)
    on_node = list(rows.filter(item=ids.of_node(last.pk)).order_by("number"))
    same = [other for other in on_node if other.nodes[:1] == keys[:1]]
    if same:
        window = known(context, same[0])
        window.nodes = keys
    else:
        item = ids.of_node(last.pk)
        window = new_window(context, kind=kind, item_id=item, nodes=keys, version_seen=last.hash)
    show_window(context, window, keep=args.keep)
    return window


def _range(context: Context, ref: Ref) -> tuple[Node, list[int]]:
    """The last node of a branch or range, and the row ids of its texts from the top."""
    if ref.kind == "branch":
        last, first = get_node(context, ref), None
    else:
        ends = [get_node(context, Ref("node", id=local_id)) for local_id in (ref.id, ref.end)]
        first, last = sorted(ends, key=lambda end: end.depth)
    keys = range_of(context.actor, context.workspace, last, first)
    if not keys and first is not None:
        raise CommandError(
            "INVALID_SYNTAX",
            f"[{first.local_id}] is not above [{last.local_id}].",
            hint="a range goes from a node down to one below it",
        )
    if not keys:
        raise CommandError("REJECTED", f"{print_ref(ref)} has no text.", hint="open another node")
    return last, keys


def _along(context: Context, window: Window, args: Open) -> LinkedWindows:
    """Opens what is linked to a window's node by one type, at most MOST_WITH items."""
    if not args.along:
        return LinkedWindows([], [])
    derived = derived_type(args.along)
    kind = derived or link_type(context.actor, args.along)
    links = LinksToOpen(kind, window.number, keep=args.keep)
    text = text_of_window(context, window)
    if text is not None:
        if derived and derived not in OF_TEXTS:
            raise not_of_texts(derived)
        return open_linked_to_text(context, text, links)
    node = node_of(window)
    if node is None:
        raise _not_so(args, "only a text has links to follow")
    if derived and derived != "mentioned_by":
        return open_derived(context, node, links)[0]
    return open_linked(context, node, links)


def _with(context: Context, kind: str, along: LinkedWindows) -> str:
    if not kind:
        return ""
    named = " · ".join(title_of(context, window) for window in along.opened)
    return f"\n  with {kind}: {named or 'nothing'}{along.rest}"


def readable(context: Context, window: Window) -> WindowSource | None:
    """The version whose lines a window shows, if the caller may still read it; else None."""
    source = seen_by(window)
    if source is None:
        return None
    if is_text(source.item):
        seen = grove_texts().seen(context.actor, context.tree, [source.item])
        return source if source.item in seen else None
    home = ids.home_of(source.item)
    return source if may_reach(context.actor, home, here=context.tree) else None


# -- resize, refresh


class Resize(Args):
    """A window and the lines that it will show."""

    window: Annotated[RefField, Written("ref", refs=("window",), shown="#n lines:a-b")]


describe_verb(
    Verb(
        "resize",
        dropped=("and to window windows"),
    )
)


@command("resize", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def resize(context: Context, args: Resize) -> Reply:
    """Gives a window other lines, of the current version: `resize #4 lines:10-60`."""
    window = known(context, get_window(context, int(args.window.id)))
    if args.window.slice is None:
        raise CommandError(
            "INVALID_SYNTAX",
            f"Which lines shall #{window.number} show?",
            hint=f"→ resize #{window.number} lines:1-20",
        )
    source = readable(context, window) if is_lens(window) else None
    if source is None:
        raise CommandError(
            "REJECTED",
            f"#{window.number} shows no lines of a text.",
            hint="only a window on a node or document can be resized",
        )
    newest = newest_for(context.workspace, source)
    cut = cut_of(f"#{window.number}", args.window, newest.text)
    window.place = ""
    move_window(context, window, newest, Lines(cut.first, cut.last))
    show_window(context, window)
    limited = within_limit(context, [window])
    reply = f"✓ #{window.number} {windows.named(lines_of(window))}"
    clipped = f" ({cut.clipped})" if cut.clipped else ""
    return Reply(f"{reply}{clipped}{limited}{token_change(context)}", items=items_of(window))


# -- hide, show, close


class WindowsArgs(Args):
    """Windows by their numbers."""

    windows: Annotated[tuple[RefField, ...], Written("ref", many=True, refs=("window",))]


class NamedFull(WindowsArgs):
    """Windows by their numbers; `full`: with all of the text that they show lines of."""

    full: Annotated[bool, Written("flag")] = False


class Labelled(Args):
    """Windows by their label."""

    label: Annotated[str, Written("option", key="label", value="quoted")]


class All(Args):
    """All windows."""

    all: Annotated[str, Written("word", lead="all")]


describe_verb(
    Verb(
        "refresh",
        phrases=(Phrases("reload|update window|update windows|reread"),),
        swaps=(
            ("everything", "all"),
            ("all windows", "all"),
            ("all of them", "all"),
        ),
        dropped=("and to window windows"),
    )
)


@command("refresh", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def refresh(context: Context, args: WindowsArgs) -> Reply:
    """Brings windows to the current version of what they show; their lines follow the text."""
    return _told(context, _by_number(context, args, "refreshed", _refresh))


@command("refresh", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def refresh_all(context: Context, args: All) -> Reply:
    """Brings all visible windows to the current version of what they show."""
    return _all(context, windows.by_number(held(context)), "refreshed", _refresh)


def _refresh(context: Context, window: Window) -> None:
    window.shown_step = next_step(context)
    note_change(context, window)
    if window.kind in windows.STRETCHES:
        last = lookup.by_id(ids.node_id(window.item_id or 0) or 0)
        first = lookup.rows().filter(pk__in=window.nodes[:1]).first()
        is_branch = window.kind == "branch"
        above = None if is_branch else first
        keys = range_of(context.actor, context.workspace, last, above)
        window.nodes = keys or window.nodes
        return
    window.version_seen = newest_version(window) or window.version_seen
    source = readable(context, window)
    if source is None:
        return
    newest = newest_for(context.workspace, source)
    move_window(context, window, newest, followed(source, newest, lines_of(window)))
    if window.is_visible and is_lens(window):
        merge_into(context, window)


Change = Callable[[Context, Window], None]


NONE_VISIBLE = "✓ no window was visible"
MOST_SHOWN = 20  # windows that `show all` shows, the newest
MOST_CLOSED = 200  # hidden windows that `close all` closes, the newest
MISSING = "→ memory windows lists what is open; a line that was answered by ✓ alone has no window"


def _all(context: Context, chosen: Sequence[Window], word: str, change: Change) -> Reply:
    """Changes all visible windows; finding none is not an error."""
    return (
        _told(context, _change_windows(context, chosen, word, change))
        if chosen
        else Reply(NONE_VISIBLE)
    )


def _change_windows(context: Context, chosen: Iterable[Window], word: str, change: Change) -> Reply:
    """Changes the windows; NOT_FOUND if there are none."""
    numbers = []
    items: list[int] = []
    for window in chosen:
        if not window.is_closed:  # another window of the line may have merged with it
            change(context, window)
            numbers.append(window.number)
            items += items_of(window)
    if not numbers:
        raise not_found("A window for this", "→ memory windows lists what is open")
    return Reply(f"✓ {word} {numbered(numbers)}", items=tuple(dict.fromkeys(items)))


def _told(context: Context, reply: Reply) -> Reply:
    """The reply, with the tokens that the windows take now."""
    return Reply(reply.text + token_change(context), items=reply.items)


def _by_number(context: Context, args: WindowsArgs, word: str, change: Change) -> Reply:
    wanted = list(dict.fromkeys(int(ref.id) for ref in args.windows))
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number__in=wanted)
    by_number = {row.number: known(context, row) for row in rows.order_by("number")}
    missing = [number for number in wanted if number not in by_number]
    if not by_number:
        raise no_window(context, missing, MISSING)
    reply = _change_windows(
        context, (by_number[number] for number in wanted if number in by_number), word, change
    )
    more = f" · not found {numbered(missing)}" if missing else ""
    return Reply(f"{reply.text}{more}", items=reply.items)


def _labelled(context: Context, label: str) -> list[Window]:
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False)
    labelled = rows.exclude(kind="result").filter(label__iexact=label).order_by()
    return windows.by_number(known(context, window) for window in labelled)


def _visible(context: Context) -> list[Window]:
    return windows.by_number(held(context))


describe_verb(
    Verb(
        "hide",
        hints=HIDE_HINTS,
        past="hid",
        taught="hide #n|all",
        swaps=(
            ("everything", "all"),
            ("all windows", "all"),
            ("all of them", "all"),
        ),
        dropped=("and result results window windows"),
        meant_by="hide",
    )
)


@command("hide", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def hide(context: Context, args: WindowsArgs) -> Reply:
    """Hides windows: they are not sent to you again until you show them."""
    return _told(context, _by_number(context, args, "hidden", hide_window))


@command("hide", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def hide_labelled(context: Context, args: Labelled) -> Reply:
    """Hides the windows with a label."""
    seen = [window for window in _labelled(context, args.label) if window.is_visible]
    return _told(context, _change_windows(context, seen, "hidden", hide_window))


@command("hide", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def hide_all(context: Context, args: All) -> Reply:
    """Hides all windows."""
    return _all(context, _visible(context), "hidden", hide_window)


describe_verb(
    Verb(
        "show",
        past="showed",
        taught="show #n [full]; show all",
        is_harmless=True,
        swaps=(
            ("everything", "all"),
            ("all windows", "all"),
            ("all of them", "all"),
        ),
        dropped=("and result results window windows"),
    )
)


@command("show", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def show(context: Context, args: NamedFull) -> Reply:
    """Shows hidden windows again, as they were; also results of earlier turns. With `full` a
    window on lines of a text shows all of it."""
    reply = _by_number(context, args, "shown", _show_full if args.full else show_window)
    return _told(context, Reply(reply.text + _limited(context), items=reply.items))


@command("show", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def show_labelled(context: Context, args: Labelled) -> Reply:
    """Shows the windows with a label."""
    reply = _change_windows(context, _labelled(context, args.label), "shown", show_window)
    return _told(context, Reply(reply.text + _limited(context), items=reply.items))


def _show_full(context: Context, window: Window) -> None:
    """Shows a window, one on lines of a text with all lines of its current version."""
    source = readable(context, window) if is_lens(window) else None
    if source is not None:
        newest = newest_for(context.workspace, source)
        window.place = ""
        move_window(context, window, newest, Lines(1, total_of(newest.text)))
    show_window(context, window)


def _limited(context: Context) -> str:
    return within_limit(
        context, [window for window in held(context) if window in changed_windows(context)]
    )


@command("show", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def show_all(context: Context, args: All) -> Reply:
    """Shows all windows again that are hidden, except results."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, is_visible=False)
    newest = rows.exclude(kind="result").select_related("item", "step").order_by("-number")
    hidden = windows.by_number(known(context, window) for window in newest[:MOST_SHOWN])
    if not hidden:
        return Reply("✓ no window was hidden")
    reply = _change_windows(context, hidden, "shown", show_window)
    return _told(context, Reply(reply.text + _limited(context), items=reply.items))


describe_verb(
    Verb(
        "close",
        past="closed",
        taught="close #n|all",
        phrases=(Phrases("drop"),),
        swaps=(
            ("everything", "all"),
            ("all windows", "all"),
            ("all of them", "all"),
        ),
        dropped=("and result results window windows"),
    )
)


@command("close", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def close(context: Context, args: WindowsArgs) -> Reply:
    """Closes windows for good."""
    return _told(context, _by_number(context, args, "closed", close_window))


@command("close", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def close_labelled(context: Context, args: Labelled) -> Reply:
    """Closes the windows with a label."""
    return _told(
        context, _change_windows(context, _labelled(context, args.label), "closed", close_window)
    )


@command("close", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def close_all(context: Context, args: All) -> Reply:
    """Closes all windows, hidden ones too. Stashes that are put aside stay, and results of earlier
    turns."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, is_visible=False)
    rows = rows.exclude(kind__in=("result", "stash")).order_by("-number")
    hidden = [known(context, window) for window in rows[:MOST_CLOSED]]
    every = windows.by_number([*_visible(context), *hidden])
    if not every:
        return Reply("✓ no window was open")
    left = rows.count() - len(hidden)
    reply = _told(context, _change_windows(context, every, "closed", close_window))
    rest = f"\n  {counted(left, 'hidden window')} left: → close all" if left else ""
    return Reply(f"{reply.text}{rest}", items=reply.items)


class Drop(Args):
    """A node or document that is pinned, or a stash."""

    ref: Annotated[RefField, Written("ref")]


describe_verb(
    Verb(
        "drop",
        hints=DROP_HINTS,
        asks_first=True,
        phrases=(Phrases("close window on|close windows on|close window of"),),
    )
)


@command("drop", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def drop(context: Context, args: Drop) -> Reply:
    """Closes the windows on a node or document, or a stash: `drop a7x2`, `drop stash:"label"`."""
    if args.ref.kind in ("window", "stash"):
        window = _named(context, args.ref)
        reply = _change_windows(context, [window], "closed", close_window)
        if window.kind == "stash":
            reply = Reply(f"✓ dropped stash:{quote(window.label)}", items=reply.items)
        return _told(context, reply)
    if args.ref.kind == "document":
        item = grove_texts().get(context, args.ref).item_id
    else:
        item = ids.of_node(get_node(context, args.ref).pk)
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False)
    lenses = rows.filter(kind__in=windows.LENSES, item=item)
    in_order = sorted(lenses.order_by(), key=lambda other: other.number)
    rows_known = [known(context, other) for other in in_order]
    return _told(context, _change_windows(context, rows_known, "closed", close_window))
