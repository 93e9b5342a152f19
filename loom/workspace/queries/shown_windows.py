"""The windows that a workspace shows, how they are nested and labelled."""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from django.db.models import Case, F, Q, QuerySet, Subquery, Value, When

from loom.engine.models import Step
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.models import Workspace
from loom.trees.queries.lookup import fetch, listed, walked
from loom.turns.models import Turn
from loom.turns.queries import measures_depth
from loom.workspace.models import Window
from loom.workspace.queries.tasks import current_tasks
from loom.workspace.window_lifetime import WindowState

# Windows.


_SHOWN = PreparedQuery(
    lambda: (
        Window.objects.filter(workspace=Given("of"), is_visible=True)
        .select_related("item", "step")
        .order_by()
    )
)


def shown_in(workspace: Workspace) -> list[Window]:
    """The visible windows, in no order: there are few of them."""
    return _SHOWN.all(of=workspace.pk) if workspace.pk else []


def is_in_results(window: Window, turn: str) -> bool:
    """Whether a window is a result of the running turn (its uid), which its requests hold already:
    one that was shown again by a line is shown as a window, too."""
    return window.kind == "result" and window.turn_uid == turn != "" and not window.shown_step


def view_state(workspace: Workspace, turn: str) -> str:
    """A hash that is the same as long as a workspace shows the same: its position, outline,
    augments, scratchpad, windows and tasks. The results of the turn (its uid) count only once they
    are hidden, because every look makes one. Two queries."""
    outline = [workspace.outline.get(key) for key in ("depth", "expanded", "collapsed")]
    windows = [
        row
        for row in (_IN_VIEW.all(of=workspace.pk, turn=turn) if workspace.pk else [])
        if row[1] != turn or not row[2]
    ]
    tasks = [(task.number, task.state, task.place) for task in current_tasks(workspace)]
    own = [workspace.augments, workspace.scratchpad]
    shown = [workspace.position_id, outline, *own, windows, tasks]
    return blake2b(repr(shown).encode(), digest_size=8).hexdigest()


def _in_view() -> QuerySet[Window, Any]:
    """What is visible, and the results of the turn. Those have the numbers of its steps, so that
    the results of others are not gone through; each part names the workspace, for its index."""
    steps = Step.objects.filter(turn_uid=Given("turn"), workspace=Given("of")).order_by("id")
    own = Q(workspace=Given("of"), is_closed=False)
    of_turn = Q(
        kind="result", turn_uid=Given("turn"), number__gte=Subquery(steps.values("seq")[:1])
    )
    return (
        Window.objects.filter(own & Q(is_visible=True) | own & of_turn)
        .order_by("number")
        .annotate(
            result_of=Case(When(kind="result", then=F("turn_uid")), default=Value("")),
        )
        .values_list(
            "number", "result_of", "is_visible", "is_kept", "first", "last", "place", "pad", "form"
        )
    )


_IN_VIEW = PreparedQuery(_in_view)


def labels_of(workspace: Workspace, most: int) -> tuple[str, ...]:
    """The labels of the first stashes that are hidden."""
    rows = _labels(most).all(of=workspace.pk) if workspace.pk else []
    return tuple(label for (label,) in rows)


@cache
def _labels(most: int) -> PreparedQuery[tuple[str]]:
    rows = Window.objects.filter(workspace=Given("of"), kind="stash", is_closed=False)
    hidden = rows.filter(is_visible=False).order_by("number")
    return PreparedQuery(lambda: hidden.values_list("label")[:most])


def state_of(window: Window) -> WindowState:
    """The state of a row."""
    return WindowState(window.is_visible, window.is_kept, window.is_extended, window.is_closed)


def window_brief(window: Window) -> dict[str, Any]:
    """A window as events name it: also by which link type, and from which window, it was opened."""
    return {
        "number": window.number,
        "via": window.via or None,
        "parent": window.parent_number or None,
        "kind": window.kind,
        "visible": window.is_visible,
        "keep": window.is_kept,
        "closed": window.is_closed,
    }


_READ = "w.workspace_id, w.number, w.parent_number, w.is_visible, w.is_closed, w.turn_uid"


def led_from(seeds: str, kept: str) -> str:
    """SQL for the windows `w` of a condition and those above them of the other one: participant,
    number, parent, is visible, is closed, turn. UNION: each is read once."""
    return f"""WITH RECURSIVE up(workspace, number, parent, is_visible, is_closed, turn) AS (
            SELECT {_READ} FROM workspace_window w WHERE {seeds}
            UNION
            SELECT {_READ} FROM up JOIN workspace_window w
                ON w.workspace_id = up.workspace AND w.number = up.parent
            WHERE {walked("up.number")} AND w.parent_number > 0 AND ({kept})
        ) SELECT v.participant_id, up.number, up.parent, up.is_visible, up.is_closed, up.turn
        FROM up JOIN trees_workspace v ON v.id = up.workspace"""


def depth_in(parents: Mapping[int, int], number: int) -> int:
    """The nesting depth of a window: 0 if it was not opened from another one."""
    seen = {number}
    while (number := parents.get(number, 0)) and number not in seen:
        seen.add(number)
    return len(seen) - 1


@measures_depth
def depths_of(turns: Sequence[Turn]) -> dict[int, int]:
    """The greatest nesting depth of windows, by the row ids of turns of one tree: of those that
    the agent of a running turn sees now, and of those that an ended turn opened. One query, which
    reads these windows and those above them."""
    rows = _nested(turns)
    depths = {}
    for turn in turns:
        own = [row[1:] for row in rows if row[0] == turn.participant_id]
        if turn.ended_at is None:
            parents = {number: parent for number, parent, _, closed, _ in own if not closed}
            seen = [number for number, _, visible, _, _ in own if visible]
        else:
            parents = {number: parent for number, parent, _, _, _ in own}
            seen = [number for number, _, _, _, uid in own if uid == turn.uid]
        depths[turn.pk] = max((depth_in(parents, number) for number in seen), default=0)
    return depths


def _nested(turns: Sequence[Turn]) -> list[tuple[Any, ...]]:
    """(participant, number, parent, is visible, is closed, turn) of windows that were opened from
    another one: those that the agents of the turns see, and those that the turns opened; with
    those above them."""
    uids = [turn.uid for turn in turns]
    agents = listed({turn.participant_id for turn in turns})
    views = f"SELECT id FROM trees_workspace WHERE tree_id = %s AND participant_id IN ({agents})"
    of = f"w.workspace_id IN ({views}) AND w.parent_number > 0"
    own = f"w.turn_uid IN ({', '.join(['%s'] * len(uids))})"
    # Two halves, each with an index of its own.
    seeds = (
        f"{of} AND w.is_visible UNION SELECT {_READ} FROM workspace_window w WHERE {of} AND {own}"
    )
    tree = turns[0].tree_id
    return fetch(led_from(seeds, f"NOT w.is_closed OR {own}"), [tree, tree, *uids, *uids])
