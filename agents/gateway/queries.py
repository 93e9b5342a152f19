"""Reading sessions of the gateway, for the person whose programs they are."""

from typing import Any

from django.db.models import Count, QuerySet

from agents.gateway.messages import history_of
from agents.gateway.models import GatewayRequest, GatewaySession
from agents.gateway.recording import KEPT_REQUESTS
from loom import access
from loom.errors import not_found
from loom.people.models import User
from loom.text.hashes import instant, instant_or_none


def sessions_of(user: User) -> QuerySet[GatewaySession]:
    """The sessions of the person's programs in trees that they may still read, the last used
    first."""
    rows = GatewaySession.objects.filter(key__user=user, tree__in=access.visible_trees(user))
    rows = rows.select_related("key", "tree__grove", "parent")
    return rows.annotate(request_count=Count("requests"))


def get_session(user: User, uid: str) -> GatewaySession:
    """One session of the person's programs. Raises NOT_FOUND."""
    found = sessions_of(user).filter(uid=uid).first()
    if found is None:
        raise not_found("This session")
    return found


def last_body(session: GatewaySession, *, original: bool) -> dict[str, Any]:
    """The last request of a session: as its program sent it, or as it went to the provider."""
    rows = GatewayRequest.objects.filter(session=session).select_related("call")
    request = rows.first()
    if request is None:
        raise not_found("A request of this session")
    sent = request.call.request.get("body")
    body = request.original or sent if original else sent
    return {"request": request.uid, "at": instant(request.created_at), "body": body}


def state_of(session: GatewaySession) -> dict[str, Any]:
    """The last requests of a session, newest first, and the results of tools in the last one."""
    rows = GatewayRequest.objects.filter(session=session).select_related("call", "point")
    requests = list(rows[:KEPT_REQUESTS])
    results = _results(requests[0]) if requests else []
    return {"requests": [_request_body(one) for one in requests], "results": results}


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


def _results(request: GatewayRequest) -> list[dict[str, Any]]:
    """The results of tools in a request, in order: the number of their message (from 1), the
    program's id, their size in characters, and whether they are errors."""
    body = request.original or request.call.request.get("body") or {}
    messages = history_of(request.shape, body).messages  # type: ignore[arg-type]
    return [
        {
            "message": number,
            "tool_use_id": block["tool_use_id"],
            "length": len(block["content"]),
            "is_error": block["is_error"],
        }
        for number, message in enumerate(messages, 1)
        for block in message["blocks"]
        if block["type"] == "tool_result"
    ]
