"""Bounds bodies as they come in: Django writes all of a body to disk before it asks anybody."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MIB = 1024 * 1024
# The doors bound what they read themselves and say so better; this is for what never ends.
FILE_BYTES, BODY_BYTES = 257 * MIB, 32 * MIB
FILES = ("/api/import",)

_SAID = json.dumps(
    {
        "ok": False,
        "code": "LIMIT_EXCEEDED",
        "message": "The body is too big.",
        "hint": "send less at once",
        "retryable": True,
    }
).encode()


class _TooBig(Exception):
    """More came than is taken."""


async def bounded(application: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Runs an HTTP application; a body over its bound is 413, and read no further."""
    most = FILE_BYTES if scope["path"] in FILES else BODY_BYTES
    seen, has_answered = 0, False

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise _TooBig
        return message

    async def noted(message: Message) -> None:
        nonlocal has_answered
        has_answered = True
        await send(message)

    try:
        if _announced(scope) > most:
            raise _TooBig
        await application(scope, counted, noted)
    except _TooBig:
        if not has_answered:
            await _refuse(send)


def _announced(scope: Scope) -> int:
    """What Content-Length says; 0 where it says nothing that can be read."""
    found = dict(scope["headers"]).get(b"content-length", b"")
    return int(found) if found.isdigit() and len(found) < 20 else 0


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _SAID})
