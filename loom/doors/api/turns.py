"""Turns over the API: asking an agent to act, looking, stopping."""

import time

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import turns
from loom.doors.api import bodies, turn_shapes
from loom.doors.api.auth import user_of
from loom.doors.api.body import read
from loom.doors.api.schema import operation
from loom.models.turns import OPEN_TURN
from loom.queries.turns import turn_body
from loom.queries.turns import turns as rows

STOP_S = 3.0
LOOK_S = 0.05


@operation(
    "POST",
    "turns start",
    "Ask an agent to act",
    body=bodies.TurnSent,
    answers={202: turn_shapes.Turn},
)
@api_view(["POST"])
def in_tree(request: Request, uid: str) -> Response:
    """Starts a turn of a loom-aware agent at a node; it goes on after this answer."""
    actor, tree = access.get_tree(user_of(request), uid)
    sent = read(request, bodies.TurnSent)
    wanted = turns.Wanted(**sent.model_dump())
    return Response(turn_body(turns.start(actor, tree, wanted)), status=202)


@operation("GET", "turns one", "A turn", answers=turn_shapes.Turn)
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
    answers=turn_shapes.Turn,
)
@api_view(["POST"])
def extend(request: Request, uid: str) -> Response:
    """Grants a turn that goes on more steps than its preset has."""
    actor, found = access.get_turn(user_of(request), uid)
    turns.extend(actor, found, read(request, bodies.StepsSent).steps)
    return Response(turn_body(rows().get(pk=found.pk)))


@operation(
    "POST",
    "turns stop",
    "Stop a turn",
    answers={200: turn_shapes.Turn, 202: turn_shapes.Turn},
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Ends a turn; what it has written is kept. 202 where it has not ended yet."""
    actor, found = access.get_turn(user_of(request), uid)
    access.demand(actor, frozenset("G"), "stop")  # type: ignore[arg-type]
    turns.ask_stop(found)
    until = time.monotonic() + STOP_S
    while True:
        found = rows().get(pk=found.pk)
        if found.status not in OPEN_TURN or time.monotonic() > until:
            break
        time.sleep(LOOK_S)
    return Response(turn_body(found), status=202 if found.status in OPEN_TURN else 200)
