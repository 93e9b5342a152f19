"""Generations and calls over the API: looking, stopping, and the evidence."""

from typing import Any, Literal

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.agent_prompt import Place, assembled, next_place
from agents.context.agent_request import Sent
from agents.context.truncation import TooLong
from agents.subject_prompt import too_long
from loom import access
from loom.api.auth import user_of
from loom.api.waiting import ended_within
from loom.commands import generation_lifecycle
from loom.models import Generation
from loom.queries import provenance
from loom.rules.errors import CommandError
from loom.rules.permissions import GENERATE
from loom.rules.provider_kinds import RESERVE


class GenerationBody(BaseModel):
    """One candidate. `text` is what came so far, `chunk` how many pieces; `node` is its node
    once it has ended with a text, `note` what was cut from the path it read."""

    id: str
    tree: str
    participant: str
    point: str
    index: int
    batch: str
    status: Literal["queued", "running", "done", "stopped", "interrupted", "failed"]
    text: str
    chunk: int
    finish: str | None
    node: str | None
    call: str | None
    error: dict[str, Any] | None
    usage: dict[str, Any]
    note: str


class CallBody(BaseModel):
    """One exchange with a provider, without keys. `response` is the start of the body as
    text; `sha256` that of its bytes, transfer coding removed. Not `open`: whoever asks may
    not see every item it holds, and gets no texts; `sections` are names and lengths."""

    id: str
    tree: str
    participant: str
    origin: str | None
    turn: str | None
    purpose: str
    provider: str
    configuration: str
    open: bool
    request: dict[str, Any]
    sections: list[dict[str, Any]]
    response: str
    length: int
    bytes: Literal["exact", "reassembled"]
    status: int | None
    headers: dict[str, str]
    sha256: str
    usage: dict[str, Any]
    note: str
    strategy: str | None
    generations: list[str]
    nodes: list[str]
    started_at: str
    first_at: str | None
    sealed_at: str | None


class SectionBody(BaseModel):
    """A part of a request, and about how many tokens it has."""

    name: str
    tokens: int


class ContextBody(BaseModel):
    """What the next request will hold, its system text first."""

    messages: list[dict[str, str]]
    sections: list[SectionBody]
    tokens: int
    limit: int


def context_body(sent: Sent, place: Place, *, is_open: bool) -> ContextBody:
    """A request that was assembled, as the API gives it; not `is_open`: without its texts."""
    return ContextBody(
        messages=list(sent.bodies) if is_open else [],
        sections=[SectionBody(name=name, tokens=tokens) for name, tokens in sent.sections],
        tokens=sent.tokens,
        limit=place.actor.participant.context_limit - RESERVE,
    )


def generation_body(row: Generation) -> GenerationBody:
    """A generation as the API gives it."""
    status: Any = row.status
    return GenerationBody(
        id=row.uid,
        tree=row.tree.uid,
        participant=row.participant.uid,
        point=row.point.local_id,
        index=row.index,
        batch=row.batch,
        status=status,
        text=row.shown,
        chunk=row.chunk,
        finish=row.finish or None,
        node=row.node.local_id if row.node else None,
        call=row.call.uid if row.call else None,
        error=row.error,
        usage=row.usage,
        note=row.note,
    )


# Generations and calls over the API: looking, stopping, and the evidence.


@extend_schema(
    operation_id="generation",
    tags=["generations"],
    summary="One candidate",
    responses=GenerationBody,
)
@api_view(["GET"])
def generation(request: Request, uid: str) -> Response:
    """A generation with the text that has come so far."""
    _, row = access.get_generation(user_of(request), uid)
    return Response(generation_body(row).model_dump())


@extend_schema(
    operation_id="generation_stop",
    tags=["generations"],
    summary="Stop a candidate",
    request=None,
    responses={200: GenerationBody, 202: GenerationBody},
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Ends a generation; what has come is kept as a node. 202 where it has not ended yet."""
    actor, row = access.get_generation(user_of(request), uid)
    access.demand(actor, {GENERATE}, "stop")
    generation_lifecycle.ask_stop(row)

    def has_ended() -> bool:
        row.refresh_from_db()
        return row.status not in generation_lifecycle.OPEN_STATUSES

    status = 200 if ended_within(has_ended) else 202
    return Response(generation_body(row).model_dump(), status=status)


@extend_schema(
    operation_id="workspace_context",
    tags=["workspaces"],
    summary="What the next request will hold",
    responses=ContextBody,
)
@api_view(["GET"])
def context(request: Request, uid: str) -> Response:
    """What an agent is sent next at its position: in its current turn, or in one that the
    caller would ask for there."""
    member, workspace = access.get_workspace(user_of(request), uid)
    try:
        place = next_place(member, workspace)
        is_open = place.turn is None or access.may_read_turn(member, place.turn)
        body = context_body(assembled(place), place, is_open=is_open)
        return Response(body.model_dump())
    except TooLong as long:
        raise too_long(long) from None


@extend_schema(
    operation_id="call",
    tags=["calls"],
    summary="One exchange with a provider",
    responses=CallBody,
)
@api_view(["GET"])
def call(request: Request, uid: str) -> Response:
    """What was sent and what came back, without keys."""
    actor, row = access.get_call(user_of(request), uid)
    return Response(provenance.seen(row, is_open=access.may_read_call(actor, row)).body())


@extend_schema(
    operation_id="call_response",
    tags=["calls"],
    summary="The bytes a provider answered",
    responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
)
@api_view(["GET"])
def response(request: Request, uid: str) -> HttpResponse:
    """The body exactly as it was received, transfer coding removed."""
    actor, row = access.get_call(user_of(request), uid)
    if not access.may_read_call(actor, row):
        raise CommandError(
            "PERMISSION_DENIED",
            "This call contains text that you may not see.",
            hint="Ask an owner.",
        )
    if row.sealed_at is None:
        raise CommandError(
            "UNAVAILABLE", "The response has not ended yet.", hint="Ask again later."
        )
    found = provenance.response_of(row)
    if found is None:
        hint = "GET …/verify says what it is evidence of"
        raise CommandError("UNAVAILABLE", provenance.DAMAGED, hint=hint, retryable=False)
    answer = HttpResponse(found, content_type="application/octet-stream")
    answer["Content-Disposition"] = f'attachment; filename="{row.uid}.bin"'
    return answer
