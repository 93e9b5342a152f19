"""`GET /api/{trees,groves,workspaces}/{id}/events` with `Accept: text/event-stream`: the frames of
a socket as server-sent events, for programs without WebSockets. Needs an API key; resumes after
`Last-Event-ID`, else after `since`.

Each event of the log has its seq as `id`, so that a client which comes again names the last one it
has; frames that are not in the log (deltas, presence, heartbeats) have none.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from channels.db import database_sync_to_async

from loom.errors import CommandError
from loom.live.admission import Guest, SocketRefused, welcome
from loom.live.capacity import Place, capacity, refusal
from loom.live.consumers import hub
from loom.live.sockets import Socket

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

ADDRESS = re.compile(r"/api/(?P<kind>trees|groves|workspaces)/(?P<uid>[A-Za-z0-9]{1,32})/events")
STATUSES = {4400: 400, 4401: 401, 4404: 404}
RETRY_MS = 2000  # how long a client waits before it comes again
_SAID = {
    400: ("INVALID_SYNTAX", "since is not a number.", "send the last seq that you have"),
    401: ("UNAUTHENTICATED", "This needs an API key.", "send Authorization: Bearer KEY"),
    404: ("NOT_FOUND", "This was not found.", "check the id, and who you are"),
}


def is_wanted(scope: Scope) -> bool:
    """Whether a request asks for a stream of events."""
    if scope["method"] != "GET" or ADDRESS.fullmatch(scope["path"]) is None:
        return False
    accepted = (value for name, value in scope["headers"] if name == b"accept")
    return any(b"text/event-stream" in value for value in accepted)


async def handle(scope: Scope, receive: Receive, send: Send) -> None:
    """Serves one stream until its client goes, or loses access."""
    address = ADDRESS.fullmatch(scope["path"])
    if address is None:
        raise ValueError("is_wanted was not asked")
    async with capacity.place() as place:
        if place is not None:
            await _serve(address, scope, receive, send, place=place)
        else:
            await _refuse_with(send, refusal())


async def _serve(
    address: re.Match[str], scope: Scope, receive: Receive, send: Send, *, place: Place
) -> None:
    try:
        check = database_sync_to_async(welcome, thread_sensitive=False)
        guest: Guest = await check(_resumed(scope), address["kind"], address["uid"])
        place.take_for(guest.ticket.user_id)
    except SocketRefused as refused:
        await _refuse(send, STATUSES.get(refused.code, 404))
        return
    except CommandError as too_many:
        await _refuse_with(send, too_many)
        return
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    wire = EventWire(send)
    await wire.piece(f"retry: {RETRY_MS}\n\n")
    socket: Socket = await hub().join(guest, wire)
    gone = asyncio.ensure_future(_gone(receive, socket))
    try:
        await socket.run()
    finally:
        gone.cancel()
    await wire.end()


def _resumed(scope: Scope) -> Scope:
    """The request with `since` from Last-Event-ID, which a client sends when it comes again. Only
    keys are taken: a browser would send its cookie from any page."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
    last = dict(headers).get(b"last-event-id", b"")
    query = b"since=" + last if last else scope.get("query_string", b"")
    return {**scope, "headers": headers, "query_string": query}


async def _gone(receive: Receive, socket: Socket) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    socket.end()


class EventWire:
    """Writes the frames of a socket as events of a stream."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def piece(self, text: str) -> None:
        """Sends a piece of the stream."""
        message = {"type": "http.response.body", "body": text.encode(), "more_body": True}
        await self._send(message)

    async def send(self, text_data: str) -> None:
        """Sends one frame as an event of its type."""
        frame = json.loads(text_data)
        seq = frame["event"]["seq"] if frame["type"] == "event" else None
        head = f"id: {seq}\n" if seq is not None else ""
        await self.piece(f"{head}event: {frame['type']}\ndata: {text_data}\n\n")

    async def close(self, code: int) -> None:
        """Says with which code a socket would be closed."""
        await self.piece(f"event: close\ndata: {json.dumps({'code': code})}\n\n")

    async def end(self) -> None:
        """Ends the stream; a client that has gone does not matter."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _refuse(send: Send, status: int) -> None:
    code, message, hint = _SAID[status]
    body = {"ok": False, "code": code, "message": message, "hint": hint, "retryable": False}
    await _send_refusal(send, status, body)


async def _refuse_with(send: Send, refused: CommandError) -> None:
    await _send_refusal(send, refused.status, refused.body)


async def _send_refusal(send: Send, status: int, body_sent: dict[str, Any]) -> None:
    body = json.dumps(body_sent).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
