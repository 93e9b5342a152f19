"""Lines in the API (POST …/commands, and the registry as data), and turns: starting, reading and
stopping them."""

import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

from django.db import connection
from pydantic import ConfigDict, Field
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.engine import by_name, context, execute, registry
from loom.engine.command_reference import catalogue
from loom.engine.models import Step
from loom.errors import CommandError
from loom.language import lines
from loom.language.refs import ParseError
from loom.permissions import GENERATE
from loom.site import responses
from loom.site.api_requests import Body, read, user_of
from loom.site.responses import Returned
from loom.site.schema import operation
from loom.site.waiting import Wait, hold, hold_until_stopped, of_search, of_turn
from loom.trees.models import Tree, Workspace
from loom.turns import access as turn_access
from loom.turns import budgets, turn_lifecycle
from loom.turns.commands.continuing import outcome_of
from loom.turns.queries import turn_body, turns
from loom.web_search import commands as web_search
from loom.workspace.commands import windows

# Of endpoints that run lines: with a read-only key too, which `execute` looks at.
FOR_LINES = [IsAuthenticated]

# Request bodies.


class LineSent(Body):
    """One command: as a `line`, or by name, as `command` and its `args`. `at`: a local id, what
    `here` means; `wait`: how many seconds the response may wait for the result; `key`: a repeat
    with the same key within HEDDLE_RECEIPT_DAYS does not run the command again; `act`: commands
    with the same one are undone and redone together, and `doing` says in the caller's words what
    they do. null counts as left out."""

    line: Annotated[str | None, Field(json_schema_extra={"pattern": r"\S"})] = None
    command: str | None = Field(None, max_length=64)
    args: dict[str, Any] | None = None
    dry_run: bool | None = False
    key: str | None = Field("", max_length=64)
    at: str | None = Field("", max_length=8)
    wait: float | None = Field(0, ge=0, le=120)
    act: str | None = Field("", max_length=64)
    doing: str | None = Field("", max_length=200)


class TurnSent(Body):
    """A turn of a participant. `node`: where (default: the caller's position); `input`: the
    caller's words, which become a node first; `budget`: default: the agent's own; `key`: a repeat
    with the same key within HEDDLE_RECEIPT_DAYS starts no other turn."""

    model_config = ConfigDict(populate_by_name=True)

    participant: str = Field(min_length=1, max_length=32)
    node: str = Field("", max_length=8)
    input: str = ""
    form: Literal["continuation", "aside"] = Field("continuation", alias="as")
    budget: Literal["", "quick", "standard", "thorough"] = ""
    key: str = Field("", max_length=64)


class ExtensionSent(Body):
    """How many additional steps and tokens; at least one of them."""

    steps: int = Field(0, ge=0, le=500)
    tokens: int = Field(0, ge=0, le=budgets.MOST_TOKENS)


# Responses.


class AnswerSchema(Returned):
    """The answer to a line that ran; `repeated` if its key was sent before. `canonical` names a
    long text that became a node: its first words, length and SHA-256. `did` says what only the
    words of `reply` tell a person."""

    ok: Literal[True]
    reply: str
    did: dict[str, Any] = {}
    canonical: str
    step: int | None
    stream: str
    events: list[int]
    refs: list[str]
    generations: list[str]
    position: str
    repeated: bool = False


class CommandForm(Returned):
    """One form of one command, as the registry declares it. `name` is what a call by name takes,
    `arguments` the JSON schema of its `args`."""

    name: str
    verb: str
    syntax: str
    help: str
    group: str
    klass: str = Field(alias="class")
    permissions: list[str]
    aliases: list[str]
    arguments: dict[str, Any]
    allowed: bool


LOOK_EVERY_S = 0.1


@operation(
    "POST",
    "commands in_tree",
    "Run a command in a tree",
    body=LineSent,
    answers={200: AnswerSchema, 202: AnswerSchema},
)
@api_view(["POST"])
@permission_classes(FOR_LINES)
def in_tree(request: Request, uid: str) -> Response:
    """Runs one command in the caller's own workspace, which is made on first use: a `line`, or a
    `command` with `args` as the list of commands describes them. 202 if something continues to
    run."""
    actor, tree = access.get_tree(user_of(request), uid)
    given = read(request, LineSent)
    _demand_one(given)
    return _run(request, given, actor, tree, access.workspace_of(actor.participant, tree))


@operation(
    "POST",
    "commands in_workspace",
    "Run a command in a workspace",
    body=LineSent,
    answers={200: AnswerSchema, 202: AnswerSchema},
)
@api_view(["POST"])
@permission_classes(FOR_LINES)
def in_workspace(request: Request, uid: str) -> Response:
    """Runs one line in the caller's workspace; in an agent's, only lines that change its view."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    given = read(request, LineSent)
    _demand_one(given)
    if workspace.participant_id != actor.participant.pk:
        actor = windows.acting_for(actor, workspace.participant, _command_of(given))
    return _run(request, given, actor, workspace.tree, workspace)


def _run(
    request: Request, given: LineSent, actor: Actor, tree: Tree, workspace: Workspace
) -> Response:
    is_dry = bool(given.dry_run)
    act, doing = given.act or "", " ".join((given.doing or "").replace("\0", "").split())
    sent = context.Request(
        given.line or "",
        key=given.key or "",
        at=given.at or "",
        dry_run=is_dry,
        act=act,
        doing=doing if act else "",
    )
    if given.command is None:
        answer = execute.execute_line(actor, tree, sent, workspace)
    else:
        answer = by_name.run_command(
            actor, tree, given.command, given.args or {}, workspace=workspace, request=sent
        )
    body = answer.body
    if answer.running and not is_dry and not body["generations"]:
        return _searched(request, body, workspace, given.wait)
    if is_dry or not body["generations"]:
        return Response(body)
    if given.wait and not _held_back(request, body, given.wait):
        return _waited(body, given.wait, lambda: _outcome(body))
    return Response(body, status=202)


def _command_of(given: LineSent) -> registry.Command | None:
    """The command that was sent; None for a line that cannot be read."""
    if given.command is not None:
        return by_name.arguments_of(given.command, given.args or {})[0]
    try:
        parsed = lines.read(given.line or "", registry.language())
    except ParseError:
        return None
    return registry.find(parsed.verb, parsed.form)


def _demand_one(given: LineSent) -> None:
    """Refuses a request with neither, or both, of a line and a command."""
    if (given.line is None) == (given.command is None) or (given.line and given.args is not None):
        raise CommandError(
            "INVALID_SYNTAX",
            "A request has either a line, or a command and its args.",
            hint='such as {"line": "tag a7x2 #seen"}, or '
            '{"command": "tag", "args": {"ref": "a7x2", "names": ["seen"]}}',
        )


def _held_back(request: Request, body: dict[str, Any], wait_s: float) -> bool:
    """Whether the response waits without this thread; it is sent as 200 once all candidates have
    ended, or unchanged if that takes longer."""
    wait = Wait(frozenset(body["generations"]), wait_s, lambda: _outcome(body)[1])
    return hold(request._request, wait)


SEARCH_WAIT_S = 20.0  # seconds; a web search ends before that, with results or an error


def _searched(
    request: Request, body: dict[str, Any], workspace: Workspace, wait_s: float | None
) -> Response:
    """The answer of a web search once it has ended; 202 if that takes longer."""
    steps = Step.objects.filter(workspace__participant=workspace.participant_id)
    step = steps.get(workspace__tree=workspace.tree_id, seq=body["step"])
    search = web_search.of_step(step)
    if search is None:
        return Response(body)
    seconds = wait_s or SEARCH_WAIT_S
    wait = Wait(frozenset({of_search(search.uid)}), seconds, lambda: _answer_of(body, step)[1])
    if hold(request._request, wait):
        return Response(body, status=202)
    return _waited(body, seconds, lambda: _answer_of(body, step))


def _answer_of(body: dict[str, Any], step: Step) -> tuple[bool, dict[str, Any]]:
    """Whether a search has ended, and its results. Raises CommandError if it failed."""
    search = web_search.of_step(step)
    if search is None or search.ended_at is None:
        return False, body
    if search.error:
        error = search.error
        refused = CommandError(
            error["code"], error["message"], hint=error["hint"], retryable=error["retryable"]
        )
        raise _named(refused, body)
    step.refresh_from_db(fields=["message"])
    return True, {**body, "reply": step.message}


def _waited(
    body: dict[str, Any], wait_s: float, outcome: Callable[[], tuple[bool, dict[str, Any]]]
) -> Response:
    """The response once it is complete, where a thread has to wait: on servers without ASGI."""
    end = time.monotonic() + wait_s
    while True:
        is_done, answer = outcome()
        if is_done:
            return Response(answer)
        if time.monotonic() >= end:
            return Response(body, status=202)
        if not connection.in_atomic_block:
            connection.close()  # many may wait, and there are fewer connections
        time.sleep(min(LOOK_EVERY_S, max(0.0, end - time.monotonic())))


def _outcome(body: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether all candidates have ended, and the answer with their results. Raises CommandError if
    all of them failed."""
    is_done, reply, errors = outcome_of(body["generations"])
    if is_done and not reply.refs and errors:
        raise _failed(body, errors[0])
    # The last line said that they were started; one before it, that typed text became a node.
    before, newline, _ = body["reply"].rpartition("\n")
    return is_done, {**body, "reply": before + newline + reply.text, "refs": list(reply.refs)}


def _failed(body: dict[str, Any], error: dict[str, Any]) -> CommandError:
    code, retryable = error.get("code", "MODEL_ERROR"), bool(error.get("retryable"))
    refused = CommandError(
        code,
        str(error["message"]),
        hint=str(error.get("hint", "")) or "try again, or ask another model",
        is_size=code == "LIMIT_EXCEEDED" and not retryable,  # other limits pass
        retryable=retryable,
    )
    return _named(refused, body)


def _named(refused: CommandError, body: dict[str, Any]) -> CommandError:
    """The refusal, with the line and the step that it is about."""
    refused.canonical = body["canonical"]
    refused.step = body["step"]
    return refused


@operation("GET", "commands list", "All commands", answers=responses.Page[CommandForm])
@api_view(["GET"])
def every(request: Request) -> Response:
    """The registry: verb, syntax, help, group, class, permissions, JSON schema."""
    listed = catalogue()
    return Response({"count": len(listed), "results": listed})


class BudgetSchema(Returned):
    """The budget of a turn."""

    preset: Literal["quick", "standard", "thorough"]
    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int


class UsageSchema(Returned):
    """What a turn has used; `shown` is the line about it that people and models read."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int
    shown: str


class WantedTool(Returned):
    """An outside tool that a person has to allow, and the host of its server."""

    name: str
    host: str


class ExtensionSchema(Returned):
    """Additional steps and tokens that the agent asks for, and why; and the outside tool that it
    asks for, if it does."""

    steps: int
    tokens: int = 0
    why: str
    tool: WantedTool | None = None


class TurnSchema(Returned):
    """One turn. `answers_below` is the node that it answers below, `input` the caller's words;
    `generations` are its rounds in order, `steps` the numbers of its lines' steps in the agent's
    workspace; `node` is the answer once it has ended with one; `limit` is the part of its budget
    for whose sake it had to end."""

    id: str
    tree: str
    status: Literal[
        "queued",
        "leased",
        "assembling",
        "generating",
        "executing",
        "finishing",
        "done",
        "interrupted",
        "halted",
        "failed",
        "stopped",
    ]
    participant: str
    invoked_by: str
    point: str
    answers_below: str
    asked_in: str | None
    input: str | None
    form: Literal["continuation", "aside"] = Field(alias="as")
    budget: BudgetSchema
    usage: UsageSchema
    limit: Literal["day", "steps", "items", "rounds", "tokens", "time"] | None
    extension: ExtensionSchema | None
    generations: list[str]
    steps: list[int]
    node: str | None
    finish: str | None
    error: dict[str, Any] | None
    created_at: str
    ended_at: str | None


# Turns: starting, reading and stopping them.


@operation(
    "POST",
    "turns start",
    "Ask an agent to act",
    body=TurnSent,
    answers={202: TurnSchema},
)
@api_view(["POST"])
def turns_in_tree(request: Request, uid: str) -> Response:
    """Starts a turn of a loom-aware agent at a node; it continues after this response."""
    actor, tree = access.get_tree(user_of(request), uid)
    sent = read(request, TurnSent)
    wanted = turn_lifecycle.TurnStartArgs(**sent.model_dump())
    return Response(turn_body(turn_lifecycle.start(actor, tree, wanted)), status=202)


@operation("GET", "turns one", "A turn", answers=TurnSchema)
@api_view(["GET"])
def turn(request: Request, uid: str) -> Response:
    """A turn: its progress, and what it has used."""
    _, turn = turn_access.get_turn(user_of(request), uid)
    return Response(turn_body(turn))


@operation(
    "POST",
    "turns extend",
    "Give a turn more steps or tokens",
    body=ExtensionSent,
    answers=TurnSchema,
)
@api_view(["POST"])
def extend(request: Request, uid: str) -> Response:
    """Grants a running turn more steps or tokens than its preset has."""
    actor, turn = turn_access.get_turn(user_of(request), uid)
    sent = read(request, ExtensionSent)
    if not (sent.steps or sent.tokens):
        raise CommandError("INVALID_SYNTAX", "How many more?", hint='{"steps": 20}')
    turn_lifecycle.extend(actor, turn, sent.steps, sent.tokens)
    return Response(turn_body(turns().get(pk=turn.pk)))


@operation(
    "POST",
    "turns stop",
    "Stop a turn",
    answers={200: TurnSchema, 202: TurnSchema},
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Stops a turn; what it has written is kept. 202 if it has not ended yet."""
    actor, turn = turn_access.get_turn(user_of(request), uid)
    access.demand(actor, {GENERATE}, "stop")
    turn_lifecycle.ask_stop(turn)

    def body() -> dict[str, Any]:
        return turn_body(turns().get(pk=turn.pk))

    has_ended = hold_until_stopped(request, of_turn(turn.uid), body)
    return Response(body(), status=200 if has_ended else 202)
