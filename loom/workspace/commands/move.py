"""Moving around: switch and back, and how far the outline is expanded."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from loom.access import demand, may_reach
from loom.engine import registry
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.models import Step
from loom.engine.registry import command, describe_verb
from loom.engine.steps import items_of
from loom.engine.views import Moved
from loom.errors import CommandError, not_found
from loom.language import ids as item_ids
from loom.language.portals import EMBED, MOST_TARGETS, as_lines, named, portals_in, targets_of
from loom.language.refs import Ref, Slice, print_ref
from loom.language.verbs import Phrases, Verb
from loom.links.derived import derived_type
from loom.links.linked_items import items_linked, links_counted
from loom.links.portals import NamedItem, items_named
from loom.links.portals import opened as opened_portal
from loom.links.vocabulary import link_type
from loom.permissions import LOOM, READ_DOCUMENTS
from loom.text.counts import MOST_COUNTED, counted
from loom.text.tokens import count
from loom.trees.commands.node_writer import demand_visible
from loom.trees.effects import OutlineChanged, VersionChosen, outline_after
from loom.trees.grove_texts import WindowSource, grove_texts
from loom.trees.models import GroveText, Node
from loom.trees.named_items import (
    demand_whole,
    get_node,
    get_own_node,
    item_of,
    touched,
    tree_of,
)
from loom.trees.queries import lookup
from loom.trees.queries.lookup import selected_version
from loom.trees.queries.outline import (
    CHILDREN,
    HITS,
    MOST_EXPANDED,
    OUTLINE_DEPTH,
    outline_of,
    outline_text,
)
from loom.trees.queries.places import count_directly_below, path_ids
from loom.workspace.commands.linked_windows import (
    OF_TEXTS,
    LinkedWindows,
    LinksToOpen,
    each_once,
    is_long,
    not_of_texts,
    open_derived,
    open_linked,
    open_linked_to_text,
    source_and_lines,
    too_long,
)
from loom.workspace.commands.windows import (
    changed_windows,
    close_window,
    collapse_window,
    collapsed_below,
    demand_depth,
    has_room,
    held,
    node_of,
    numbered,
    place_window,
    show_window,
    text_of_window,
    token_change,
    within_limit,
)
from loom.workspace.commands.windows import items_of as items_of_window
from loom.workspace.models import Window
from loom.workspace.queries.open_windows import get_window
from loom.workspace.window_rules import LARGE, MOST_WITH, Lines

SHOWN_ENDS = 2
MOST_BACK = 20
MOST_LINKED = 40  # items that one line opens
RECENT = 200  # steps that are searched for moves


Source = Node | GroveText  # what links are followed from


class Switch(Args):
    """The node to move to."""

    ref: Annotated[RefField, Written("ref", lead="to")]


describe_verb(
    Verb(
        "switch",
        past="switched to",
        taught="switch to REF — moves you there",
        is_harmless=True,
        takes_documents=False,
        phrases=(
            Phrases(
                "go|jump|move|navigate|switch|travel|hop|take me|bring me|visit|return"
                "|go back|head|walk|move me|get me|come back|go over"
            ),
            Phrases("goto|back to|switch position|change position|set position|change to"),
            Phrases("stand on|stand at"),
            Phrases("go up|move up|go one up|step up|go up one|up", before="parent"),
            Phrases("go up one level|go one level up|go up a level|one level up", before="parent"),
            Phrases("move up one|move up one level", before="parent"),
        ),
        swaps=(
            ("the start", "root"),
            ("the beginning", "root"),
            ("the top", "root"),
            ("home", "root"),
        ),
        dropped=("at back id into my on over position to up"),
    )
)


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
    context.add(Moved(node))
    if Node.objects.filter(slot=node.slot_id).exclude(pk=node.pk).exists():
        context.add(VersionChosen(node))
    below = count_directly_below(node.slot_id)
    shown = lookup.node_ref(node, context.tree.pk)
    many = counted(below, "continuation", most=MOST_COUNTED)
    return Reply(
        f"✓ switched to [{shown}]\n  depth:{node.depth} · {many} · path: {_path(context, node)}",
        refs=(shown,),
        items=touched(node),
    )


def _path(context: Context, node: Node) -> str:
    """`r2d4 → … → a7x2 → b3k9`: the first and the last nodes of the path, which alone are read."""
    most = SHOWN_ENDS + 2
    ids = path_ids(context.actor, node.tree, context.workspace, node, most=most)
    keys = [key for _, key in ids]
    if node.depth >= most:
        root = selected_version(lookup.root_of(node.tree).pk, context.workspace)
        keys = [*([root.pk] if root is not None else []), *keys[-SHOWN_ENDS:]]
    names = dict(Node.objects.filter(pk__in=keys).values_list("pk", "local_id"))
    shown = [names[key] for key in keys]
    return " → ".join([shown[0], "…", *shown[1:]] if node.depth >= most else shown)


# The outline of a workspace: which branches are folded, and what a search has marked.


MAX_DEPTH = 50
MOST_FOUND = 20  # hits of earlier searches that the outline keeps expanded


class TreeReset(Args):
    """The depth to which the outline is folded."""

    reset: Annotated[str, Written("word", lead="reset")]
    depth: Annotated[
        int, Written("option", key="depth", value="int", minimum=0, maximum=MAX_DEPTH)
    ] = OUTLINE_DEPTH


@command("tree", group="Look", klass="look ✓", permissions={LOOM})
def tree_reset(context: Context, args: TreeReset) -> Reply:
    """Folds the outline of your workspace to a depth."""
    folded = {"depth": args.depth, "expanded": [], "collapsed": [], "found": []}
    context.add(OutlineChanged({**outline_of(context.workspace), **folded}))
    return Reply(f"✓ outline folded to depth {args.depth}")


class FindClear(Args):
    """No further arguments."""

    clear: Annotated[str, Written("word", lead="clear")]


@command("find", group="Look", klass="look ✓", permissions={LOOM})
def find_clear(context: Context, args: FindClear) -> Reply:
    """Removes the marks of the last search from the outline, which stays expanded to its hits."""
    before = outline_of(context.workspace)
    marked = len(before["hits"])
    hits = list(dict.fromkeys([*before["found"], *before["hits"][:HITS]]))[-MOST_FOUND:]
    nothing = {"query": "", "hits": [], "scores": {}, "found": hits}
    context.add(OutlineChanged({**before, **nothing}))
    return Reply(f"✓ search cleared ({marked} marked)")


class Branch(Args):
    """A node of the outline."""

    ref: Annotated[RefField, Written("ref")]


describe_verb(
    Verb(
        "expand",
        is_harmless=True,
        hints=(
            (
                r"(?:expand|follow|navigate|open) (\[?[a-z]\d[a-z]\d\w*\]?) ([a-z]+(?:_[a-z]+)*)",
                lambda windows: iter((f"expand {windows[2]} of {windows[1]}",)),
            ),
            (
                r"(?:expand|follow|navigate) (?!the |this |to |my |an? )([a-z]+(?:_[a-z]+)*)"
                r"(?: (?:from|for|at|on|to))? (\[?[a-z]\d[a-z]\d\w*\]?|here)",
                lambda typed: iter((f"expand {typed[1]} of {typed[2]}",)),
            ),
        ),
    )
)


@command("expand", group="Move", klass="look ✓", permissions={LOOM}, stream="workspace")
def expand(context: Context, args: Branch) -> Reply:
    """Opens a branch of the outline: what is below a node is shown there; `expand #4` brings back
    the windows that `collapse #4` has hidden."""
    if args.ref.kind == "window" and (again := _brought_back(context, int(args.ref.id))):
        limited = within_limit(context, again)
        items = tuple(dict.fromkeys(item for window in again for item in items_of_window(window)))
        shown = f"shown {numbered([window.number for window in again])}"
        reply = f"✓ ▼ #{args.ref.id}\n  {shown}{limited}{token_change(context)}"
        return Reply(reply, items=items)
    node, below = _twig(context, args.ref)
    if not below:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] has no continuations.", hint="expand another node"
        )
    before, name = outline_of(context.workspace), str(node.slot.local_id)
    opened = [*(uid for uid in before["expanded"] if uid != name), name]
    collapsed = [uid for uid in before["collapsed"] if uid != name]
    changed = {"expanded": opened[-MOST_EXPANDED:], "collapsed": collapsed}
    context.add(OutlineChanged({**before, **changed}))
    many = counted(below, "continuation", most=MOST_COUNTED)
    shown = f"{CHILDREN} of {many}" if below > CHILDREN else many
    reply = f"✓ ▼ [{node.local_id}] → {shown}"
    return Reply(reply + unfolding(context), items=touched(node))


def _brought_back(context: Context, number: int) -> list[Window]:
    """Shows again what was collapsed below a visible window, with what was below that."""
    window = next((shut for shut in held(context) if shut.number == number), None)
    collapsed = collapsed_below(context, window) if window is not None else []
    for other in collapsed:
        if not other.is_visible and has_room(context):
            show_window(context, other)
    return [other for other in changed_windows(context) if other.is_visible]


def _again(context: Context, opened: Sequence[Window]) -> str:
    """`\n  again: #7 #9`: the windows that came back with those that were opened."""
    every = [
        window for window in changed_windows(context) if window.is_visible and window not in opened
    ]
    return f"\n  again: {numbered(sorted(window.number for window in every))}" if every else ""


_expands_links = command(
    "expand",
    group="Move",
    klass="look ✓",
    permissions={LOOM},
    stream="workspace",
    aliases=("follow", "navigate"),
    is_first=True,
)


class OpenLinkedArgs(Args):
    """A link type, the node, document or window to follow it from, the maximum number of items, and
    how many of the first or last lines of each are shown."""

    type: Annotated[str, Written("type")]
    ref: Annotated[RefField | None, Written("ref", lead="of")] = None
    max: Annotated[
        int, Written("option", key="max", value="int", minimum=1, maximum=MOST_LINKED)
    ] = MOST_WITH
    head: Annotated[int | None, Written("option", key="head", value="int", minimum=1)] = None
    tail: Annotated[int | None, Written("option", key="tail", value="int", minimum=1)] = None
    inline: Annotated[bool, Written("flag")] = False


@_expands_links
def expand_type(context: Context, args: OpenLinkedArgs) -> Reply:
    """Opens what is linked to a node or document by one type, in windows: a link type, or what
    `list` shows of it; `of focus` follows the windows that the last expand opened. `head:200` and
    `tail:200` show the first or last lines of each. `inline` shows it in place instead of
    windows."""
    cut = _cut_of(args)
    kind = derived_type(args.type) or link_type(context.actor, args.type)
    opened: list[Window] = []
    left: list[str] = []
    long: list[tuple[str, int]] = []
    sources = _with_type(_sources(context, args.ref), kind)
    if args.inline:
        return _inline(context, kind, [source for source, _ in sources], args.max)
    every = 0
    seen: set[int] = set()  # items to which several links lead, or links of several sources
    for source, parent in sources:
        most = args.max - len(opened)
        links = LinksToOpen(kind, parent, most=most, is_portal=True, seen=seen, cut=cut)
        if not isinstance(source, Node):
            linked = open_linked_to_text(context, source, links)
            every += len(linked.opened) + len(linked.left) + len(linked.long)
        elif derived_type(kind) and kind != "mentioned_by":
            linked, number = open_derived(context, source, links)
            every += number
        else:
            linked = open_linked(context, source, links)
            every += links_counted(context.actor, source, kind) - linked.again
        opened, left = [*opened, *linked.opened], [*left, *linked.left]
        long += linked.long
    listed = f"list {_name(context, sources[0][0]).strip('[]')} {kind}"
    rest = LinkedWindows(opened, left, listed, long=tuple(long)).rest
    rest += _sizes(opened, kind, args.ref) if cut is None else ""
    named = numbered([window.number for window in opened])
    items = f"{len(opened)} item{'' if len(opened) == 1 else 's'}{f' as {named}' if named else ''}"
    limited = within_limit(context, opened)
    of = " ".join(_name(context, source) for source, _ in sources)
    more = every - len(opened) - len(left) - len(long)  # neither opened nor named
    unnamed = f"\n  … {more:,} more: → {listed}" if more > 0 else ""
    return Reply(
        f"✓ ▼ [{kind}] of {of} → {items}{rest}{unnamed}"
        f"{_again(context, opened)}{limited}{token_change(context)}",
        items=touched(*(source for source, _ in sources)),
        led_to=tuple(dict.fromkeys(item for window in opened for item in items_of_window(window))),
        link_type=kind,
    )


def _cut_of(args: OpenLinkedArgs) -> Slice | None:
    """The lines of each item that are shown; None for all. INVALID_SYNTAX for two cuts, and for one
    of what is shown in place."""
    if args.head is not None and args.tail is not None:
        raise CommandError(
            "INVALID_SYNTAX", "head: and tail: are two cuts.", hint="give one of them"
        )
    if args.inline and (args.head is not None or args.tail is not None):
        raise CommandError(
            "INVALID_SYNTAX",
            "head: and tail: cut what windows show; inline shows the beginning of each text.",
            hint="leave out inline, or the cut",
        )
    if args.head is not None:
        return Slice("head", last=args.head)
    return Slice("tail", last=args.tail) if args.tail is not None else None


def _sizes(opened: Sequence[Window], kind: str, ref: Ref | None) -> str:
    """Which windows show very many lines, and the line that would have shown the first ones."""
    long = [window for window in opened if window.last - window.first + 1 > LARGE]
    if not long:
        return ""
    sizes = " ".join(f"#{window.number} {window.last - window.first + 1:,}" for window in long)
    of = f" of {print_ref(ref)}" if ref is not None else ""
    return f"\n  lines: {sizes}; → expand {kind}{of} head:{LARGE} opens the first ones"


class PortalOf(Args):
    """The type of a portal that a text has, the node or document with the text, and what the portal
    names, as it is written there."""

    type: Annotated[str, Written("type")]
    ref: Annotated[RefField | None, Written("ref", lead="of")] = None
    to: Annotated[str, Written("option", key="to", value="quoted")]
    inline: Annotated[bool, Written("flag")] = False


@_expands_links
def expand_portal(context: Context, args: PortalOf) -> Reply:
    """Opens what a portal in a text names (`@[supports -> a7x2]`: `expand supports of REF
    to:"a7x2"`), in windows; `inline` shows it in place instead."""
    kind = EMBED if args.type.lower() == EMBED else link_type(context.actor, args.type)
    source, parent = _sources(context, args.ref)[0]
    targets = targets_of(args.to)
    text = source.text if isinstance(source, Node) else grove_texts().part_of(source).text
    written = {portal.targets: portal for portal in portals_in(text) if portal.type == kind}
    of = _name(context, source)
    if targets not in written:
        raise not_found(
            f"A portal [{kind}] to {args.to[:80]} in {of}", f"→ view {of.strip('[]')} full"
        )
    ends = items_named(context.actor, context.tree, targets)
    led_to = tuple(dict.fromkeys(end.item for end in ends if end.item))
    head = f"✓ ▼ [{kind}] of {of} → {counted(len(led_to), 'item')}"
    left = written[targets].left
    context.note_read(*led_to)
    if args.inline:
        many = len(ends) + len(left)
        shown = as_lines(opened_portal(context.actor, context.tree, kind, ends, many))
        reply = "\n".join([head, *(f"  {line}" for line in shown)]) + _beyond(left)
        return Reply(reply, items=touched(source), led_to=led_to, link_type=kind)
    windows: list[Window] = []
    long: list[tuple[str, int]] = []
    for end in ends:
        source_of_end, lines = source_and_lines(context, end)
        if source_of_end is None or not source_of_end.text:
            continue
        if is_long(source_of_end, lines):
            long.append((named(end.written), lines.last))
        else:
            windows.append(_window_on(context, source_of_end, lines, kind, parent))
    gone = " ".join(named(end.written) for end in ends if not end.item)
    named_ = numbered([window.number for window in windows])
    return Reply(
        f"{head}{f' as {named_}' if named_ else ''}"
        + (f"\n  unavailable: {gone}" if gone else "")
        + too_long(long)
        + _beyond(left)
        + within_limit(context, windows)
        + token_change(context),
        items=touched(source),
        led_to=led_to,
        link_type=kind,
    )


def _beyond(left: Sequence[str]) -> str:
    """What a portal names beyond the most that one opens, and the line that opens one of them."""
    if not left:
        return ""
    names = " ".join(map(named, left))
    return (
        f"\n  not opened: {names}; a portal opens at most {MOST_TARGETS}, "
        f"the other {len(left)} one by one: → open {left[0]}"
    )


def _window_on(
    context: Context, source: WindowSource, lines: Lines, kind: str, parent: int
) -> Window:
    """The window on the lines that a portal names."""
    demand_depth(context, parent, kind)
    window = place_window(context, source, lines)
    if window._state.adding and window.number != parent:
        window.via, window.parent_number = kind, parent
    return window


def _inline(context: Context, kind: str, sources: Sequence[Source], most: int) -> Reply:
    """A portal that is opened in place: its items are in the answer, as a terminal shows them."""
    opened: list[int] = []
    seen: set[int] = set()
    every = 0
    for source in sources:
        if isinstance(source, Node):
            ends = items_linked(context.actor, source, kind, context.workspace, most=most)
            many = links_counted(context.actor, source, kind)
        else:
            ends = grove_texts().linked_items(context.actor, source, kind, context.tree)
            many = len(ends)
        firsts = each_once(ends, seen, item=lambda end: end)
        every += many - len(ends) + len(firsts)
        opened += firsts[: most - len(opened)]
    of = " ".join(_name(context, source) for source in sources)
    items = [NamedItem(item) for item in opened]
    many = max(every, len(opened))
    shown = as_lines(opened_portal(context.actor, context.tree, kind, items, many))
    context.note_read(*opened)
    return Reply(
        "\n".join(
            [
                f"✓ ▼ [{kind}] of {of} → {counted(len(opened), 'item')}",
                *(f"  {line}" for line in shown),
            ]
        ),
        items=touched(*sources),
        led_to=tuple(dict.fromkeys(opened)),
        link_type=kind,
    )


# What links are followed from: nodes and texts of the grove.


def _name(context: Context, source: Source) -> str:
    """`[a7x2]` or `doc:"name"`."""
    if isinstance(source, Node):
        return f"[{lookup.node_ref(source, context.tree.pk)}]"
    return print_ref(Ref("document", name=source.title))


def _with_type(sources: list[tuple[Source, int]], kind: str) -> list[tuple[Source, int]]:
    """Those of the sources that may have links of the type. INVALID_SYNTAX if none of them may:
    only nodes have most of the derived types."""
    is_of_nodes = derived_type(kind) and kind not in OF_TEXTS
    fit = [(source, at) for source, at in sources if isinstance(source, Node) or not is_of_nodes]
    if not fit:
        raise not_of_texts(kind)
    return fit


def _sources(context: Context, ref: Ref | None) -> list[tuple[Source, int]]:
    """The nodes and texts whose links are followed, each with the number of the window that shows
    it, or 0."""
    if ref is not None and ref.kind == "focus":
        opened = [window for window in held(context) if window.via]
        last = max((window.shown_step for window in opened), default=0)
        shown = [window for window in opened if window.shown_step == last]
        texts = grove_texts().seen(
            context.actor, context.tree, [window.item_id or 0 for window in shown]
        )
        every: dict[int, tuple[Source, int]] = {}
        for window in shown:
            source = texts.get(window.item_id or 0) or node_of(window)
            if source is not None:
                every.setdefault(item_of(source), (source, window.number))
        if not every:
            raise not_found("focus", "→ expand TYPE of REF opens what is linked")
        return list(every.values())
    return [_source(context, ref)]


def _source(context: Context, ref: Ref | None) -> tuple[Source, int]:
    """The node or text that a ref, or the window it names, shows, and the number of its window, or
    0. INVALID_SYNTAX for a part."""
    text: GroveText | None = None
    if ref is not None and ref.kind == "window":
        window = get_window(context, int(ref.id))
        text = text_of_window(context, window) if window.kind == "document" else None
        return text if text is not None else get_node(context, ref), window.number
    if ref is not None and ref.kind == "document":
        demand(context.actor, {READ_DOCUMENTS}, "following the links of a document")
        whole = print_ref(replace(ref, slice=None))
        demand_whole(ref, "links are of whole items.", f"list {whole}")
        text = grove_texts().get(context, ref)
    source: Source = text if text is not None else get_node(context, ref)
    item = item_of(source)
    own = (window.number for window in held(context) if window.item_id == item)
    return source, min(own, default=0)


describe_verb(
    Verb(
        "collapse",
        is_harmless=True,
        swaps=(
            ("everything", "all"),
            ("all windows", "all"),
            ("all of them", "all"),
        ),
    )
)


@command("collapse", group="Move", klass="look ✓", permissions={LOOM}, stream="workspace")
def collapse(context: Context, args: Branch) -> Reply:
    """Folds a branch of the outline, and remembers what was open below it; `collapse #4` hides
    the windows that were opened from that window, until it is expanded again."""
    if args.ref.kind == "window":
        return _collapsed(context, _nested(context, [int(args.ref.id)]), f"#{args.ref.id}")
    node, _ = _twig(context, args.ref)
    fold(context, node)
    return Reply(f"✓ ▶ [{node.local_id}]{unfolding(context)}", items=touched(node))


class LinkedOf(Args):
    """A link type, and the node or document."""

    type: Annotated[str, Written("type")]
    ref: Annotated[RefField, Written("ref", lead="of")]


@command("collapse", group="Move", klass="look ✓", permissions={LOOM}, stream="workspace")
def collapse_type(context: Context, args: LinkedOf) -> Reply:
    """Hides the windows that an expand of this type opened, and those opened from them, until it
    is expanded again."""
    kind = derived_type(args.type) or link_type(context.actor, args.type)
    source, _ = _source(context, args.ref)
    item = item_of(source)
    steps = context.workspace.steps.filter(link_type=kind, outcome="ok")
    of_item = steps.filter(touched__item=item, touched__led_to=False)
    seqs = set(of_item.values_list("seq", flat=True))
    shown = {window.number for window in held(context) if window.item_id == item}
    windows = [
        window
        for window in held(context)
        if (window.shown_step in seqs and window.number not in shown)
        or (window.via == kind and window.parent_number in shown)
    ]
    windows += _nested(context, [window.number for window in windows])
    name = f"[{kind}] of {_name(context, source)}"
    return _collapsed(context, windows, name)


def _nested(context: Context, numbers: Sequence[int]) -> list[Window]:
    """The visible windows that were opened from these, directly or indirectly."""
    windows: list[Window] = []
    wanted = set(numbers)
    while more := [
        window
        for window in held(context)
        if window.parent_number in wanted and window not in windows
    ]:
        windows += more
        wanted = {window.number for window in more}
    return windows


def _collapsed(context: Context, windows: Sequence[Window], name: str) -> Reply:
    every = {window.number: window for window in windows}
    if not every:
        raise not_found("A window for this", "→ memory windows lists what is open")
    for window in every.values():
        collapse_window(context, window)
    items = tuple(
        dict.fromkeys(item for window in every.values() for item in items_of_window(window))
    )
    hidden = f"hidden {numbered(sorted(every))}"
    return Reply(f"✓ ▶ {name}\n  {hidden}{token_change(context)}", items=items)


def fold(context: Context, node: Node) -> None:
    """Folds what is below a node in the outline."""
    before, name = outline_after(context), str(node.slot.local_id)
    opened = [uid for uid in before["expanded"] if uid != name]
    collapsed = [*(uid for uid in before["collapsed"] if uid != name), name]
    changed = {"expanded": opened, "collapsed": collapsed[-MOST_EXPANDED:]}
    context.add(OutlineChanged({**before, **changed}))


class Everything(Args):
    """All branches."""

    all: Annotated[str, Written("word", lead="all")]


@command("collapse", group="Move", klass="look ✓", permissions={LOOM}, stream="workspace")
def collapse_all(context: Context, args: Everything) -> Reply:
    """Folds the whole outline, except the way to your position."""
    nothing = {"depth": 0, "expanded": [], "collapsed": [], "found": []}
    context.add(OutlineChanged({**outline_of(context.workspace), **nothing}))
    return Reply(f"✓ ▶ all{unfolding(context)}")


def unfolding(context: Context) -> str:
    """`\n  +40 tokens · outline 212 tokens`: what a line has changed of the outline."""
    before, now = (
        count(outline_text(context.actor, context.workspace, state))
        for state in (None, outline_after(context))
    )
    return f"\n  {now - before:+,} tokens · outline {now:,} tokens"


def _twig(context: Context, ref: Ref) -> tuple[Node, int]:
    """A node that the outline can show, as the first version of its slot, and the number of its
    continuations."""
    node = get_own_node(context, ref)
    if node.kind != "text":
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is not a text.", hint="the outline is of texts"
        )
    demand_visible(node)
    return node, count_directly_below(node.slot_id)


class Back(Args):
    """The number of moves."""

    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MOST_BACK)] = 1


describe_verb(
    Verb(
        "back",
        is_harmless=True,
        phrases=(Phrases("go back|step back|move back|go backwards"),),
        dropped=("step steps times"),
    )
)


@command("back", group="Move", klass="look ✓", permissions={LOOM}, stream="workspace")
def back(context: Context, args: Back) -> Reply:
    """Goes back before your last moves: returns to where you switched from, and closes what you
    expanded."""
    moves = _moves(context, args.n)
    if not moves:
        raise CommandError(
            "REJECTED", "There is no move to take back.", hint="→ switch to REF moves you"
        )
    to: Node | None = None
    undone: list[str] = []
    for step in moves:
        if registry.is_line_of(step.canonical, switch):
            to = _before(context, step) or to
        else:
            undone.append(_taken_back(context, step))
    at = to if to is not None else context.here
    if to is not None:
        demand_visible(to)
        context.add(Moved(to))
        if Node.objects.filter(slot=to.slot_id).exclude(pk=to.pk).exists():
            context.add(VersionChosen(to))
    more = "".join(f"\n  ▶ {line}" for line in undone if line)
    shown = lookup.node_ref(at, context.tree.pk)
    return Reply(
        f"✓ back to [{shown}]{more}{token_change(context)}", refs=(shown,), items=touched(at)
    )


def _taken_back(context: Context, step: Step) -> str:
    """Folds what a line expanded in the outline, or closes the windows that it opened; says
    which."""
    if step.link_type:
        opened = [
            window for window in held(context) if window.via and window.shown_step == step.seq
        ]
        for window in opened:
            close_window(context, window)
        return f"closed {numbered([window.number for window in opened])}" if opened else ""
    for key in filter(None, map(item_ids.node_id, items_of([step])[step.pk])):
        node = lookup.by_id(key)
        fold(context, node)
        return f"[{node.local_id}]"
    return ""


def _moves(context: Context, most: int) -> list[Step]:
    """The last moves that were not undone by `back`, newest first."""
    rows = context.workspace.steps.filter(outcome="ok").order_by("-seq")
    skip, nodes = 0, []
    for step in rows[:RECENT]:
        if registry.is_line_of(step.canonical, back):
            skip += int(step.canonical.partition("n:")[2].partition(" ")[0] or 1)
        elif not registry.is_line_of(step.canonical, switch, expand):
            continue
        elif skip:
            skip -= 1
        else:
            nodes.append(step)
        if len(nodes) == most:
            break
    return nodes


def _before(context: Context, step: Step) -> Node | None:
    """The position at which a line was given: where an earlier move led, in any tree, or a node of
    this tree."""
    moves = context.workspace.steps.filter(outcome="ok", seq__lt=step.seq)
    moves = moves.filter(registry.steps_of(switch)).order_by("-seq")
    for items in items_of(list(moves[:1])).values():
        for key in filter(None, map(item_ids.node_id, items)):
            node = lookup.by_id(key)
            if node.local_id == step.position:
                return node if may_reach(context.actor, node.tree_id, here=context.tree) else None
    return lookup.find_node(context.tree, step.position)
