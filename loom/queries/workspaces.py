"""The parts of a workspace: turns with what they spent, tasks, windows, augments, notifications."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import chain
from typing import Any

from django.db.models import Case, Count, F, Max, Q, QuerySet, Value, When
from django.db.models.functions import Length
from django.utils import timezone

from loom.access import Actor
from loom.models import (
    Call,
    Event,
    Generation,
    Grove,
    Node,
    Participant,
    Revision,
    Step,
    StepItem,
    Task,
    Turn,
    Window,
    Workspace,
)
from loom.models.base import Given, Prepared
from loom.queries.documents import title_key
from loom.queries.lookup import (
    NodeRow,
    fetch,
    listed,
    rows_of,
    walked,
    withheld,
    withheld_from_models,
)
from loom.rules import documents, limits
from loom.rules.limits import Spent, State, budget_in
from loom.rules.node_values import STORED_WHOLE, excerpt, instant, plain
from loom.rules.options import Budget

# Turns: what they may use, what they have used, and the body of docs/model.md §14.3.


WITH = (
    "tree__grove",
    "participant",
    "invoked_by__user",
    "invoked_at",
    "answers_below",
    "input_node",
    "generation",
    "node",
)


def turns() -> QuerySet[Turn]:
    """Turns with the rows that their body needs; the request of the current round is loaded on
    access."""
    return Turn.objects.select_related(*WITH).defer("prepared")


def budget_of(turn: Turn) -> Budget:
    """What the turn may use: its preset and what was granted in addition."""
    of_grove = budget_in(turn.preset, turn.tree.grove.settings)
    return limits.extended(of_grove, turn.more_steps)


def lines_of(*turns: Turn) -> QuerySet[Step]:
    """The steps of the lines of turns, in order; one per line, also if it made several."""
    named = [one.uid for one in turns]
    return Step.objects.filter(turn_uid__in=named).exclude(turn_place="").order_by("id")


def texts_made_by(turn: Turn) -> list[str]:
    """The long texts of the nodes that the lines of a turn made. Two queries at most."""
    ops = chain.from_iterable(
        inverse or () for inverse in lines_of(turn).values_list("inverse", flat=True)
    )
    keys = [op["node"] for op in ops if op.get("op") == "made"]
    rows = Node.objects.filter(pk__in=keys).annotate(size=Length("text"))
    return list(rows.filter(size__gt=STORED_WHOLE).values_list("text", flat=True)) if keys else []


def made_by(replies: Iterable[dict[str, Any]]) -> list[str]:
    """The ids that the lines of a round made, in order; "" for a line that made nothing."""
    return [one["made"] for one in replies if not one.get("near")]


def spent_of(turn: Turn, now: datetime) -> Spent:
    """What the turn has used so far. A refused line does not count as a step."""
    steps, items = _USED.first(turn=turn.uid) or (0, 0)
    end = turn.ended_at or now
    return Spent(
        steps=steps,
        depth=depths_of([turn])[turn.pk],
        items=items,
        rounds=len(turn.rounds),
        milliseconds=int((end - turn.created_at).total_seconds() * 1000),
        tokens=turn.tokens,
        steps_today=_steps_today(turn, now),
    )


def _steps_today(turn: Turn, now: datetime) -> int:
    since = now - timedelta(hours=limits.HOURS_OF_A_DAY)
    found = _TODAY.first(agent=turn.participant_id, tree=turn.tree_id, since=since)
    return found[0] if found else 0


# Each line of a turn asks for both.
_USED = Prepared(
    lambda: (
        Step.objects.filter(turn_uid=Given("turn"), outcome="ok")
        .exclude(turn_place="")
        .order_by()
        .values("turn_uid")
        .annotate(steps=Count("pk", distinct=True), items=Count("touched__item", distinct=True))
        .values_list("steps", "items")
    )
)
_TODAY = Prepared(
    lambda: (
        Step.objects.filter(workspace__participant=Given("agent"), workspace__tree=Given("tree"))
        .filter(at__gte=Given("since"))  # by the index on (…, at): it is one workspace
        .exclude(turn_uid="")
        .order_by()
        .values("workspace")
        .annotate(steps=Count("pk"))
        .values_list("steps")
    )
)


def turn_body(turn: Turn) -> dict[str, Any]:
    """The turn as API and events show it; read with WITH. Three queries."""
    budget, spent = budget_of(turn), spent_of(turn, timezone.now())
    return {
        "id": turn.uid,
        "tree": turn.tree.uid,
        "status": turn.status,
        "participant": turn.participant.uid,
        "invoked_by": turn.invoked_by.uid,
        "point": turn.invoked_at.local_id,
        "answers_below": turn.answers_below.local_id,
        "input": turn.input_node.local_id if turn.input_node else None,
        "as": turn.form,
        "budget": {
            "preset": turn.preset,
            "steps": budget.steps,
            "depth": budget.depth,
            "items": budget.items,
            "rounds": budget.rounds,
            "milliseconds": budget.milliseconds,
            "tokens": budget.tokens,
        },
        "usage": {
            "steps": spent.steps,
            "depth": spent.depth,
            "items": spent.items,
            "rounds": spent.rounds,
            "milliseconds": spent.milliseconds,
            "tokens": spent.tokens,
            "shown": limits.shown(budget, spent),
        },
        "extension": turn.extension,
        "generations": list(_rounds(turn).values_list("uid", flat=True)),
        "steps": list(lines_of(turn).values_list("seq", flat=True)),
        "node": turn.node.local_id if turn.node else None,
        "finish": turn.finish or None,
        "error": turn.error,
        "created_at": instant(turn.created_at),
        "ended_at": instant(turn.ended_at) if turn.ended_at else None,
    }


def _rounds(turn: Turn) -> QuerySet[Generation]:
    return Generation.objects.filter(turn=turn, round__gt=0).order_by("round", "id")


def nodes_of_call(call: Call) -> list[Node]:
    """The nodes that a call produced: its candidates, or those of the turn whose last round it was.
    An imported call has neither; for it all nodes of its tree are checked."""
    if call.origin:
        return list(Node.objects.filter(tree=call.tree, call_uid=call.origin).order_by("id"))
    candidates = Generation.objects.filter(call=call, node__isnull=False).values_list("node")
    keys = [key for (key,) in candidates]
    if call.turn_id is not None:
        turns = Turn.objects.filter(pk=call.turn_id, node__isnull=False).values_list("node")
        keys += [key for (key,) in turns]
    return list(Node.objects.filter(pk__in=keys, call_uid=call.uid).order_by("id"))


def items_of(steps: Iterable[Step]) -> dict[int, list[int]]:
    """The ids of the items that each step touched, in order, by the step's row id; one query."""
    found: dict[int, list[int]] = {step.pk: [] for step in steps}
    rows = StepItem.objects.filter(step__in=found).order_by("step_id", "place")
    for step, item in rows.values_list("step_id", "item_id"):
        found[step].append(item)
    return found


def current_tasks(workspace: Workspace) -> list[Task]:
    """The tasks that are neither archived nor removed, in order. There are few of them, so they
    are sorted here."""
    if not workspace.pk:  # it is not stored yet
        return []
    found = _CURRENT_TASKS.all(of=workspace.pk)
    return sorted(found, key=lambda task: (task.place, task.number))


_CURRENT_TASKS = Prepared(
    lambda: Task.objects.filter(
        workspace=Given("of"), is_removed=False, state__in=("unchecked", "checked")
    ).order_by()
)


# Windows.


_SHOWN = Prepared(
    lambda: (
        Window.objects.filter(workspace=Given("of"), is_visible=True)
        .select_related("item", "step")
        .order_by()
    )
)


def shown_in(workspace: Workspace) -> list[Window]:
    """The visible windows, in no order: there are few of them."""
    return _SHOWN.all(of=workspace.pk) if workspace.pk else []


def view_state(workspace: Workspace, turn: str) -> str:
    """A hash that is the same as long as a workspace shows the same: its position, outline,
    augments, windows and tasks. The results of the turn (its uid) count only once they are hidden,
    because every look makes one. Two queries."""
    outline = [workspace.outline.get(key) for key in ("depth", "expanded", "collapsed")]
    windows = [
        row
        for row in (_IN_VIEW.all(of=workspace.pk, turn=turn) if workspace.pk else [])
        if row[1] != turn or not row[2]
    ]
    tasks = [(one.number, one.state, one.place) for one in current_tasks(workspace)]
    shown = [workspace.position_id, outline, workspace.augments, windows, tasks]
    return blake2b(repr(shown).encode(), digest_size=8).hexdigest()


_IN_VIEW = Prepared(
    lambda: (
        Window.objects.filter(workspace=Given("of"), is_closed=False)
        .filter(Q(is_visible=True) | Q(kind="result", turn_uid=Given("turn")))
        .order_by("number")
        .annotate(
            result_of=Case(When(kind="result", then=F("turn_uid")), default=Value("")),
        )
        .values_list(
            "number", "result_of", "is_visible", "is_kept", "first", "last", "place", "pad", "form"
        )
    )
)


def labels_of(workspace: Workspace, most: int) -> tuple[str, ...]:
    """The labels of the first stashes that are hidden."""
    found = _labels(most).all(of=workspace.pk) if workspace.pk else []
    return tuple(label for (label,) in found)


@cache
def _labels(most: int) -> Prepared[tuple[str]]:
    rows = Window.objects.filter(workspace=Given("of"), kind="stash", is_closed=False)
    hidden = rows.filter(is_visible=False).order_by("number")
    return Prepared(lambda: hidden.values_list("label")[:most])


def state_of(window: Window) -> State:
    """The state of a row."""
    return State(window.is_visible, window.is_kept, window.is_extended, window.is_closed)


def window_brief(window: Window) -> dict[str, Any]:
    """A window as events name it."""
    return {
        "number": window.number,
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
            SELECT {_READ} FROM loom_window w WHERE {seeds}
            UNION
            SELECT {_READ} FROM up JOIN loom_window w
                ON w.workspace_id = up.workspace AND w.number = up.parent
            WHERE {walked("up.number")} AND w.parent_number > 0 AND ({kept})
        ) SELECT v.participant_id, up.number, up.parent, up.is_visible, up.is_closed, up.turn
        FROM up JOIN loom_workspace v ON v.id = up.workspace"""


def depth_in(parents: Mapping[int, int], number: int) -> int:
    """The nesting depth of a window: 0 if it was not opened from another one."""
    seen = {number}
    while (number := parents.get(number, 0)) and number not in seen:
        seen.add(number)
    return len(seen) - 1


def depths_of(turns: Sequence[Turn]) -> dict[int, int]:
    """The greatest nesting depth of windows, by the row ids of turns of one tree: of those that
    the agent of a running turn sees now, and of those that an ended turn opened. One query, which
    reads these windows and those above them."""
    found = _nested(turns)
    depths = {}
    for turn in turns:
        own = [row[1:] for row in found if row[0] == turn.participant_id]
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
    views = f"SELECT id FROM loom_workspace WHERE tree_id = %s AND participant_id IN ({agents})"
    of = f"w.workspace_id IN ({views}) AND w.parent_number > 0"
    own = f"w.turn_uid IN ({', '.join(['%s'] * len(uids))})"
    # Two halves, each with an index of its own.
    seeds = f"{of} AND w.is_visible UNION SELECT {_READ} FROM loom_window w WHERE {of} AND {own}"
    tree = turns[0].tree_id
    return fetch(led_from(seeds, f"NOT w.is_closed OR {own}"), [tree, tree, *uids, *uids])


# Augments: those of a grove, and those that a workspace has loaded.


MOST_AUGMENTS = 200  # augments of a grove that are read


@dataclass(frozen=True)
class Augment:
    """`requires` and `tools` are names of its front matter; `text` is without it."""

    uid: str
    name: str
    text: str
    requires: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name in the form in which names of a grove must differ."""
        return title_key(self.name)


def augment_of(uid: str, name: str, text: str) -> Augment:
    """The augment for a text with front matter."""
    head = documents.front_matter(text)
    body = text[documents.body_start(text) :].strip("\n")
    return Augment(uid, name, body, head.get("requires", ()), head.get("tools", ()))


def augments_of(grove: Grove) -> list[Augment]:
    """The augments of a grove by name; one query."""
    found = _AUGMENTS.all(grove=grove.pk)
    return sorted((augment_of(*one) for one in found), key=lambda one: one.key)


_AUGMENTS = Prepared(
    lambda: (
        Revision.objects.filter(
            document__grove=Given("grove"),
            document__kind="augment",
            number=F("document__revision"),
        )
        .order_by()
        .values_list("document__uid", "document__title", "content__text")[:MOST_AUGMENTS]
    )
)


def in_order(chosen: Iterable[Augment], every: Sequence[Augment]) -> list[Augment]:
    """The augments with all that they require, each once, requirements first."""
    named = {one.key: one for one in every}
    ordered: dict[str, Augment] = {}
    begun: set[str] = set()

    def add(one: Augment) -> None:
        if one.key in begun:
            return
        begun.add(one.key)
        for name in one.requires:
            if title_key(name) in named:
                add(named[title_key(name)])
        ordered[one.key] = one

    for one in chosen:
        add(one)
    return list(ordered.values())


@dataclass(frozen=True)
class Loaded:
    """What a workspace has loaded: all augments of its grove; those that were `chosen`, the pinned
    ones among them, and `texts`: the chosen ones with what they require, in the order in which
    they are sent."""

    every: list[Augment]
    chosen: list[Augment]
    pinned: list[Augment]
    texts: list[Augment]

    def mark_of(self, one: Augment) -> str:
        """`📌` pinned, `●` loaded, "" neither."""
        return "📌" if one in self.pinned else "●" if one in self.texts else ""

    def needing(self, one: Augment) -> list[str]:
        """The names of other loaded augments that require it, directly or not."""
        return [
            other.name
            for other in self.chosen
            if other != one and one in in_order([other], self.every)
        ]


def loaded_in(workspace: Workspace) -> Loaded:
    """What a workspace has loaded; one query."""
    every = augments_of(workspace.participant.grove)
    by_uid = {one.uid: one for one in every}
    chosen = [by_uid[uid] for uid in workspace.augments.get("loaded", ()) if uid in by_uid]
    pins = set(workspace.augments.get("pinned", ()))
    pinned = [one for one in chosen if one.uid in pins]
    return Loaded(every, chosen, pinned, in_order(chosen, every))


# What others wrote, a line each: as a model is sent it, and as the API lists it.


NOTIFIED = 10  # lines; the last ones
WORDS = 8  # of a text


def notifications_of(
    actor: Actor, workspace: Workspace, *, asked: int | None = None
) -> tuple[str, ...]:
    """What others wrote in the tree since the participant of the workspace last saw it (an agent:
    the end of its last turn there; a person: their last visit), and which windows were hidden for
    lack of room. Without the node `asked`, the request of a turn. At most eight queries."""
    return (*_written(actor, workspace, asked), *_evicted(workspace))[-NOTIFIED:]


def _evicted(workspace: Workspace) -> tuple[str, ...]:
    """The windows that were hidden because others needed their room, since the last turn or
    visit."""
    if not workspace.pk:  # it is not stored yet
        return ()
    found = _EVICTED.all(of=workspace.pk)
    since = workspace.seen_at
    if found and workspace.participant.kind == "model":
        turns = Turn.objects.filter(participant=workspace.participant_id, tree=workspace.tree_id)
        since = turns.aggregate(last=Max("ended_at"))["last"]
    late = [(said, because) for said, because, at in found if since is None or at > since]
    lines = [f"✓ hidden {said.removeprefix('→ hide ')}: {because}" for said, because in late]
    return tuple(reversed(lines))


_EVICTED = Prepared(
    lambda: (
        Step.objects.filter(workspace=Given("of"), evicts=True)
        .order_by("-seq")
        .values_list("canonical", "because", "at")[:NOTIFIED]
    )
)


def _written(actor: Actor, workspace: Workspace, asked: int | None) -> tuple[str, ...]:
    """What others wrote, a line each."""
    participant = workspace.participant
    is_agent = participant.kind == "model"
    seen = workspace.checkpoint if is_agent else workspace.seen_seq
    if not seen:
        return ()
    events = Event.objects.filter(
        stream__name=f"tree:{workspace.tree.uid}", kind="node.added", seq__gt=seen
    )
    found = events.exclude(actor=participant.uid).order_by("-seq").values_list("payload", "actor")
    last = [(payload["node"], who) for payload, who in found[:NOTIFIED]]
    writers = Participant.objects.filter(uid__in={who for _, who in last})
    names = dict(writers.values_list("uid", "name"))
    keys = workspace.tree.nodes.filter(local_id__in=[node["id"] for node, _ in last])
    rows = {row.local_id: row for row in rows_of(list(keys.values_list("pk", flat=True)))}
    ids = [row.id for row in rows.values()]
    gone = withheld_from_models(ids) if is_agent else withheld(actor, ids)
    lines = [
        _notification(rows[node["id"]], node["parent"], names.get(who, "Somebody"), gone)
        for node, who in last
        if node["id"] in rows and rows[node["id"]].id != asked
    ]
    return tuple(one for one in reversed(lines) if one)


def _notification(row: NodeRow, parent: str, who: str, gone: Collection[int]) -> str:
    """`✓ Ada annotated [b3k9]: "…"`; without the words of what is in `gone`."""
    verb = {"text": "wrote", "annotation": "annotated"}.get(row.kind)
    at = parent if row.kind == "annotation" else row.local_id
    words = "" if row.id in gone else f": {excerpt(row.text, WORDS)}"
    return f"✓ {plain(who)} {verb} [{at}]{words}" if verb else ""
