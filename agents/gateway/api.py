"""Gateway keys and sessions in the API. Keys belong to a person; so do the sessions of their
programs, whose trees all members of the grove read."""

from typing import Any, Literal

from django.urls import URLPattern, URLResolver, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.gateway import attaching, hiding, queries
from agents.gateway import keys as commands
from agents.gateway.keys import MOST_DAYS, MOST_NAME
from agents.gateway.models import GatewayKey, GatewaySession
from loom import access
from loom.site import responses
from loom.site.api_requests import Body, demand_browser, read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, an_id, operation, paged, word
from loom.text.hashes import instant, instant_or_none


class GatewayKeySent(Body):
    """A new gateway key: its name, the model participant whose provider it calls, its mode, and the
    days until it expires (null: never)."""

    name: str = Field(min_length=1, max_length=MOST_NAME)
    participant: str = Field(min_length=1, max_length=32)
    mode: Literal["observe", "workspace"] = "observe"
    days: int | None = Field(None, ge=1, le=MOST_DAYS)


class GatewayKeyBody(Returned):
    """A gateway key; `hint` is its last characters, to recognise it by."""

    id: str
    name: str
    hint: str
    mode: Literal["observe", "workspace"]
    participant: str
    grove: str
    created_at: str
    last_used_at: str | None
    expires_at: str | None


class NewGatewayKey(GatewayKeyBody):
    """A gateway key with its secret, which is shown only once."""

    key: str


class GatewaySessionBody(Returned):
    """A session of a program: what it calls itself, its tree, and its subagent's parent."""

    id: str
    name: str
    agent: str
    parent: str | None
    key: str
    tree: str
    workspace: str
    transcript: str | None
    grove: str
    program: str
    requests: int
    created_at: str
    seen_at: str


class ResultBody(Returned):
    """A result of a tool in the last request of a session, by the program's own id: the number of
    its message (from 1) and its size. To hide it `saves` tokens (about) of each later request, and
    its provider reads `rereads` tokens again, for `usd`; `why_not` says what hangs on it."""

    tool_use_id: str
    tool: str
    message: int
    length: int
    tokens: int
    is_error: bool
    state: Literal["visible", "hidden"]
    saves: int
    rereads: int
    usd: float | None
    why_not: str


class ResultSent(Body):
    """Whether a result is sent. `anyway` gives a marked cache up; `dry_run` changes nothing."""

    tool_use_id: str = Field(min_length=1, max_length=256)
    visible: bool
    anyway: bool = False
    dry_run: bool = False


class SessionSent(Body):
    """The tree whose workspace a session is sent, null for its own; and what it is told was said
    before, null for what was said. What is left out stays."""

    workspace: str | None = Field(None, max_length=32)
    transcript: str | None = Field(None, max_length=attaching.MOST_TRANSCRIPT)


class SessionState(Returned):
    """The last requests of a session, newest first, and the results of tools in the last one.
    `not_recorded` says why its requests pass without being recorded, as those of a session whose
    tree is archived do."""

    requests: list[dict[str, Any]]
    results: list[ResultBody]
    not_recorded: str | None


class RequestBody(Returned):
    """A request's body, without keys; null if it is no longer kept whole."""

    request: str
    at: str
    body: dict[str, Any] | None


def _key(key: GatewayKey) -> dict[str, object]:
    return {
        "id": key.uid,
        "name": key.name,
        "hint": key.hint,
        "mode": key.mode,
        "participant": key.participant.uid,
        "grove": key.participant.grove.uid,
        "created_at": instant(key.created_at),
        "last_used_at": instant_or_none(key.last_used_at),
        "expires_at": instant_or_none(key.expires_at),
    }


@operation(
    "GET", "gateway keys", "Gateway keys", answers=responses.Page[GatewayKeyBody], asks=PAGES
)
@operation(
    "POST",
    "gateway make_key",
    "Make a gateway key, shown only once",
    body=GatewayKeySent,
    answers=NewGatewayKey,
    status=201,
)
@api_view(["GET", "POST"])
def gateway_keys(request: Request) -> Response:
    """The caller's gateway keys that are not revoked; or a new one with its secret."""
    user = user_of(request)
    if request.method == "POST":
        demand_browser(request, "cannot make another key", page="Programs")
        sent = read(request, GatewayKeySent)
        key, secret = commands.make_key(
            user, sent.participant, name=sent.name, mode=sent.mode, days=sent.days
        )
        return Response({**_key(key), "key": secret}, status=201)
    return paged(request, commands.keys_of(user), _key)


@operation("DELETE", "gateway revoke_key", "Revoke a gateway key", answers=responses.Gone)
@api_view(["DELETE"])
def gateway_key(request: Request, uid: str) -> Response:
    """Revokes a gateway key: its next request is refused."""
    demand_browser(request, "cannot revoke a gateway key", page="Programs")
    commands.revoke_key(user_of(request), uid)
    return Response({"ok": True})


def _session(session: GatewaySession) -> dict[str, object]:
    return {
        "id": session.uid,
        "name": session.name,
        "agent": session.agent,
        "parent": session.parent.uid if session.parent else None,
        "key": session.key.uid,
        "tree": session.tree.uid,
        "workspace": (session.attached or session.tree).uid,
        "transcript": session.transcript,
        "grove": session.tree.grove.uid,
        "program": session.program,
        "requests": getattr(session, "request_count", 0),
        "created_at": instant(session.created_at),
        "seen_at": instant(session.seen_at),
    }


@operation(
    "GET",
    "gateway sessions",
    "Sessions of the caller's programs",
    answers=responses.Page[GatewaySessionBody],
    asks=(
        *PAGES,
        an_id("tree", "Only those of this tree."),
    ),
)
@api_view(["GET"])
def sessions(request: Request) -> Response:
    """The sessions of the caller's programs, the last used first."""
    rows = queries.sessions_of(user_of(request))
    tree = word(request, "tree")
    return paged(request, rows.filter(tree__uid=tree) if tree else rows, _session)


@operation("GET", "gateway session", "A session of a program", answers=GatewaySessionBody)
@operation(
    "PATCH",
    "gateway attach",
    "Send a session another workspace or transcript",
    body=SessionSent,
    answers=GatewaySessionBody,
)
@api_view(["GET", "PATCH"])
def session(request: Request, uid: str) -> Response:
    """One session of the caller's programs. A PATCH names the tree of its grove whose workspace it
    is sent, for keys of the mode workspace: that of a conversation which was cleared, for example;
    or says what it is told was said before.
    """
    user = user_of(request)
    asked_session = queries.get_session(user, uid)
    if request.method == "PATCH":
        sent = read(request, SessionSent)
        if "workspace" in sent.model_fields_set:
            attaching.attach(user, asked_session, sent.workspace or "")
        if "transcript" in sent.model_fields_set:
            attaching.set_transcript(user, asked_session, sent.transcript)
        asked_session = queries.get_session(user, uid)
    return Response(_session(asked_session))


ASKS = (
    OpenApiParameter("request", OpenApiTypes.STR, description="One of the last 20; default: last."),
)


def _body(request: Request, uid: str, *, original: bool) -> Response:
    asked_session = queries.get_session(user_of(request), uid)
    gateway_request = queries.get_request(
        asked_session, request.query_params.get("request", "")[:32]
    )
    return Response(queries.body_of(gateway_request, original=original))


@operation("GET", "gateway original", "What a program sent", answers=RequestBody, asks=ASKS)
@api_view(["GET"])
def original(request: Request, uid: str) -> Response:
    """The body of the last request, or of `request`, as the program sent it."""
    return _body(request, uid, original=True)


@operation("GET", "gateway modified", "What its provider was sent", answers=RequestBody, asks=ASKS)
@api_view(["GET"])
def modified(request: Request, uid: str) -> Response:
    """The body of the last request, or of `request`, as it went to the provider."""
    return _body(request, uid, original=False)


@operation(
    "POST",
    "gateway result",
    "Hide a result of a tool, or show it again",
    body=ResultSent,
    answers=ResultBody,
)
@api_view(["POST"])
def result(request: Request, uid: str) -> Response:
    """Hides a result in every later request of a session, or shows it again."""
    user = user_of(request)
    asked_session = queries.get_session(user, uid)
    sent = read(request, ResultSent)
    actor = access.get_actor_in(user, asked_session.tree_id)
    changed = hiding.change(
        actor,
        asked_session,
        sent.tool_use_id,
        visible=sent.visible,
        anyway=sent.anyway,
        dry_run=sent.dry_run,
    )
    return Response(queries.result_body(changed))


@operation("GET", "gateway state", "The state of a session", answers=SessionState)
@api_view(["GET"])
def state(request: Request, uid: str) -> Response:
    """The last requests of a session, and the results of tools in the last one."""
    return Response(queries.state_of(queries.get_session(user_of(request), uid)))


urlpatterns: list[URLPattern | URLResolver] = [
    path("gateway-keys", gateway_keys),
    path("gateway-keys/<id:uid>", gateway_key),
    path("sessions", sessions),
    path("sessions/<id:uid>", session),
    path("sessions/<id:uid>/original", original),
    path("sessions/<id:uid>/modified", modified),
    path("sessions/<id:uid>/state", state),
    path("sessions/<id:uid>/results", result),
]
