"""Generations, calls and requests in the API: reading and stopping them, and the stored
evidence."""

from dataclasses import asdict
from typing import Any, Literal

from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.next_request import (
    How,
    Next,
    PreviewOptions,
    RequestDifference,
    call_before,
    difference,
    next_request,
    point_of,
    priced,
    taught,
    usual,
)
from loom import access
from loom.access import Actor
from loom.errors import CommandError, not_found
from loom.people.models import Participant
from loom.permissions import GENERATE, in_order
from loom.reading.queries import provenance
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import a_choice, a_truth, an_id, operation, word
from loom.site.waiting import hold_until_stopped
from loom.text.hashes import instant
from loom.trees.models import Workspace
from loom.trees.queries import lookup
from loom.turns import access as turn_access
from loom.turns import generation_lifecycle, old_calls
from loom.turns.left_out import parts_in
from loom.turns.models import Generation


class GenerationBody(Returned):
    """One candidate. `text` is the text so far, `chunk` the number of pieces; `node` is its node
    once it has ended with a text, `note` says what was cut from its path."""

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


class CallBody(Returned):
    """One exchange with a provider, without keys. `response` is the start of the body as text;
    `sha256` is the hash of its bytes, transfer coding removed. Unless `open`, the caller may not
    see every item in it, and gets no texts; `sections` are names and lengths."""

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
    thoughts: list[str]
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


class SectionBody(Returned):
    """A part of a request: its exact text and its approximate number of tokens. `detail` says what
    it contains, `count` how many nodes, rounds or paragraphs that names; `note` why it is there, or
    what was shortened or left out and why; `nodes` are the ids of those whose texts it contains."""

    name: str
    tokens: int
    text: str
    detail: str
    note: str
    nodes: list[str] = []
    count: int | None = None


class PriceBody(Returned):
    """Tokens of the whole request, and USD: to send it, to send it if its beginning is in the
    provider's cache, and for the longest answer; null if no price is known."""

    tokens: int
    how: Literal["counted", "estimated"]
    usd: float | None
    cached_usd: float | None
    answer_usd: float | None


class DifferenceBody(Returned):
    """The difference from the previous request: its call, the share of this text that both begin
    with, and the lines that differ, as in a unified diff; `cut`: there are more of them."""

    call: str
    at: str
    share: float
    lines: list[str]
    cut: bool


class ContextBody(Returned):
    """What the next request will contain: the messages of a chat, system first, or a `prompt`.
    Unless `open`, the caller may not see every item in it, and gets no texts. `tokens` is the sum
    of the sections, `limit` the maximum for all of them."""

    participant: str
    how: Literal["turn", "continue"]
    node: str
    open: bool
    messages: list[dict[str, str]]
    prompt: str | None
    sections: list[SectionBody]
    tokens: int
    limit: int
    note: str
    price: PriceBody
    before: DifferenceBody | None


def context_body(preview: Next, before: RequestDifference | None) -> ContextBody:
    """A request that was not sent, as the API returns it."""
    sections = [
        SectionBody(
            **(
                asdict(part)
                if preview.is_open
                else {**asdict(part), "text": "", "note": "", "nodes": ()}
            )
        )
        for part in preview.portions
    ]
    shown = preview.is_open and before is not None
    return ContextBody(
        participant=preview.options.participant.uid,
        how=preview.options.how,
        node=preview.options.node.local_id,
        open=preview.is_open,
        messages=[dict(message) for message in preview.messages] if preview.is_open else [],
        prompt=preview.prompt if preview.is_open else None,
        sections=sections,
        tokens=sum(part.tokens for part in preview.portions),
        limit=preview.limit,
        note=preview.note,
        price=PriceBody(**priced(preview, before.same if before else 0)),
        before=_difference_body(before, len(preview.text)) if before and shown else None,
    )


def _difference_body(differing: RequestDifference, length: int) -> DifferenceBody:
    return DifferenceBody(
        call=differing.call.uid,
        at=instant(differing.call.started_at),
        share=round(differing.same / max(length, 1), 4),
        lines=list(differing.lines),
        cut=differing.is_cut,
    )


def generation_body(actor: Actor, row: Generation) -> GenerationBody:
    """A generation as the API returns it; without the text of a round of a turn that has lines
    which the actor may not see."""
    status: Any = row.status
    is_open = not row.round or row.turn is None or turn_access.may_read_turn(actor, row.turn)
    return GenerationBody(
        id=row.uid,
        tree=row.tree.uid,
        participant=row.participant.uid,
        point=row.point.local_id,
        index=row.index,
        batch=row.batch,
        status=status,
        text=row.shown if is_open else "",
        chunk=row.chunk,
        finish=row.finish or None,
        node=row.node.local_id if row.node else None,
        call=row.call.uid if row.call else None,
        error=row.error,
        usage=row.usage,
        note=row.note,
    )


# Generations and calls.


@operation(
    "GET",
    "generations",
    "One candidate",
    id="generation",
    answers=GenerationBody,
)
@api_view(["GET"])
def generation(request: Request, uid: str) -> Response:
    """A generation with its text so far."""
    actor, row = turn_access.get_generation(user_of(request), uid)
    return Response(generation_body(actor, row).model_dump())


@operation(
    "POST",
    "generations",
    "Stop a candidate",
    id="generation_stop",
    answers={200: GenerationBody, 202: GenerationBody},
)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Stops a generation; its text so far becomes a node. 202 if it has not ended yet."""
    actor, row = turn_access.get_generation(user_of(request), uid)
    access.demand(actor, {GENERATE}, "stop")
    generation_lifecycle.ask_stop(row)

    def body() -> dict[str, Any]:
        now = turn_access.get_generation(user_of(request), uid)[1]
        return generation_body(actor, now).model_dump()

    has_ended = hold_until_stopped(request, row.uid, body)
    return Response(body(), status=200 if has_ended else 202)


@operation(
    "GET",
    "workspaces",
    "What the next request will hold",
    id="workspace_context",
    answers=ContextBody,
    asks=(
        an_id("participant", "Whom to ask, of the grove; needed for a person's workspace."),
        an_id("node", "Where; without it an agent's turn at its position, else yours."),
        an_id("how", "turn or continue; without it a turn of a loom-aware agent."),
        a_truth("draft", "Whether what you typed there in a buffer, and did not add, counts."),
        OpenApiParameter(
            "without",
            OpenApiTypes.STR,
            description="Parts that a continuation leaves out, as in its option without.",
        ),
    ),
)
@api_view(["GET"])
def context(request: Request, uid: str) -> Response:
    """What a participant is sent next: in its current turn, or where the caller would start a turn
    or ask for a candidate. Nothing is stored, and no provider is called."""
    member, workspace = access.get_workspace(user_of(request), uid)
    options = _options(request, member, workspace)
    preview = next_request(member, workspace.tree, options)
    before = call_before(member, workspace.tree, options) if preview.is_open else None
    body = context_body(preview, difference(preview, before) if before else None)
    return Response(body.model_dump())


def _options(request: Request, member: Actor, workspace: Workspace) -> PreviewOptions:
    agent, tree = _asked(request, member, workspace), workspace.tree
    given = word(request, "how")
    if given not in ("", "turn", "continue"):
        raise CommandError("INVALID_SYNTAX", "how is turn or continue.", hint="?how=continue")
    how: How = "turn" if given == "turn" else "continue" if given else usual(agent)
    named = word(request, "node")
    node = lookup.find_named(tree, named)
    if named and node is None:
        raise not_found(f"[{named[:20]}]")
    is_agents = how == "turn" and workspace.participant_id == agent.pk
    if node is None and not is_agents:
        own = access.workspace_of(member.participant, tree)
        node = point_of(member, tree, own)
    if node is None:
        node = point_of(member, tree, workspace)
    with_draft = word(request, "draft") in ("1", "true")
    without = parts_in(request.query_params.get("without", ""))
    return PreviewOptions(agent, node, how, with_draft, bool(named), without)


def _asked(request: Request, member: Actor, workspace: Workspace) -> Participant:
    uid = word(request, "participant")
    if workspace.participant.kind == "model":
        if uid not in ("", workspace.participant.uid):
            raise CommandError(
                "INVALID_SYNTAX",
                "This workspace is another participant's.",
                hint="leave participant out",
            )
        return workspace.participant
    if not uid:
        raise CommandError(
            "INVALID_SYNTAX", "participant is missing.", hint="?participant=ID names a model"
        )
    participant = Participant.objects.filter(grove=member.grove, uid=uid, kind="model").first()
    if participant is None:
        raise not_found("This participant")
    return participant


class TaughtBody(Returned):
    """What a participant is taught: the permissions that apply when the caller asks it, and its
    INSTRUCTIONS; "" for one that is sent text only."""

    permissions: list[str]
    instructions: str


@operation(
    "GET",
    "participants",
    "What a participant is taught",
    id="participant_taught",
    answers=TaughtBody,
    asks=(a_choice("mode", "Of the tree; without it: dialogue.", ("dialogue", "buffer")),),
)
@api_view(["GET"])
def instructed(request: Request, uid: str) -> Response:
    """The INSTRUCTIONS of an agent if the caller asks it, before any call."""
    member, agent = access.get_participant(user_of(request), uid)
    mode = word(request, "mode")
    if mode not in ("", "dialogue", "buffer"):
        raise CommandError(
            "INVALID_SYNTAX", "mode is dialogue or buffer.", hint="leave it out for dialogue"
        )
    if agent.kind != "model":
        raise CommandError("REJECTED", f"{agent.name} is a person.", hint="choose a model")
    text = taught(member, agent, "buffer" if mode == "buffer" else "dialogue")
    named = in_order(access.acting_as(member, agent).permissions) if text else []
    return Response(TaughtBody(permissions=list(named), instructions=text).model_dump())


@operation(
    "GET",
    "calls",
    "One exchange with a provider",
    id="call",
    answers=CallBody,
)
@api_view(["GET"])
def call(request: Request, uid: str) -> Response:
    """The request and the response, without keys."""
    actor, row = turn_access.get_call(user_of(request), uid)
    return Response(provenance.seen(row, is_open=turn_access.may_read_call(actor, row)).body())


@operation(
    "GET",
    "calls",
    "The bytes a provider answered",
    id="call_response",
    answers={(200, "application/octet-stream"): OpenApiTypes.BINARY},
)
@api_view(["GET"])
def response(request: Request, uid: str) -> HttpResponse:
    """The body exactly as it was received, transfer coding removed."""
    actor, row = turn_access.get_call(user_of(request), uid)
    if not turn_access.may_read_call(actor, row):
        raise CommandError(
            "PERMISSION_DENIED",
            "This call contains text that you may not see.",
            hint="Ask an owner.",
        )
    if row.sealed_at is None:
        raise CommandError(
            "UNAVAILABLE", "The response has not ended yet.", hint="Ask again later."
        )
    if old_calls.is_gone(row, "response"):
        raise CommandError(
            "NOT_FOUND", old_calls.ANSWER_GONE, hint="GET /api/calls/{id} has its hash and counts"
        )
    response_bytes = provenance.response_of(row)
    if response_bytes is None:
        hint = "GET …/verify says what it is evidence of"
        raise CommandError("UNAVAILABLE", provenance.DAMAGED, hint=hint, retryable=False)
    answer = HttpResponse(response_bytes, content_type="application/octet-stream")
    answer["Content-Disposition"] = f'attachment; filename="{row.uid}.bin"'
    return answer


urlpatterns: list[URLPattern | URLResolver] = [
    path("generations/<id:uid>", generation),
    path("generations/<id:uid>/stop", stop),
    path("workspaces/<id:uid>/context", context),
    path("participants/<id:uid>/instructions", instructed),
    path("calls/<id:uid>", call),
    path("calls/<id:uid>/response", response),
]
