"""What windows show to the actor: their lines, and what has changed since."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from loom import access
from loom.access import CLOSED, Actor
from loom.engine.answers import messages_of
from loom.engine.steps import items_of
from loom.language import ids
from loom.language.refs import quote
from loom.people.names import as_sent
from loom.permissions import CROSS_TREE
from loom.text import quotations
from loom.text.hashes import instant
from loom.text.shortening import excerpt
from loom.text.tokens import count
from loom.text.unified_diff import unified_diff
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.item_names import erased_among
from loom.trees.queries.lookup import fetch, listed
from loom.trees.queries.outline import drawn, outline
from loom.workspace.models import Window
from loom.workspace.queries.shown_windows import window_brief
from loom.workspace.queries.windows import (
    LENSES,
    LOST,
    STRETCHES,
    WITHHELD,
    by_number,
    first_of,
    followed,
    is_fixed,
    is_lens,
    lines_of,
    ref_of,
    source_of,
    visible,
    with_lines,
)
from loom.workspace.window_rules import Lines, WindowLine, owned, rows_of, total_of

MOST_HIDDEN = 100  # hidden windows in a list, the newest ones
SAME = "(no change)"
EMPTY = "(nothing is left of these lines)"
TREE_DEPTH = 2
TREE_LINES = 60


class WindowContent(NamedTuple):
    """A window with what it shows to somebody. `rows` are its lines; if they may not see it, one
    sentence in brackets, and it is not `is_open`. `node` is the version that is shown, the
    `revision`th of its slot, and `lines` are those of its `total`. `current` is the local id of
    the current version if that is another one; `is_stale`: what it shows has changed since.
    `document` is the uid of its document, and `changes` the last changes of it, newest first.
    `whole` is the text that the lines belong to."""

    window: Window
    ref: str
    name: str
    rows: tuple[WindowLine, ...]
    is_open: bool = True
    is_stale: bool = False
    current: str = ""
    revision: int = 0
    lines: Lines | None = None
    total: int = 0
    node: Node | None = None
    document: str = ""
    changes: tuple[str, ...] = ()
    whole: str = ""

    @property
    def text(self) -> str:
        """The lines that belong to the window, without padding."""
        return "\n".join(owned(self.rows))

    @property
    def tokens(self) -> int:
        """How many tokens its lines have."""
        return count("\n".join(row.text for row in self.rows))

    @property
    def size(self) -> int:
        """The number of those lines."""
        return sum(not row.is_around for row in self.rows)


def notes_of(window: Window) -> tuple[str, ...]:
    """The settings and origin of a window: `● 0.81 "query"`, `live`, `via supports from #2`."""
    from_ = f" from #{window.parent_number}" if window.parent_number else ""
    notes = (
        f'● {window.score or 0:.2f} "{window.query}"' if window.query else "",
        "live" if window.is_live else "",
        f"via {window.via}{from_}" if window.via else "",
    )
    return tuple(note for note in notes if note)


def staleness(shown: WindowContent) -> str:
    """`stale, now [k2m9]`, `stale`; nothing if what is shown is current."""
    if not shown.is_stale:
        return ""
    name = f"[{shown.current}]" if shown.node is not None else shown.current
    return f"stale, now {name}" if shown.current else "stale"


def facts_of(shown: WindowContent) -> dict[str, Any]:
    """What the frame of a window says in addition to its lines, named as the fields of a section's
    Pane."""
    window, lines = shown.window, shown.lines
    return {
        "number": window.number,
        "name": shown.ref,
        "kind": window.kind,
        "span": (lines.first, lines.last) if lines and lines.last >= lines.first else None,
        "total": shown.total,
        "revision": shown.revision,
        "notes": notes_of(window),
        "is_kept": window.is_kept,
        "stale": staleness(shown),
        "label": window.label if window.kind != "stash" else "",
        "changes": shown.changes,
    }


Shows = Callable[[Actor, Sequence[Window]], Mapping[int, WindowContent]]
_SHOWS: dict[str, Shows] = {}
_NEWEST: dict[str, Callable[[Window], str]] = {}


def shows(kind: str, *, newest: Callable[[Window], str] | None = None) -> Callable[[Shows], Shows]:
    """Registers what windows of a kind that another feature has show to the actor, by their
    numbers; none for a window whose text is gone. All are read at once, and what the actor may not
    see is left out afterwards. `newest`: the version that such a window is brought to, if it shows
    no lines of one text."""

    def register(show: Shows) -> Shows:
        _SHOWS[kind] = show
        if newest is not None:
            _NEWEST[kind] = newest
        return show

    return register


def newest_version(window: Window) -> str:
    """The version to which a window is brought that shows no lines of one text but what another
    feature registered; "" for all others."""
    newest = _NEWEST.get(window.kind)
    return newest(window) if newest is not None else ""


def is_of_own_kind(window: Window) -> bool:
    """Whether a window shows what a feature puts together, rather than lines of one text."""
    return window.kind in _NEWEST


@dataclass
class _Read:
    """What was read for several windows at once: nodes by id, the selected version of their slots,
    how many versions come before each, and what the actor may not see."""

    nodes: dict[int, Node]
    selected: dict[int, tuple[int, str]]
    revisions: dict[int, int]
    gone: set[int]


class _Held(NamedTuple):
    """Which lines of which versions (row ids) visible windows hold, with the numbers of these."""

    lines: dict[int, list[tuple[int, Lines]]]

    def add(self, shown: WindowContent) -> None:
        """Notes the lines of a window on one text."""
        if shown.is_open and shown.node is not None and shown.lines is not None:
            self.add_lines(shown.window, shown.node, shown.lines)

    def add_lines(self, window: Window, node: Node, lines: Lines) -> None:
        """Notes lines of a text that a window holds."""
        if window.is_visible:
            self.lines.setdefault(node.pk, []).append((window.number, lines))


def contents_of(actor: Actor, workspace: Workspace, rows: Iterable[Window]) -> list[WindowContent]:
    """What the windows show to the actor, by number. The number of queries does not depend on how
    many windows there are, except that a live branch and a tree each need some of their own."""
    windows = by_number(rows)
    if not windows:
        return []
    steps = [window.step for window in windows if window.step is not None]
    touched = items_of(steps)
    items = {window.number: _items(window, touched) for window in windows}
    every = set().union(*items.values())
    homes = {ids.home_of(item) for item in every}
    # Most windows read nothing of another tree.
    is_own = homes <= {0, workspace.tree_id}
    closed = set() if is_own else access.closed_steps(actor, steps, touched)
    reached = _reached(actor, workspace, homes) | {0}
    erased = erased_among(homes - reached) if homes - reached else set()
    documents = grove_texts().seen(actor, workspace.tree, every)
    read = _read(actor, workspace, windows, every)
    of_kind = {
        kind: show(actor, some)
        for kind, show in _SHOWS.items()
        if (some := [window for window in windows if window.kind == kind])
    }
    answers = messages_of(steps)
    shown: list[WindowContent] = []
    held = _Held({})
    # What holds several texts comes last: it leaves out the lines that others hold.
    for window in sorted(windows, key=lambda window: window.kind in STRETCHES):
        read_from = {ids.home_of(item) for item in items[window.number]}
        is_read = all(item in documents for item in items[window.number] if item < 0)
        if read_from & erased:
            shown.append(_closed(window, quotations.GONE))
        elif window.step_id in closed or not read_from <= reached or not is_read:
            shown.append(_closed(window))
        elif window.kind in _SHOWS:
            shown.append(of_kind[window.kind].get(window.number) or _closed(window))
        elif window.kind in LENSES:
            shown.append(_of_node(workspace, window, read))
        elif window.kind in ("result", "stash"):
            text = WITHHELD if items[window.number] & read.gone else _kept(window, answers)
            ref = ref_of(window, workspace.tree, None)
            shown.append(WindowContent(window, ref, ref, _plain(text)))
        else:
            shown.append(_of_several(actor, workspace, window, read, held))
        held.add(shown[-1])
    return sorted(shown, key=lambda content: content.window.number)


def _closed(window: Window, words: str = CLOSED) -> WindowContent:
    """A window whose contents the actor may not see, or that are gone."""
    name = window.kind if window.kind in ("stash", "result") else LOST
    return WindowContent(window, name, name, (WindowLine(0, words),), is_open=False)


def _plain(text: str) -> tuple[WindowLine, ...]:
    return tuple(WindowLine(0, line) for line in text.split("\n"))


def _kept(window: Window, answers: dict[int, str]) -> str:
    return window.text if window.kind == "stash" else answers.get(window.step_id or 0, "")


def _items(window: Window, touched: dict[int, list[int]]) -> set[int]:
    """The items that a window shows, or that its line touched."""
    own = [window.item_id] if window.item_id is not None else []
    return {*touched.get(window.step_id or 0, ()), *own, *map(ids.of_node, window.nodes)}


def _reached(actor: Actor, workspace: Workspace, trees: set[int]) -> set[int]:
    """Those of the trees that the actor may read from the workspace's tree."""
    others = trees - {workspace.tree_id}
    if not others or CROSS_TREE not in actor.permissions:
        return {workspace.tree_id}
    seen = access.trees_for(actor).filter(pk__in=others).values_list("pk", flat=True)
    return {workspace.tree_id, *seen}


def _read(actor: Actor, workspace: Workspace, windows: list[Window], items: set[int]) -> _Read:
    """At most six queries."""
    own = {key for window in windows if (key := ids.node_id(window.item_id or 0)) is not None}
    several = {key for window in windows for key in window.nodes}
    nodes = _nodes(own | several)
    slots = {node.slot_id for node in nodes.values()}
    selected = lookup.selected_versions(slots, workspace) if slots else {}
    more: set[int] = set()
    for window in windows:
        node = nodes.get(window.item_id or 0)
        if node is not None and window.kind in LENSES and (window.is_live or window.form == "diff"):
            more |= {selected[node.slot_id][0], node.edited_from_id or node.pk}
    if more - nodes.keys():
        nodes |= _nodes(more - nodes.keys())
    keys = {key for item in items if (key := ids.node_id(item)) is not None} | more
    gone = lookup.withheld(actor, keys) if keys else set()
    return _Read(nodes, selected, _revisions(slots), gone)


def _nodes(keys: Iterable[int]) -> dict[int, Node]:
    named = set(keys)
    rows = lookup.rows().select_related("tree").filter(pk__in=named) if named else ()
    return {node.pk: node for node in rows}


def _revisions(slots: set[int]) -> dict[int, int]:
    """Which version of its slot each node is, from 1."""
    if not slots:
        return {}
    sql = f"SELECT slot_id, id FROM trees_node WHERE slot_id IN ({listed(slots)}) ORDER BY id"
    counted: dict[int, int] = dict.fromkeys(slots, 0)
    revisions = {}
    for slot, key in fetch(sql):
        counted[slot] += 1
        revisions[key] = counted[slot]
    return revisions


def _of_node(workspace: Workspace, window: Window, read: _Read) -> WindowContent:
    here = workspace.tree
    node = read.nodes.get(window.item_id or 0)
    if node is None:
        return _closed(window)
    key, current = read.selected[node.slot_id]
    is_stale = key != node.pk
    lines = lines_of(window)
    newest = read.nodes.get(key)
    if window.is_live and newest is not None and not window.form:
        lines = followed(source_of(node), source_of(newest), lines)
        node, is_stale = newest, False
    ref = ref_of(window, here, node)
    if node.pk in read.gone:
        rows: tuple[WindowLine, ...] = (WindowLine(0, WITHHELD),)
    elif window.form == "diff":
        rows = _difference(node, newest, read)
    else:
        rows = rows_of(node.text, lines, window.pad) if lines.last >= lines.first else ()
    shown = lens_content(window, ref, lines, rows, whole=node.text)
    return shown._replace(
        is_stale=is_stale,
        current=current if is_stale else "",
        revision=read.revisions.get(node.pk, 1),
        node=node,
    )


def lens_content(
    window: Window, ref: str, lines: Lines, rows: tuple[WindowLine, ...], *, whole: str
) -> WindowContent:
    """What a window on lines of one text shows; `whole` is that text. A window in another form,
    such as a difference, has no lines of it."""
    return WindowContent(
        window,
        ref,
        with_lines(window, ref, lines),
        rows or (WindowLine(0, EMPTY),),
        lines=None if window.form else lines,
        total=total_of(whole),
        whole=whole,
    )


def _difference(node: Node, newest: Node | None, read: _Read) -> tuple[WindowLine, ...]:
    """What has changed since the version that was seen; for the current version, the difference
    from the text that it was edited from."""
    old, new = node, newest
    if new is None or new.pk == node.pk:
        old, new = read.nodes.get(node.edited_from_id or 0, node), node
    if {old.pk, new.pk} & read.gone:
        return (WindowLine(0, WITHHELD),)
    return compared(old.text, new.text, old.local_id, new.local_id)


def compared(old: str, new: str, old_name: str, new_name: str) -> tuple[WindowLine, ...]:
    """The lines in which two texts differ, or that they do not."""
    lines = unified_diff(old.split("\n"), new.split("\n"), (old_name, new_name))
    return tuple(WindowLine(0, line) for line in lines) or (WindowLine(0, SAME),)


def _of_several(
    actor: Actor, workspace: Workspace, window: Window, read: _Read, held: _Held
) -> WindowContent:
    """A branch or a range, with a header before each text; or the outline of a tree."""
    node = read.nodes.get(window.item_id or 0)
    if node is None:
        return _closed(window)
    ref = ref_of(window, workspace.tree, node, first_of(window, read.nodes))
    if window.kind == "tree":
        rows = _outlined(actor, workspace, node)
        return WindowContent(window, ref, ref, rows, node=node)
    seen = [read.nodes[key] for key in window.nodes if key in read.nodes]
    now = [read.selected[version.slot_id][0] for version in seen]
    is_stale = now != [version.pk for version in seen]
    gone = read.gone
    if window.is_live and is_stale:
        seen, is_stale = nodes_of(now), False
        gone = gone | lookup.withheld(actor, now)
    if window.form == "prose":
        rows = tuple(_prose_rows(seen, gone))
    else:
        rows = tuple(_rows_of_range(window, seen, gone, held))
    return WindowContent(
        window, ref, ref, rows or (WindowLine(0, EMPTY),), is_stale=is_stale, node=node
    )


def nodes_of(keys: Sequence[int]) -> list[Node]:
    """Nodes in this order; one query."""
    rows_by_id = {row.pk: row for row in lookup.rows().filter(pk__in=keys)}
    return [rows_by_id[key] for key in keys if key in rows_by_id]


def _prose_rows(nodes: Sequence[Node], gone: set[int]) -> Iterable[WindowLine]:
    text = "".join(
        node.text
        for node in nodes
        if node.pk not in gone and (node.form != lookup.ASK or node.kind != "text")
    )
    return rows_of(text, Lines(1, total_of(text)))


def _rows_of_range(
    window: Window, nodes: Sequence[Node], gone: set[int], held: _Held
) -> Iterator[WindowLine]:
    """The texts one after the other, without the lines that other visible windows hold."""
    for node in nodes:
        yield WindowLine(0, f"[{node.local_id}] {as_sent(node.author.name)} ({node.author.kind})")
        if node.pk in gone:
            yield WindowLine(0, WITHHELD)
            continue
        whole = Lines(1, total_of(node.text))
        others = held.lines.get(node.pk, []) if window.is_visible else []
        yield from _rows_held_here(node.text, whole, others)
        held.add_lines(window, node, whole)


def _rows_held_here(
    text: str, whole: Lines, others: Sequence[tuple[int, Lines]]
) -> Iterable[WindowLine]:
    """The lines of a text, and in place of those that other windows hold where they are."""
    if not others:
        return rows_of(text, whole)
    rows: list[WindowLine] = []
    for row in rows_of(text, whole):
        at = Lines(row.number, row.number)
        holder = next((holder for holder in others if holder[1].overlaps(at)), None)
        shown = WindowLine(0, _elsewhere(*holder, whole)) if holder is not None else row
        if not rows or rows[-1] != shown or shown is row:
            rows.append(shown)
    return rows


def _elsewhere(number: int, lines: Lines, whole: Lines) -> str:
    if lines == whole:
        return f"(in #{number})"
    many = (
        f"lines {lines.first}–{lines.last}" if lines.last > lines.first else f"line {lines.first}"
    )
    return f"({many} in #{number})"


def _outlined(actor: Actor, workspace: Workspace, root: Node) -> tuple[WindowLine, ...]:
    tree_outline = outline(actor, root.tree, workspace, root, depth=TREE_DEPTH, limit=TREE_LINES)
    gone = lookup.withheld(actor, [line.row.id for line in tree_outline.lines])
    here = workspace.position.slot_id
    lines = drawn(
        tree_outline.lines, here, lambda row: "" if row.id in gone else excerpt(row.text, 8)
    )
    return tuple(WindowLine(0, line) for line in lines)


# -- windows over the API


def windows_of(actor: Actor, workspace: Workspace) -> list[dict[str, Any]]:
    """The bodies of the windows that are not closed."""
    return [window_body(window) for window in windows_shown(actor, workspace)]


def windows_shown(actor: Actor, workspace: Workspace) -> list[WindowContent]:
    """The windows that are not closed: all visible and the newest hidden ones; those with a chosen
    order come first."""
    rows = Window.objects.filter(workspace=workspace.pk, is_closed=False, is_visible=False)
    hidden = rows.select_related("item", "step").order_by("-number")[:MOST_HIDDEN]
    every = [*visible(workspace), *hidden]
    order = {number: at for at, number in enumerate(workspace.settings.get("order", ()))}
    contents = contents_of(actor, workspace, every)
    contents.sort(key=lambda content: order.get(content.window.number, len(order)))
    return contents


def _opens(shown: WindowContent) -> str:
    """The line that opens the same window in any tree; "" if there is none."""
    window, node = shown.window, shown.node
    if not shown.is_open or window.kind in ("result", "stash"):
        return ""
    home = f"tree:{node.tree.uid}" if node is not None else ""
    if window.query:
        where = home or shown.ref.partition(" §")[0]
        return f"find {quote(window.query)} in:{where} open"
    part = f" lines:{window.first}-{window.last}" if window.last and not window.form else ""
    if node is None and window.kind in LENSES:
        ref = shown.ref if window.place else f"{shown.ref}{part}"
    elif window.kind == "tree":
        ref = home
    elif is_of_own_kind(window) and node is not None:
        ref = f"{home} node:{node.local_id} {window.place}"
    elif window.kind == "node" and node is not None:
        ref = f"{home} node:{node.local_id}{part}"
    else:
        ref = shown.ref
    form = f" as:{window.form}" if window.form else ""
    how = f"{' live' if window.is_live else ''}{f' pad:{window.pad}' if window.pad else ''}"
    label = f" label:{quote(window.label)}" if window.label else ""
    return f"open {ref}{form} keep{how}{label}"


def window_body(shown: WindowContent) -> dict[str, Any]:
    """One window as the API shows it (docs/model.md §2.2)."""
    window = shown.window
    around = [row for row in shown.rows if row.is_around]
    first = shown.lines.first if shown.lines else 0
    return {
        **window_brief(window),
        "ref": shown.name,
        "label": window.label,
        "lines": [shown.lines.first, shown.lines.last] if shown.lines else None,
        "count": shown.size if shown.is_open else 0,
        "of": shown.total or None,
        "text": shown.text,
        "before": [row.text for row in around if row.number < first],
        "after": [row.text for row in around if row.number > first],
        "as": window.form or None,
        "live": window.is_live,
        "pad": window.pad,
        "read_only": is_fixed(window) or not (is_lens(window) or is_of_own_kind(window)),
        "query": window.query or None,
        "score": window.score,
        "via": window.via or None,
        "parent": window.parent_number or None,
        "open": shown.is_open,
        "opens": _opens(shown),
        "document": shown.document or None,
        "stale": shown.is_stale,
        "changes": list(shown.changes),
        "current": shown.current or None,
        "revision": shown.revision or None,
        "version_seen": window.version_seen,
        "opened_at": instant(window.opened_at),
    }
