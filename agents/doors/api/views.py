"""Generations and calls over the API: looking, stopping, and the evidence."""

import time

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.assembling import assembled, next_place
from agents.context.fit import TooLong
from agents.doors.api import shapes
from loom import access
from loom.commands import landing
from loom.models import Generation, User
from loom.queries import calls
from loom.rules.refusals import Refused, not_found

STOP_S = 3.0  # a worker hears of a stop within about one second
LOOK_S = 0.05


@extend_schema(
    operation_id="generation",
    tags=["generations"],
    summary="One candidate",
    responses=shapes.GenerationBody,
)
@api_view(["GET"])
def generation(request: Request, uid: str) -> Response:
    """A generation with the text that has come so far."""
    _, row = access.get_generation(_user(request), _id(uid, "This generation"))
    return Response(shapes.generation_body(row).model_dump())


@extend_schema(
    operation_id="generation_stop",
    tags=["generations"],
    summary="Stop a candidate",
    request=None,
    responses={200: shapes.GenerationBody, 202: shapes.GenerationBody},
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Ends a generation; what has come is kept as a node. 202 where it has not ended yet."""
    actor, row = access.get_generation(_user(request), _id(uid, "This generation"))
    access.demand(actor, frozenset("G"), "stop")  # type: ignore[arg-type]
    landing.ask_stop(row)
    ended = _ended(row)
    return Response(shapes.generation_body(row).model_dump(), status=200 if ended else 202)


def _ended(row: Generation) -> bool:
    """Whether the generation has ended, waited for a moment; `row` is read anew."""
    until = time.monotonic() + STOP_S
    while True:
        row.refresh_from_db()
        if row.status not in landing.OPEN:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S)


@extend_schema(
    operation_id="workspace_context",
    tags=["workspaces"],
    summary="What the next request will hold",
    responses=shapes.ContextBody,
)
@api_view(["GET"])
def context(request: Request, uid: str) -> Response:
    """What an agent is sent next where it stands: of a turn that goes on, or of one that the
    caller would ask for there."""
    member, workspace = access.get_workspace(_user(request), _id(uid, "This workspace"))
    try:
        place = next_place(member, workspace)
        is_open = place.turn is None or access.may_read_turn(member, place.turn)
        body = shapes.context_body(assembled(place), place, is_open=is_open)
        return Response(body.model_dump())
    except TooLong as long:
        raise Refused("LIMIT_EXCEEDED", str(long), hint="Look at a shorter path.") from None


@extend_schema(
    operation_id="call",
    tags=["calls"],
    summary="One exchange with a provider",
    responses=shapes.CallBody,
)
@api_view(["GET"])
def call(request: Request, uid: str) -> Response:
    """What was sent and what came back, without keys."""
    actor, row = access.get_call(_user(request), _id(uid, "This call"))
    return Response(calls.seen(row, is_open=access.may_read_call(actor, row)).body())


@extend_schema(
    operation_id="call_response",
    tags=["calls"],
    summary="The bytes a provider answered",
    responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
)
@api_view(["GET"])
def response(request: Request, uid: str) -> HttpResponse:
    """The body exactly as it was received, transfer coding removed."""
    actor, row = access.get_call(_user(request), _id(uid, "This call"))
    if not access.may_read_call(actor, row):
        raise Refused(
            "PERMISSION_DENIED", "This call holds what you may not see.", hint="Ask an owner."
        )
    if row.sealed_at is None:
        raise Refused("UNAVAILABLE", "The answer has not ended yet.", hint="Ask again later.")
    found = calls.response_of(row)
    if found is None:
        hint = "GET …/verify says what it is evidence of"
        raise Refused("UNAVAILABLE", calls.DAMAGED, hint=hint, retryable=False)
    answer = HttpResponse(found, content_type="application/octet-stream")
    answer["Content-Disposition"] = f'attachment; filename="{row.uid}.bin"'
    return answer


def _user(request: Request) -> User:
    if not isinstance(request.user, User):
        raise Refused("UNAUTHENTICATED", "Nobody is signed in.", hint="Send a key.")
    return request.user


def _id(uid: str, what: str) -> str:
    """`uid` if it can be one: nothing else is looked up."""
    if not (uid.isascii() and uid.isalnum()):
        raise not_found(what)
    return uid
