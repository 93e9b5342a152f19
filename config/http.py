"""HTTP in the web process: uvicorn's protocol with limits, bodies limited, pages compressed.

The protocol is started by `uvicorn --http config.http:LimitedProtocol`.
"""

import asyncio
import contextlib
import json
import logging
import math
import re
import resource
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings
from django.middleware.gzip import GZipMiddleware

from loom.errors import CommandError
from loom.platform.networks import network_of
from loom.platform.upgrades import HttpProtocol

log = logging.getLogger("heddle.http")

# The protocol. A client that opens connections and sends its headers slowly, or never, or stops in
# the middle of a body, would otherwise hold a file descriptor of the process forever.

HEADERS_S = 20.0  # from the first byte of a connection or request until its headers are complete
STALLED_S = 5.0  # without a byte, after which a connection is closed if a new one needs its place
BODY_S = 30.0  # without a byte of a body that is still to come; a slow one that moves goes on
# For a client that takes nothing of its answer, or lets what is closed not end.
UNREAD_S, CLOSING_S = 120.0, 30.0
HEADER_BYTES = 64 * 1024
# Connections for requests, beyond the sockets that a process may hold: sockets are refused before
# requests are.
ROOM = 200
# File descriptors beside those of connections: of the database for each thread, of the broker, of
# files.
DESCRIPTORS = 400
CONNECTIONS_FROM = 200  # from one network; proxies and this machine itself have no limit


class LimitedProtocol(HttpProtocol):
    """Closes connections beyond the limits, and those whose headers are late or too long, or whose
    body has stopped."""

    _due: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _moved_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accepts the connection, or closes it at once if there are too many."""
        super().connection_made(transport)
        if self._has_too_many() or not self._has_room():
            transport.close()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting for headers or a body."""
        self._stop_waiting()
        self._is_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Waits for a client that does not read its answer, but not forever."""
        super().pause_writing()
        self._is_read()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Goes on with the answer."""
        self._is_read()
        super().resume_writing()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def on_message_begin(self) -> None:
        """Starts another request on the connection."""
        super().on_message_begin()
        self._header_bytes = 0
        self._wait()

    def on_url(self, url: bytes) -> None:
        """Receives a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Receives a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Runs the request. Its body may take as long as it needs while it moves."""
        self._stop_waiting()
        super().on_headers_complete()
        self._moved_at = self.loop.time()
        self._due = self.loop.call_later(BODY_S, self._look_at_body)

    def on_body(self, body: bytes) -> None:
        """Receives a part of the body."""
        self._moved_at = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends the body: the answer may take as long as it needs."""
        self._stop_waiting()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Gives the connection to the protocol of sockets, which has times of its own."""
        self._stop_waiting()
        super().handle_websocket_upgrade()

    def _wait(self) -> None:
        self._stop_waiting()
        self._moved_at = self.loop.time()
        self._due = self.loop.call_later(HEADERS_S, self._give_up)

    def _look_at_body(self) -> None:
        """Gives a body up that has not moved for BODY_S. While nothing is read, as the request
        waits for a thread or has not taken what came, it is not the client that is slow."""
        now = self.loop.time()
        if self._is_our_turn:
            self._moved_at = now
        left = self._moved_at + BODY_S - now
        if left > 0:
            self._due = self.loop.call_later(left, self._look_at_body)
        else:
            self._give_up()

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        self._due = None
        self._close()

    def _close(self) -> None:
        """Closes the connection, at last also if its client does not take what was sent."""
        if not self.transport.is_closing():
            self.transport.close()
            self.loop.call_later(CLOSING_S, self.transport.abort)

    def _count(self, size: int) -> None:
        """Adds to the length of the request's head. Raises ValueError, which is answered with 400,
        if it is too long: httptools itself has no limit."""
        self._header_bytes += size
        if self._header_bytes > HEADER_BYTES:
            raise ValueError("the head of the request is too long")

    def _has_room(self) -> bool:
        """Whether there is room, or a connection that makes room."""
        if len(self.connections) <= settings.SOCKETS + ROOM:
            return True
        return _makes_room(self.connections)

    @property
    def idle_s(self) -> float:
        """For how many seconds nothing has come that is waited for: another request, for which
        browsers keep a connection open after each page, or the rest of one; 0 if it is our turn,
        or the connection closes."""
        if self.transport.is_closing():
            return 0.0
        if self.timeout_keep_alive_task is not None:
            return math.inf
        return 0.0 if self._due is None or self._is_our_turn else self.loop.time() - self._moved_at

    @property
    def _is_our_turn(self) -> bool:
        """Whether the client cannot send, as nothing is read or it waits for leave to."""
        is_waiting = self.cycle is not None and self.cycle.waiting_for_100_continue
        return bool(self.flow.read_paused or is_waiting)

    def _has_too_many(self) -> bool:
        """Whether there are too many from here, none of which makes room."""
        host = self.client[0] if self.client else ""
        if not host or _is_trusted(host):
            return False
        network = network_of(host)
        from_here = [
            other
            for other in self.connections
            if (client := getattr(other, "client", None)) and network_of(client[0]) == network
        ]
        return len(from_here) > CONNECTIONS_FROM and not _makes_room(from_here)


def _makes_room(connections: Iterable[object]) -> bool:
    """Closes the connection that has been idle for the longest time, if one has for STALLED_S."""
    limited = (other for other in connections if isinstance(other, LimitedProtocol))
    idle = max(limited, key=lambda other: other.idle_s, default=None)
    if idle is None or idle.idle_s <= STALLED_S:
        return False
    idle._close()
    return True


def _is_trusted(host: str) -> bool:
    """Whether many connections may come from this address: this machine, or a named proxy."""
    try:
        address: Any = ip_address(host)
    except ValueError:
        return False
    networks = (ip_network(proxy, strict=False) for proxy in settings.PROXIES)
    return address.is_loopback or any(address in network for network in networks)


def raise_descriptors() -> None:
    """Lets this process open as many files as its connections need: most systems give it 1,024 and
    allow it more. Warns if the system does not allow them."""
    needed = settings.SOCKETS + ROOM + DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < needed:
        log.warning("only %d files may be open, %d are needed (ulimit -n)", allowed, needed)


# Bodies.

Scope = dict[str, Any]
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MIB = 1024 * 1024
# The interfaces limit what they read, with better messages; this is for bodies that never end.
FILE_BYTES, BODY_BYTES = 513 * MIB, 32 * MIB
FILES = ("/api/import",)
# Of a body that is too large, how much is read and dropped before the answer, and for how long.
DROPPED_BYTES, DROPPING_S = 32 * MIB, 5.0
# Django reads a form before any view, also from somebody who has not signed in. Few have a long
# text.
FORM_BYTES = 256 * 1024
LONG_FORMS = re.compile(
    r"/trees/[^/]+/(line|about/head)|/documents/[^/]+/do/suggest"
    r"|/groves/[^/]+/(documents|participants/(?!models$)[^/]+)"
)

# What happens while a body of more than so many bytes comes; CommandError refuses it.
LetIn = tuple[int, Callable[[Scope], AbstractAsyncContextManager[None]]]


class _Refused(Exception):
    """The body is not read to its end."""

    def __init__(self, refused: CommandError) -> None:
        super().__init__(refused.message)
        self.refused = refused


async def bounded(
    application: Application, scope: Scope, receive: Receive, send: Send, large: LetIn | None = None
) -> None:
    """Runs an HTTP application; a body over its limit is answered with 413, and a `large` one only
    comes in if that lets it. Some of the rest is read and dropped first: a browser shows no answer
    while it is still sending."""
    most = _most(scope["path"])
    coming = AsyncExitStack()
    seen, has_answered = 0, False

    async def grown(size: int) -> None:
        """Refuses a body that has or will have this size. One that is let in once is let in."""
        nonlocal large
        if size > most:
            raise _Refused(_too_large())
        if large is None or size <= large[0]:
            return
        let_in, large = large[1], None
        try:
            await coming.enter_async_context(let_in(scope))
        except CommandError as refused:
            raise _Refused(refused) from None

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        await grown(seen)
        if not message.get("more_body"):
            await coming.aclose()
        return message

    async def noted(message: Message) -> None:
        nonlocal has_answered
        has_answered = True
        await send(message)

    try:
        await grown(_announced(scope))
        await application(scope, counted, noted)
    except _Refused as error:
        if not has_answered:
            await _drop_rest(receive)
            await _refuse(send, error.refused)
    finally:
        await coming.aclose()


def _too_large() -> CommandError:
    return CommandError(
        "LIMIT_EXCEEDED", "The body is too large.", hint="send less at once", is_size=True
    )


def _most(path: str) -> int:
    """How many bytes a body sent to this address may have."""
    if path in FILES:
        return FILE_BYTES
    is_long = path.startswith("/api/") or LONG_FORMS.fullmatch(path)
    return BODY_BYTES if is_long else min(FORM_BYTES, BODY_BYTES)


def _announced(scope: Scope) -> int:
    """The value of Content-Length; 0 if it is missing or cannot be read."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    return int(length) if length.isdigit() and len(length) < 20 else 0


async def _drop_rest(receive: Receive) -> None:
    """Reads on to the end of the body, as far as DROPPED_BYTES and for DROPPING_S."""
    dropped = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DROPPING_S):
            while dropped < DROPPED_BYTES:
                message = await receive()
                dropped += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body"):
                    return


async def _refuse(send: Send, refused: CommandError) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if refused.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="Heddle"'))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(refused.body).encode()})


# Pages are compressed.


class Pages(GZipMiddleware):
    """Django's own middleware, which hides the length of what it compresses, for pages only: a long
    path becomes a tenth of its size. The API compresses its responses itself where that pays."""

    def process_response(self, request: Any, response: Any) -> Any:
        """The page, compressed if the browser accepts that. Not what is sent in pieces: Django
        compresses each by itself, and browsers stop after the first."""
        is_page = (
            response.get("Content-Type", "").startswith("text/html") and not response.streaming
        )
        return super().process_response(request, response) if is_page else response
