"""Windows of a workspace, for the one who asks: what is open, and what each shows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import QuerySet

from loom import access
from loom.access import Actor
from loom.models import Node, Tree, Window, Workspace
from loom.queries import lookup
from loom.queries.links import documents_seen
from loom.queries.node_bodies import messages_of
from loom.rules import identity
from loom.rules.identity import instant
from loom.rules.permissions import CROSS_TREE
from loom.rules.windows import Lines, State

MOST_HIDDEN = 100  # that a list of windows shows, the newest ones
GONE = "(you may not see this any longer)"
WITHHELD = "(excluded or pruned: models are not sent its text)"


def visible(workspace: Workspace) -> QuerySet[Window]:
    """The visible windows, in no order: there are few of them."""
    rows = Window.objects.filter(workspace=workspace.pk, is_visible=True)
    return rows.select_related("item", "step").order_by()


def by_number(rows: Iterable[Window]) -> list[Window]:
    """The windows in the order of their numbers."""
    return sorted(rows, key=lambda one: one.number)


def stashed(workspace: Workspace) -> QuerySet[Window]:
    """The stashes that were not dropped, by number."""
    rows = Window.objects.filter(workspace=workspace.pk, kind="stash", is_closed=False)
    return rows.select_related("item").order_by("number")


def state_of(window: Window) -> State:
    """The state of a row."""
    return State(window.is_visible, window.is_kept, window.is_extended, window.is_closed)


def lines_of(window: Window) -> Lines:
    """The lines of its node that a window shows."""
    return Lines(window.first, window.last)


def brief(window: Window) -> dict[str, Any]:
    """A window as events name it."""
    return {
        "number": window.number,
        "kind": window.kind,
        "visible": window.is_visible,
        "keep": window.is_kept,
        "closed": window.is_closed,
    }


def name_of(window: Window, here: Tree, node: Node | None = None) -> str:
    """`[a7x2] lines 1–3`, `view a7x2`, `stash "label"`: without the number. A query where the
    node or step is not at hand."""
    if window.kind == "stash":
        return f'stash "{window.label}"'
    if window.kind == "result":
        said = window.step.canonical if window.step else ""
        return said.removeprefix("→").strip().partition("\n")[0]
    if node is None:
        key = identity.node_id(window.item_id or 0) or 0
        node = lookup.rows().filter(pk=key, tree__erasing_at__isnull=True).first()
    if node is None:
        return "a text that is gone"
    lines = f"lines {window.first}–{window.last}" if window.last > 1 else "line 1"
    return f"[{lookup.node_ref(node, here.pk)}] {lines}"


class Shown(NamedTuple):
    """A window with what it shows to somebody; `text` is a sentence in brackets where they may
    not see it. `current` is the local id of the current version where that is another one."""

    window: Window
    name: str
    text: str
    is_open: bool = True
    current: str = ""


def contents_of(actor: Actor, workspace: Workspace, rows: Iterable[Window]) -> list[Shown]:
    """What the windows show to the actor, by number. The number of queries does not depend on
    how many there are."""
    found = by_number(rows)
    steps = [one.step for one in found if one.step is not None]
    touched = access.items_of(steps)
    items = {one.pk: _items(one, touched) for one in found}
    every = set().union(*items.values())
    closed = access.closed_steps(actor, steps)
    reached = _reached(actor, workspace, {identity.home_of(item) for item in every}) | {0}
    papers = documents_seen(actor, workspace.tree, every)
    keys = {key for item in every if (key := identity.node_id(item)) is not None}
    gone = lookup.withheld(actor, keys) if keys else set()
    named = {key for one in found if (key := identity.node_id(one.item_id or 0)) is not None}
    nodes = {node.pk: node for node in lookup.rows().filter(pk__in=named)}
    slots = [node.slot_id for node in nodes.values()]
    chosen = lookup.selected_versions(slots, workspace) if slots else {}
    names = dict(
        Node.objects.filter(pk__in=[key for key, _ in chosen.values()]).values_list(
            "slot_id", "local_id"
        )
    )
    answers = messages_of(steps)
    shown = []
    for one in found:
        homes = {identity.home_of(item) for item in items[one.pk]}
        is_read = all(item in papers for item in items[one.pk] if item < 0)
        if one.step_id in closed or not homes <= reached or not is_read:
            shown.append(Shown(one, one.kind, GONE, is_open=False))
            continue
        node = nodes.get(one.item_id or 0)
        name = name_of(one, workspace.tree, node)
        text = WITHHELD if items[one.pk] & gone else _text(one, node, answers)
        current = names.get(node.slot_id, "") if node is not None else ""
        is_old = node is not None and current not in ("", node.local_id)
        shown.append(Shown(one, name, text, current=current if is_old else ""))
    return shown


def _items(window: Window, touched: dict[int, list[int]]) -> set[int]:
    """The items that a window shows, or that its line touched."""
    items = set(touched.get(window.step_id or 0, ()))
    return items | ({window.item_id} if window.item_id is not None else set())


def _reached(actor: Actor, workspace: Workspace, trees: set[int]) -> set[int]:
    """Those of the trees that the actor may read from the workspace's own."""
    others = trees - {workspace.tree_id}
    if not others or CROSS_TREE not in actor.permissions:
        return {workspace.tree_id}
    seen = access.trees_for(actor).filter(pk__in=others).values_list("pk", flat=True)
    return {workspace.tree_id, *seen}


def _text(window: Window, node: Node | None, answers: dict[int, str]) -> str:
    if window.kind == "stash":
        return window.text
    if window.kind == "result":
        return answers.get(window.step_id or 0, "")
    return "\n".join(node.text.split("\n")[window.first - 1 : window.last]) if node else GONE


def windows_of(actor: Actor, workspace: Workspace) -> list[dict[str, Any]]:
    """The bodies of the windows that are not closed: all visible and the newest hidden ones."""
    rows = Window.objects.filter(workspace=workspace.pk, is_closed=False, is_visible=False)
    hidden = rows.select_related("item", "step").order_by("-number")[:MOST_HIDDEN]
    every = [*visible(workspace), *hidden]
    return [window_body(one) for one in contents_of(actor, workspace, every)]


def window_body(shown: Shown) -> dict[str, Any]:
    """One window as the API shows it (docs/model.md §2.2)."""
    one = shown.window
    return {
        **brief(one),
        "ref": shown.name,
        "label": one.label,
        "lines": [one.first, one.last] if one.kind == "node" else None,
        "text": shown.text,
        "open": shown.is_open,
        "current": shown.current or None,
        "version_seen": one.version_seen,
        "opened_at": instant(one.opened_at),
    }
