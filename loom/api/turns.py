"""Turns over the API: asking an agent to act, looking, stopping."""

from typing import Any, Literal

from pydantic import BaseModel, Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.api import bodies
from loom.api.auth import user_of
from loom.api.bodies import read
from loom.api.schema import operation
from loom.api.waiting import ended_within
from loom.commands import turn_lifecycle
from loom.models.generations import OPEN_TURN
from loom.queries.workspaces import turn_body
from loom.queries.workspaces import turns as rows
from loom.rules.permissions import GENERATE


class Budget(BaseModel):
    """What a turn may use."""

    preset: Literal["quick", "standard", "thorough"]
    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int


class Usage(BaseModel):
    """What a turn has used; `shown` is the line of it that people and models read."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int
    shown: str


class Extension(BaseModel):
    """More steps that the agent asks its people for, and why."""

    steps: int
    why: str


class Turn(BaseModel):
    """One turn. `stands` is the node it answers below, `input` what it was asked with;
    `generations` are its rounds in order, `steps` the numbers of its lines' steps in the
    agent's workspace; `node` is the answer once it has ended with one."""

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
    stands: str
    input: str | None
    form: Literal["continuation", "aside"] = Field(alias="as")
    budget: Budget
    usage: Usage
    extension: Extension | None
    generations: list[str]
    steps: list[int]
    node: str | None
    finish: str | None
    error: dict[str, Any] | None
    created_at: str
    ended_at: str | None


# Turns over the API: asking an agent to act, looking, stopping.


@operation(
    "POST",
    "turns start",
    "Ask an agent to act",
    body=bodies.TurnSent,
    answers={202: Turn},
)
@api_view(["POST"])
def in_tree(request: Request, uid: str) -> Response:
    """Starts a turn of a loom-aware agent at a node; it goes on after this answer."""
    actor, tree = access.get_tree(user_of(request), uid)
    sent = read(request, bodies.TurnSent)
    wanted = turn_lifecycle.Wanted(**sent.model_dump())
    return Response(turn_body(turn_lifecycle.start(actor, tree, wanted)), status=202)


@operation("GET", "turns one", "A turn", answers=Turn)
@api_view(["GET"])
def turn(request: Request, uid: str) -> Response:
    """A turn: how far it has come, and what it used."""
    _, found = access.get_turn(user_of(request), uid)
    return Response(turn_body(found))


@operation(
    "POST",
    "turns extend",
    "Give a turn more steps",
    body=bodies.StepsSent,
    answers=Turn,
)
@api_view(["POST"])
def extend(request: Request, uid: str) -> Response:
    """Grants a turn that goes on more steps than its preset has."""
    actor, found = access.get_turn(user_of(request), uid)
    turn_lifecycle.extend(actor, found, read(request, bodies.StepsSent).steps)
    return Response(turn_body(rows().get(pk=found.pk)))


@operation(
    "POST",
    "turns stop",
    "Stop a turn",
    answers={200: Turn, 202: Turn},
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Ends a turn; what it has written is kept. 202 where it has not ended yet."""
    actor, found = access.get_turn(user_of(request), uid)
    access.demand(actor, {GENERATE}, "stop")
    turn_lifecycle.ask_stop(found)

    def has_ended() -> bool:
        return rows().get(pk=found.pk).status not in OPEN_TURN

    status = 200 if ended_within(has_ended) else 202
    return Response(turn_body(rows().get(pk=found.pk)), status=status)
