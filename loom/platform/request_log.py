"""One line of the log for each request: its id, who asked, what of, the status and the time. Only
where the operator wants lines of JSON (`HEDDLE_LOG=json`); config/logs.py writes them. Where the
operator wants traces, each request becomes a span, too."""

import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import LazyObject, empty

from loom.platform import traces

log = logging.getLogger("heddle.request")

# What a proxy or program calls a request, if it does: an id, nothing that could be a text.
GIVEN = re.compile(r"[A-Za-z0-9-]{8,64}")
HEADER = b"x-request-id"
# First parts of the addresses that are answered without Django, and so have no route.
PLAIN = ("gateway", "mcp", "metrics", "api", "static")


@dataclass
class LoggedRequest:
    """A request that is being answered. `who` is the id of an account, 0 for nobody; `route` is
    what the address looks like, with names in place of ids and secrets."""

    uid: str
    method: str
    route: str
    who: int = 0
    status: int | None = None  # until it is known
    began: float = field(default_factory=time.perf_counter)

    @property
    def fields(self) -> dict[str, object]:
        """What its line says."""
        return {
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": round((time.perf_counter() - self.began) * 1000, 1),
        }


current: ContextVar[LoggedRequest | None] = ContextVar("logged request", default=None)


def name_account(pk: int) -> None:
    """Says who asks, once their key or session is known."""
    request = current.get()
    if request is not None:
        request.who = pk


def note(request: HttpRequest) -> None:
    """Says what a request was about, and who sent it if a view looked. No query is made for it."""
    logged = current.get()
    if logged is None:
        return
    match = request.resolver_match
    if match is not None:
        logged.route = f"/{match.route}"
    user: Any = getattr(request, "user", None)
    if user is None or (isinstance(user, LazyObject) and user.__dict__.get("_wrapped") is empty):
        return
    logged.who = user.pk or 0


async def logged(
    application: Callable[..., Awaitable[None]], scope: dict[str, Any], receive: Any, send: Any
) -> None:
    """Runs an application; afterwards a line or a span is written, and the answer has the id of
    the request."""
    if settings.LOG_FORMAT != "json" and not settings.TRACES_URL:
        await application(scope, receive, send)
        return
    began_ns = time.time_ns()
    headers = dict(scope["headers"])
    given = headers.get(HEADER, b"").decode("latin-1")
    uid = given if GIVEN.fullmatch(given) else uuid.uuid4().hex
    first = scope["path"].split("/")[1] if "/" in scope["path"] else ""
    request = LoggedRequest(uid, scope["method"], f"/{first}" if first in PLAIN else "")

    async def noted(message: Any) -> None:
        if message["type"] == "http.response.start":
            request.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), (HEADER, uid.encode())]}
        await send(message)

    mark = current.set(request)
    try:
        await application(scope, receive, noted)
    finally:
        if settings.LOG_FORMAT == "json":
            log.info("request", extra={"fields": request.fields})
        if settings.TRACES_URL:
            traces.add_request(
                {"traceparent": headers.get(b"traceparent", b"").decode("latin-1")},
                began_ns=began_ns,
                method=request.method,
                route=request.route,
                status=request.status,
            )
        current.reset(mark)
