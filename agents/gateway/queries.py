"""Reading sessions of the gateway, for the person whose programs they are."""

import re
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from agents.gateway.comparing import ComparedPart, compared
from agents.gateway.hiding import HidableResult, results_of
from agents.gateway.messages import chain, history_of
from agents.gateway.models import GatewayRequest, GatewaySession, Mode
from agents.gateway.recording import KEPT_REQUESTS
from agents.gateway.workspace import words_before
from loom import access
from loom.errors import CommandError, not_found
from loom.people.models import User
from loom.text.hashes import instant, instant_or_none
from loom.trees.models import Tree

MOST_LISTED = 20


def sessions_of(user: User) -> QuerySet[GatewaySession]:
    """The sessions of the person's programs in trees that they may still read, the last used
    first."""
    rows = GatewaySession.objects.filter(key__user=user, tree__in=access.visible_trees(user))
    rows = rows.select_related("key__participant", "tree__grove", "parent", "attached")
    # For the listed sessions alone: a join would count the requests of all of them first.
    counted = GatewayRequest.objects.filter(session=OuterRef("pk")).order_by().values("session")
    requests = Subquery(counted.annotate(count=Count("pk")).values("count"))
    return rows.annotate(request_count=Coalesce(requests, 0)).order_by("-seen_at", "-id")


def get_session(user: User, uid: str) -> GatewaySession:
    """One session of the person's programs. Raises NOT_FOUND."""
    session = sessions_of(user).filter(uid=uid).first()
    if session is None:
        raise not_found("This session")
    return session


def get_request(session: GatewaySession, uid: str = "") -> GatewayRequest:
    """A request of a session, the last one without a `uid`. Raises NOT_FOUND."""
    rows = GatewayRequest.objects.filter(session=session).select_related("call")
    request = rows.filter(uid=uid).first() if uid else rows.first()
    if request is None:
        raise not_found("A request of this session")
    return request


def body_of(request: GatewayRequest, *, original: bool) -> dict[str, Any]:
    """A request as its program sent it, or as it went to the provider."""
    sent = request.call.request.get("body")
    body = request.original or sent if original else sent
    return {"request": request.uid, "at": instant(request.created_at), "body": body}


def state_of(session: GatewaySession) -> dict[str, Any]:
    """The last requests of a session, newest first, the results of tools in the last one, and why
    later ones are not recorded."""
    rows = GatewayRequest.objects.filter(session=session).select_related("call", "point")
    requests = list(rows[:KEPT_REQUESTS])
    return {
        "requests": [_request_body(request) for request in requests],
        "results": [result_body(result) for result in results_of(session)],
        "not_recorded": _not_recorded(session),
    }


def _not_recorded(session: GatewaySession) -> str | None:
    """Why requests of a session are not recorded; None if they are."""
    try:
        access.demand_writable(session.tree)
    except CommandError as refused:
        return refused.message
    return None


def result_body(hidable: HidableResult) -> dict[str, Any]:
    """A result of a tool as the API shows it."""
    return {
        "tool_use_id": hidable.result.tool_use_id,
        "tool": hidable.result.tool,
        "message": hidable.result.message,
        "length": hidable.result.length,
        "tokens": hidable.result.tokens,
        "is_error": hidable.result.is_error,
        "state": "hidden" if hidable.is_hidden else "visible",
        "saves": hidable.hiding.saves,
        "rereads": hidable.hiding.rereads,
        "usd": hidable.usd,
        "why_not": hidable.why_not,
    }


def _request_body(request: GatewayRequest) -> dict[str, Any]:
    call = request.call
    return {
        "id": request.uid,
        "call": call.uid,
        "shape": request.shape,
        "point": request.point.local_id,
        "status": request.status,
        "bypass": request.bypass,
        "http_status": call.status,
        "usage": call.usage,
        "created_at": instant(request.created_at),
        "ended_at": instant_or_none(request.ended_at),
    }


def requests_of(session: GatewaySession) -> QuerySet[GatewayRequest]:
    """The last requests of a session, newest first."""
    rows = GatewayRequest.objects.filter(session=session).select_related("call")
    return rows[:KEPT_REQUESTS]


def compared_bodies(request: GatewayRequest) -> list[ComparedPart]:
    """What the program sent beside what its provider got; nothing if it is no longer kept."""
    sent = request.call.request.get("body") or {}
    if not any(sent.get(name) for name in ("messages", "input", "prompt")):
        return []
    return compared(request.shape, request.original or sent, sent)  # type: ignore[arg-type]


def children_of(user: User, session: GatewaySession) -> list[GatewaySession]:
    """The sessions of its subagents, the last used first."""
    return list(sessions_of(user).filter(parent=session)[:MOST_LISTED])


def other_trees(user: User, session: GatewaySession) -> list[Tree]:
    """The trees whose workspace a session may be sent: of the person's other sessions in the grove,
    the last used first."""
    rows = sessions_of(user).filter(tree__grove=session.tree.grove).exclude(tree=session.tree)
    trees = {row.tree.pk: row.tree for row in rows[:MOST_LISTED]}
    if session.attached is not None:
        trees.setdefault(session.attached.pk, session.attached)
    return list(trees.values())


_STATUS = re.compile(r"---STATUS\n([^\n]*)")


def sizes_of(request: GatewayRequest) -> str:
    """The sizes of the parts of a request as its model was told them last: the STATUS line of the
    workspace; "" if it was sent none."""
    sent = request.call.request.get("body") or {}
    added = [
        block["text"]
        for message in history_of(request.shape, sent).messages  # type: ignore[arg-type]
        for block in message["blocks"]
        if block["type"] == "text" and "---WORKSPACE revision" in block["text"]
    ]
    lines = _STATUS.findall(added[-1][added[-1].rindex("---WORKSPACE revision") :]) if added else []
    return str(lines[0]) if lines else ""


def transcript_shown(
    user: User, session: GatewaySession, newest: Sequence[GatewayRequest]
) -> str | None:
    """What a session is told was said before its present conversation; None for keys that pass
    everything unchanged."""
    if session.key.mode != Mode.WORKSPACE:
        return None
    if session.transcript is not None:
        return session.transcript
    original = newest[0].original if newest else {}
    messages = history_of(newest[0].shape, original).messages if original else ()  # type: ignore[arg-type]
    # A request that goes on from an answer that the provider keeps begins behind that.
    goes_on = bool(messages) and newest[0].shape == "responses"
    goes_on = goes_on and chain(messages)[-1] != newest[0].digest
    return words_before(user, session, messages, goes_on=goes_on)
