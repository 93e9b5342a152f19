"""Windows of a workspace: their rows, what they are called, and the versions of texts they show."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from django.db.models import QuerySet

from loom.access import Actor, closed_steps, may_reach
from loom.language import ids
from loom.language.refs import label_named, quote, tree_named
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.grove_texts import WindowSource, grove_texts, is_text
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import fetch, listed
from loom.workspace.models import Window
from loom.workspace.queries.shown_windows import led_from
from loom.workspace.window_rules import MOST_NODES, SETTINGS, Lines
from loom.workspace.window_rules import followed as following

WITHHELD = "(excluded or pruned: models are not sent its text)"
LOST = "a text that is gone"
LENSES = ("node", "search", "document")  # kinds of windows that show lines of one text
STRETCHES = ("branch", "range")
HEADS = ("head:", "tail:")  # slices that are read-only


def by_number(rows: Iterable[Window]) -> list[Window]:
    """The windows in the order of their numbers."""
    return sorted(rows, key=lambda row: row.number)


def stashed(workspace: Workspace) -> QuerySet[Window]:
    """The stashes that were not dropped, by number."""
    rows = Window.objects.filter(workspace=workspace.pk, kind="stash", is_closed=False)
    return rows.select_related("item").order_by("number")


def lines_of(window: Window) -> Lines:
    """The lines of its node that a window shows."""
    return Lines(window.first, window.last)


def is_lens(window: Window) -> bool:
    """Whether a window shows lines of a text as they are: no two of these show the same line."""
    return window.kind in LENSES and not window.form


def is_fixed(window: Window) -> bool:
    """Whether the window is read-only because it shows the first or last lines of a text."""
    return window.place.startswith(HEADS)


def source_of(node: Node) -> WindowSource:
    """A node as the source of windows."""
    return WindowSource(ids.of_node(node.pk), node.hash, node.text)


def seen_by(window: Window) -> WindowSource | None:
    """The version whose lines a window shows; None if it shows none or that is gone."""
    item = window.item_id or 0
    if window.kind not in LENSES or not item:
        return None
    if is_text(item):
        return grove_texts().source(item, window.version_seen)
    node = lookup.rows().filter(pk=item).first()
    return source_of(node) if node is not None else None


def newest_for(workspace: Workspace, source: WindowSource) -> WindowSource:
    """The current version of the same text in a workspace."""
    if is_text(source.item):
        whole = grove_texts().whole(source.item)
        return source if whole is None else whole.source
    slot = lookup.by_id(source.item).slot_id
    current = lookup.selected_version(slot, workspace)
    return source_of(current) if current is not None else source


def settings_of(workspace: Workspace) -> dict[str, Any]:
    """The settings of windows: those of the workspace, otherwise of its grove. Without a limit (0)
    STATUS only warns; `evict` is "lru" or nothing. Also the truncation for the requests of its
    participant: their choice, otherwise the tree's."""
    of_grove = workspace.tree.grove.settings
    own = {name: of_grove.get(name, value) for name, value in SETTINGS.items()}
    return {**own, "truncation": workspace.tree.truncation, **workspace.settings}


def parents_of(workspace: Workspace, number: int, also: Iterable[Window] = ()) -> dict[int, int]:
    """The chain of windows from which the one with that number was opened, up to a closed one, by
    their numbers; `also` are windows that are not stored yet. One query, which reads only these
    rows."""
    opened = {row.number: row.parent_number for row in also if row.parent_number}
    seeds = f"""w.workspace_id = %s AND w.number IN ({listed({number, *opened.values()})})
        AND w.parent_number > 0 AND NOT w.is_closed"""
    rows = fetch(led_from(seeds, "NOT w.is_closed"), [workspace.pk])
    return {**{row[1]: row[2] for row in rows}, **opened}


# -- names of windows


def named(lines: Lines) -> str:
    """`lines 3–9`, `line 1`."""
    if lines.first == lines.last:
        return f"line {lines.first}"
    return f"lines {lines.first}–{lines.last}"


def ref_of(window: Window, here: Tree, node: Node | None, start: str = "") -> str:
    """`[a7x2] §motive`, `branch:b3k9`, `r2d4-a7x2`, `tree:"title"`, `stash "label"`, `view a7x2`:
    what a window shows, without its number and lines."""
    if window.kind == "stash":
        return f"stash {label_named(window.label)}"
    if window.kind == "result":
        line = window.step.canonical if window.step else ""
        return line.removeprefix("→").strip().partition("\n")[0]
    if window.kind == "document":
        title = next(iter(grove_texts().titles([window.item_id or 0]).values()), None)
        return LOST if title is None else title_of(title, window)
    if node is None:
        return LOST
    ref = lookup.node_ref(node, here.pk)
    if window.kind == "tree":
        return tree_named(node.tree.title)
    if window.kind == "branch":
        return f"branch:{ref}" if " " not in ref else ref.replace("node:", "branch:")
    if window.kind == "range":
        return f"{start}-{node.local_id}"
    place = f" {window.place}" if window.place else ""
    return f"[{ref}]{place}{' as:diff' if window.form == 'diff' else ''}"


def title_of(title: str, window: Window) -> str:
    """`doc:"notes" §motive`."""
    place = f" {window.place}" if window.place else ""
    return f"doc:{quote(title)}{place}{' as:diff' if window.form == 'diff' else ''}"


def name_of(actor: Actor, window: Window, here: Tree) -> str:
    """`[a7x2] lines 1–3`, `view a7x2`: the same with the lines of a node, as it is stored; of what
    the actor may not read any more no title. At most three queries."""
    if window.kind == "document":
        seen = grove_texts().seen(actor, here, [window.item_id or 0])
        titles = [
            with_lines(window, title_of(document.title, window)) for document in seen.values()
        ]
        return titles[0] if titles else LOST
    if window.kind in ("stash", "result"):
        return ref_of(window, here, None)
    keys = [ids.node_id(window.item_id or 0) or 0, *window.nodes[:1]]
    rows = lookup.rows().filter(pk__in=keys, tree__erasing_at__isnull=True)
    nodes_by_key = {row.pk: row for row in rows if may_reach(actor, row.tree_id, here=here)}
    return with_lines(
        window, ref_of(window, here, nodes_by_key.get(keys[0]), first_of(window, nodes_by_key))
    )


def hidden_names(
    actor: Actor, workspace: Workspace, turn: str, most: int
) -> tuple[tuple[int, str], ...]:
    """(number, what it shows) of the `most` newest hidden windows and results, without the results
    of a turn (its uid), oldest first. What the actor may not see is only named by its kind. At most
    seven queries."""
    if not workspace.pk:
        return ()
    windows = _hidden(most).all(workspace=workspace.pk, turn=turn)
    if not windows:
        return ()
    keys = {key for window in windows if (key := ids.node_id(window.item_id or 0)) is not None}
    nodes = dict(
        lookup.nodes_in(workspace.tree_id).filter(pk__in=keys).values_list("pk", "local_id")
        if keys
        else ()
    )
    held = {window.item_id or 0 for window in windows if window.kind == "document"}
    seen = grove_texts().seen(actor, workspace.tree, held)
    titles = {item: document.title for item, document in seen.items()}
    closed = closed_steps(actor, [window.step for window in windows if window.step is not None])
    return tuple(
        (window.number, window.kind if window.step_id in closed else _named(window, nodes, titles))
        for window in reversed(windows)
    )


@cache
def _hidden(most: int) -> PreparedQuery[Window]:
    return PreparedQuery(
        lambda: (
            Window.objects.filter(workspace=Given("workspace"), is_closed=False, is_visible=False)
            .exclude(kind="stash")
            .exclude(kind="result", turn_uid=Given("turn"))
            .select_related("step")
            .order_by("-number")[:most]
        )
    )


def _named(window: Window, nodes: dict[int, str], titles: dict[int, str]) -> str:
    key = ids.node_id(window.item_id or 0) or 0
    if window.kind == "result":
        line = window.step.canonical if window.step else ""
        return line.removeprefix("→").strip().partition("\n")[0]
    if window.kind == "document" and (window.item_id or 0) in titles:
        return with_lines(window, title_of(titles[window.item_id or 0], window))
    if window.kind in LENSES and key in nodes:
        return with_lines(window, f"[{nodes[key]}]{f' {window.place}' if window.place else ''}")
    return f"{window.kind} {nodes[key]}" if key in nodes else window.kind


def opened_by(window: Window, here: Tree) -> str:
    """`a7x2 lines:3-9`: the arguments of the line that opens the window."""
    if window.kind == "document":
        ref = ref_of(window, here, None)
    else:
        ref = lookup.node_ref(lookup.by_id(window.item_id or 0), here.pk)
    lines = f" lines:{window.first}-{window.last}" if window.last > 1 else ""
    return ref + lines


def first_of(window: Window, nodes: dict[int, Node]) -> str:
    """The id of the first node of a range."""
    first = nodes.get(window.nodes[0]) if window.nodes else None
    return first.local_id if first is not None else "…"


def with_lines(window: Window, ref: str, lines: Lines | None = None) -> str:
    """The name of a window with the lines of its text, if it has any."""
    if not is_lens(window) or not ref.startswith(("[", "doc:")):
        return ref
    return f"{ref} {named(lines or lines_of(window))}"


def followed(seen: WindowSource, newer: WindowSource, lines: Lines) -> Lines:
    """Where lines of a version are in a newer one."""
    return lines if seen == newer else following(seen.text, newer.text, lines)


def range_of(actor: Actor, workspace: Workspace, last: Node, first: Node | None) -> list[int]:
    """The row ids of the nodes with a text from `first` (None: from the root) to `last`, at most
    MOST_NODES, the last ones; empty if `first` is not above `last`."""
    path = lookup.path_of(actor, last.tree, workspace, last)
    slots = [row.slot_id for row in path]
    if first is not None and first.slot_id not in slots:
        return []
    start = slots.index(first.slot_id) if first is not None else 0
    return [row.id for row in path[start:] if row.text][-MOST_NODES:]


# -- augments: documents that are loaded into a prompt, with all that they require. What an augment
# requires is read from its front matter each time: a document can be changed at any time, so a
# requirement that is gone or circular is left out and reported.


def visible(workspace: Workspace) -> QuerySet[Window]:
    """The visible windows, in no order: there are few of them."""
    rows = Window.objects.filter(workspace=workspace.pk, is_visible=True)
    return rows.select_related("item", "step").order_by()
