"""Workspaces, their steps and drafts in the API."""

from itertools import chain
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from pydantic import Field, WithJsonSchema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import CLOSED, Actor
from loom.engine import streams
from loom.engine.answers import messages_of
from loom.engine.models import Step
from loom.engine.steps import items_of
from loom.errors import not_found
from loom.links.queries import written
from loom.site import responses
from loom.site.api_items import events_of
from loom.site.api_requests import Body, PartialBody, demand_scope, read, user_of
from loom.site.responses import Returned
from loom.site.schema import (
    MOST_ROWS,
    USUAL_ROWS,
    a_number,
    an_id,
    cursor,
    needed,
    number,
    operation,
    word,
)
from loom.text.hashes import instant
from loom.trees.commands import drafts as draft_commands
from loom.trees.models import Node
from loom.trees.models import Workspace as Stored
from loom.trees.queries import lookup
from loom.trees.queries.event_log import MAX_EVENTS
from loom.trees.queries.outline import outline_of
from loom.turns import access as turn_access
from loom.workspace.commands.windows import set_settings
from loom.workspace.queries.view_problems import verify_view
from loom.workspace.queries.window_contents import windows_of
from loom.workspace.queries.workspace_bodies import (
    augments_body,
    draft_body,
    drafts_of,
    status_of,
    tasks_of,
    workspace_body,
)
from loom.workspace.window_rules import OF_WORKSPACE

# Request bodies.


class DraftSent(Body):
    """A draft. `seen`: the `at` of the draft as the sender last saw it, "" for none; if it has
    changed, CONFLICT. Without `seen`, the stored draft is replaced."""

    kind: Literal["buffer", "edit", "note"]
    text: str
    seen: str | None = None


class WorkspaceChanged(PartialBody):
    """Settings of a workspace; only the named ones change; null: as in its grove or tree."""

    settings: Annotated[
        dict[str, Any],
        WithJsonSchema({"type": "object", "propertyNames": {"enum": [*OF_WORKSPACE]}}),
    ] = {}


class DraftSchema(Returned):
    """Unsaved text at a slot; `at` identifies its state, null if it was deleted."""

    slot: str
    kind: Literal["buffer", "edit", "note"]
    text: str
    at: str | None


# Drafts.


@operation(
    "GET", "workspaces drafts", "Somebody's drafts in a tree", answers=responses.Page[DraftSchema]
)
@api_view(["GET"])
def drafts(request: Request, uid: str) -> Response:
    """The drafts of the caller's workspace; an agent's has none."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    rows = drafts_of(actor, workspace)
    return Response({"count": len(rows), "results": rows})


@operation(
    "PUT",
    "workspaces keep_draft",
    "Save a draft, or delete it with an empty text",
    body=DraftSent,
    answers=DraftSchema,
)
@api_view(["PUT"])
def draft(request: Request, uid: str, slot: str) -> Response:
    """The draft as it is stored now; `at` is null if it was deleted."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    given = read(request, DraftSent)
    node = lookup.find_named(workspace.tree, slot)
    if node is None:
        raise not_found(f"[{slot}]")
    first: Node = node.slot
    kept = draft_commands.save(
        actor, workspace, first, draft_commands.SentDraft(given.kind, given.text, given.seen)
    )
    gone = {"slot": first.local_id, "kind": given.kind, "text": "", "at": None}
    return Response(draft_body(kept) if kept else gone)


# Responses about workspaces and their steps.


class OutlineSchema(Returned):
    """How an outline is folded: to a depth, except for what was expanded or collapsed; `hits` of
    the last `query` and those `found` earlier are local ids, too."""

    depth: int
    expanded: list[str]
    collapsed: list[str]
    found: list[str]
    query: str
    hits: list[str]
    scores: dict[str, float]


class Status(Returned):
    """`checkpoint` is the last step seen; `tokens` of what the view adds to a request, in total
    and by section; the running `turn`, with its `budget` as STATUS shows it."""

    checkpoint: int
    steps: int
    turn: str | None
    budget: str
    tokens: int
    sections: dict[str, int]


class Notification(Returned):
    """Something that somebody else wrote in the tree since the participant last saw it, as a
    line."""

    text: str


class WorkspaceSchema(Returned):
    """A participant's own view of a tree; `seq` is the last event of its stream."""

    id: str
    participant: str
    tree: str
    position: str
    versions: dict[str, str]
    revision: int
    status: Status
    windows: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    scratchpad: str
    augments: list[dict[str, Any]]
    outline: OutlineSchema
    notifications: list[Notification]
    drafts: list[dict[str, Any]]
    settings: dict[str, Any]
    seq: int


class StepBody(Returned):
    """An attempt by somebody, and its outcome: `ok` or the code of its refusal. `message` is the
    reply; `place` is that of the line in its turn: `2.1` is the first of the second round;
    `loop_status` says whether it repeats earlier lines. Unless `open`, its texts are left out,
    because the reader may not see what it touched; `message` says so."""

    seq: int
    workspace: str
    actor: str
    on_behalf_of: str | None
    turn: str | None
    place: str | None
    line: str
    canonical: str
    because: str
    items: list[str]
    link_type: str
    outcome: str
    loop_status: Literal["ok", "exact", "structural", "semantic"]
    message: str
    hint: str
    stream: str
    events: list[int]
    undone: bool
    open: bool
    at: str


class StepPage(responses.Page[StepBody]):
    """Steps in order; `next` is the next `after`, null at the end."""

    next: int | None


# Workspaces and steps.


@operation(
    "GET",
    "workspaces in_tree",
    "Somebody's workspace in a tree",
    answers=WorkspaceSchema,
    asks=(
        an_id("tree", "The tree.", required=True),
        an_id("participant", "A model of the grove; default: the caller."),
    ),
)
@api_view(["GET"])
def workspaces(request: Request) -> Response:
    """The caller's own workspace, or that of a model of the grove."""
    actor, tree = access.get_tree(user_of(request), needed(request, "tree"))
    whose = access.workspace_owner(actor, word(request, "participant") or actor.participant.uid)
    return Response(_body(actor, access.workspace_of(whose, tree)))


def _body(actor: Actor, workspace: Stored) -> dict[str, Any]:
    """A workspace with the last event that the body knows."""
    seq = streams.head(streams.name_of(workspace))
    return {**workspace_body(actor, workspace), "seq": seq}


@operation("GET", "workspaces one", "A workspace", answers=WorkspaceSchema)
@operation(
    "PATCH",
    "workspaces change",
    "Change the settings of a workspace's windows",
    body=WorkspaceChanged,
    answers=WorkspaceSchema,
)
@api_view(["GET", "PATCH"])
def workspace(request: Request, uid: str) -> Response:
    """Position, versions chosen and revision of a workspace. Changing the settings of an agent's is
    for writers."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    if request.method == "PATCH":
        demand_scope(request, "write")
        sent = read(request, WorkspaceChanged)
        workspace = set_settings(actor, workspace, sent.settings)
    return Response(_body(actor, workspace))


@operation("GET", "workspaces outline", "How the outline is folded", answers=OutlineSchema)
@api_view(["GET"])
def outline(request: Request, uid: str) -> Response:
    """The depth the outline is folded to, what was expanded, and what the last find marked."""
    _, workspace = access.get_workspace(user_of(request), uid)
    return Response(outline_of(workspace))


class WindowSchema(Returned):
    """A window that is not closed. `lines` are the first and last of a text of `of` lines, `count`
    of them; `before` and `after` are padding (`pad`). `as`: a difference or prose; `live`: it
    follows the current version; `read_only`: nothing can be written through it. `query` and
    `score` of a search hit; `via` is a link type, from the window `parent`. Unless `open`, the
    reader may not see its text. `opens` is a line that opens it again. `stale`: what it shows has
    changed, and `current` is the version that replaced the `revision`th, which it shows; `changes`
    are the last ones of a document, newest first."""

    number: int
    kind: Literal["node", "search", "document", "branch", "range", "tree", "result", "stash"]
    visible: bool
    keep: bool
    closed: bool
    ref: str
    label: str
    lines: tuple[int, int] | None
    count: int
    of: int | None
    text: str
    before: list[str]
    after: list[str]
    form: Literal["diff", "prose"] | None = Field(alias="as")
    live: bool
    pad: int
    read_only: bool
    query: str | None
    score: float | None
    via: str | None
    parent: int | None
    open: bool
    opens: str
    document: str | None
    stale: bool
    changes: list[str]
    current: str | None
    revision: int | None
    version_seen: str
    opened_at: str


@operation(
    "GET",
    "workspaces windows",
    "What a workspace keeps in view",
    answers=responses.Page[WindowSchema],
)
@api_view(["GET"])
def windows(request: Request, uid: str) -> Response:
    """The visible windows and the newest hidden ones, with what they show to the caller."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    results = windows_of(actor, workspace)
    return Response({"count": len(results), "results": results})


class TaskSchema(Returned):
    """A task; `ref` is its name in lines; `place` is its order among those not archived."""

    number: int
    ref: str
    state: Literal["unchecked", "checked", "archived"]
    place: int
    removed: bool
    text: str
    notes: list[str]
    made_at: str


@operation(
    "GET", "workspaces tasks", "The tasks of a workspace", answers=responses.Page[TaskSchema]
)
@api_view(["GET"])
def tasks(request: Request, uid: str) -> Response:
    """The tasks in their order, and the newest archived ones."""
    _, workspace = access.get_workspace(user_of(request), uid)
    results = tasks_of(workspace)
    return Response({"count": len(results), "results": results})


@operation(
    "GET",
    "workspaces verify",
    "What is wrong with a view",
    answers=responses.ViewReport,
)
@api_view(["GET"])
def verification(request: Request, uid: str) -> Response:
    """Windows that overlap or are outdated, evidence that is pruned or erased, and circular
    requirements and evidence."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    return Response(verify_view(actor, workspace))


class AugmentSchema(Returned):
    """A document that can be loaded into the prompt. `loaded` also if another one requires it;
    `missing` names requirements that do not exist."""

    name: str
    document: str
    loaded: bool
    chosen: bool
    pinned: bool
    requires: list[str]
    missing: list[str]
    required_by: list[str]
    tools: list[str]
    characters: int


@operation(
    "GET",
    "workspaces augments",
    "The augments of a grove, and what a workspace has loaded",
    answers=responses.Page[AugmentSchema],
)
@api_view(["GET"])
def augments(request: Request, uid: str) -> Response:
    """All augments of the grove by name."""
    _, workspace = access.get_workspace(user_of(request), uid)
    results = augments_body(workspace)
    return Response({"count": len(results), "results": results})


@operation("GET", "workspaces status", "How far a workspace has come", answers=Status)
@api_view(["GET"])
def status(request: Request, uid: str) -> Response:
    """The last step seen, the number of steps, and the tokens of the view."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    return Response(status_of(actor, workspace))


@operation(
    "GET",
    "workspaces events",
    "What happened in a workspace",
    answers=responses.Events,
    asks=cursor(MAX_EVENTS),
)
@api_view(["GET"])
def events(request: Request, uid: str) -> Response:
    """The events of a workspace's view."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    return Response(events_of(request, actor, streams.name_of(workspace)))


def _steps(actor: Actor, steps: list[Step]) -> list[dict[str, Any]]:
    """The steps of workspaces of one tree as a reader of that tree names them. For steps whose
    texts the reader may not see, only the author and the time."""
    views = [(step, step.workspace) for step in steps if step.workspace is not None]
    if not views:
        return []
    items = items_of(step for step, _ in views)
    closed = access.closed_steps(actor, [step for step, _ in views], items)
    names = written(chain.from_iterable(items.values()), views[0][1].tree_id)
    answers = messages_of(step for step, _ in views)
    bodies = [
        (step, _step(step, view.uid, [names[item] for item in items[step.pk]], answers[step.pk]))
        for step, view in views
    ]
    return [
        {**body, **_NOTHING, "open": False} if step.pk in closed else body for step, body in bodies
    ]


_NOTHING = {
    **dict.fromkeys(("line", "canonical", "because", "hint"), ""),
    "message": CLOSED,
    "items": [],
}


def _step(step: Step, workspace: str, items: list[str], answer: str) -> dict[str, Any]:
    return {
        "seq": step.seq,
        "workspace": workspace,
        "actor": step.actor.uid,
        "on_behalf_of": step.on_behalf_of.uid if step.on_behalf_of else None,
        "turn": step.turn_uid or None,
        "place": step.turn_place or None,
        "line": step.line,
        "canonical": step.canonical,
        "because": step.because,
        "items": items,
        "link_type": step.link_type,
        "outcome": step.outcome,
        "loop_status": step.loop or "ok",
        "message": answer,
        "hint": step.hint,
        "stream": step.stream,
        "events": step.events,
        "undone": step.is_undone,
        "open": True,
        "at": instant(step.at),
    }


@operation(
    "GET",
    "workspaces steps",
    "Steps of a workspace",
    answers=StepPage,
    asks=(
        an_id("workspace", "The workspace; or"),
        an_id("turn", "the turn whose lines are meant."),
        a_number("after", "The number of the last step that is known."),
        a_number("limit", f"At most {MOST_ROWS}.", least=1, most=MOST_ROWS),
    ),
)
@api_view(["GET"])
def steps(request: Request) -> Response:
    """Attempts with their authors and outcomes, in order."""
    actor, every = _asked_for(request)
    after = number(request, "after", default=0)
    limit = number(request, "limit", default=USUAL_ROWS, least=1, most=MOST_ROWS)
    rows = every.filter(seq__gt=after).select_related("actor", "on_behalf_of", "workspace")
    rows = rows.order_by("seq")
    page = list(rows[: limit + 1])
    shown = page[:limit]
    return Response(
        {
            "count": _count(every, is_of_turn=bool(word(request, "turn"))),
            "next": shown[-1].seq if len(page) > limit else None,
            "results": _steps(actor, shown),
        }
    )


def _count(steps: QuerySet[Step], *, is_of_turn: bool) -> int:
    """The number of steps. Those of a workspace are numbered from 1 without gaps, so the last
    number is their count, however long the log is."""
    if is_of_turn:
        return steps.count()
    return steps.order_by("-seq").values_list("seq", flat=True).first() or 0


def _asked_for(request: Request) -> tuple[Actor, QuerySet[Step]]:
    """The caller, and the steps of a workspace, or those of a turn's lines."""
    user, turn = user_of(request), word(request, "turn")
    if not turn:
        actor, workspace = access.get_workspace(user, needed(request, "workspace"))
        return actor, workspace.steps.all()
    actor, asked = turn_access.get_turn(user, turn)
    rows = Step.objects.filter(turn_uid=asked.uid)
    uid = word(request, "workspace")
    if uid:
        rows = rows.filter(workspace=access.get_workspace(user, uid)[1])
    return actor, rows
