"""All outgoing calls: the asyncio loop of the worker, where every provider call runs; an httpx
transport that resolves a name once, checks and pins the address; and a request with its answer,
with limits of size and time.

The loop has its own thread: a loop for each task would leave connections that belong to closed
loops. Rows are read and written in other threads, which return their database connection, and
retry if the database is busy.
"""

import asyncio
import json
import logging
import socket
import threading
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from ipaddress import ip_address
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any, ParamSpec, TypeVar

import httpx
import uvloop
from django.db import connection

from agents.providers.values import BrokenConnection, Failure
from loom.engine.busy import NOT_REACHED
from loom.participants.addresses import (
    Address,
    BadUrl,
    UrlTarget,
    not_public,
    read_url,
    unwrapped,
    why_not_address,
)

log = logging.getLogger("heddle.run")
PATIENCE_S = 90.0  # seconds; a stall of the database must not end a generation

T = TypeVar("T")
P = ParamSpec("P")

_lock = threading.Lock()
_started: list["LoopThread"] = []


class LoopThread:
    """An event loop that runs until the process ends."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self.rows = ThreadPoolExecutor(8, thread_name_prefix="rows")
        self.reading = ThreadPoolExecutor(2, thread_name_prefix="reading")
        # Beginning may mean to assemble a long request; running calls do not wait for it.
        self.beginning = ThreadPoolExecutor(8, thread_name_prefix="begin")
        thread = threading.Thread(target=self._run, name="providers", daemon=True)
        thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` on the loop and waits for it; only for other threads than the loop's."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


def the_loop() -> LoopThread:
    """The loop of this process, started on first use."""
    with _lock:
        if not _started:
            _started.append(LoopThread())
        return _started[0]


async def in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs a function that reads or writes rows in a thread beside the loop."""
    run = partial(_giving_back, partial(work, *args, **named))
    return await asyncio.get_running_loop().run_in_executor(the_loop().rows, run)


async def in_beginning(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs a function of a generation that begins in a thread beside the loop."""
    run = partial(_giving_back, partial(work, *args, **named))
    return await asyncio.get_running_loop().run_in_executor(the_loop().beginning, run)


def _giving_back(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        _give_back()


async def in_reading(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs a function that parses text and uses no rows in a thread of its own pool, so that it
    neither waits for a slow database nor delays writes."""
    read = partial(work, *args, **named)
    return await asyncio.get_running_loop().run_in_executor(the_loop().reading, read)


def _give_back() -> None:
    """Returns a pooled connection. A connection to SQLite is kept unless it failed, because a new
    one costs 1 ms at every write."""
    if connection.vendor != "sqlite" or connection.errors_occurred:
        connection.close()


def persistently(write: Callable[[], T]) -> T:
    """Runs `write`, and retries for PATIENCE_S if the database is busy; after that the sweeper
    does it."""
    until = time.monotonic() + PATIENCE_S
    pause_s = 0.2
    while True:
        try:
            return write()
        except NOT_REACHED:
            if time.monotonic() > until:
                raise
            log.warning("a busy database, once more", exc_info=True)
        time.sleep(pause_s)
        pause_s = min(2.0, pause_s * 2)


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
RESOLVE_S = 10


async def ask_system(host: str, port: int) -> Sequence[str]:
    """The addresses that the system's resolver returns for `host`, in its order."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in infos))


async def checked_addresses(
    target: UrlTarget, allow: Sequence[str], resolve: Resolve = ask_system
) -> list[Address]:
    """The addresses to connect to, in order. A single bad one refuses them all, so that a name
    cannot mix a public address with a private one. Raises Broken."""
    addresses = [target.literal] if target.literal is not None else await _ask(target, resolve)
    for address in addresses:
        why = why_not_address(address, target, allow)
        if why:
            raise BrokenConnection(Failure("refused", why))
    return [unwrapped(address) for address in addresses]


async def _ask(target: UrlTarget, resolve: Resolve) -> list[Address]:
    try:
        async with asyncio.timeout(RESOLVE_S):
            answers = await resolve(target.host, target.port)
        addresses: list[Address] = [ip_address(answer.partition("%")[0]) for answer in answers]
    except TimeoutError:
        raise BrokenConnection(
            Failure("timeout", f"no answer to the question where {target.host} is")
        ) from None
    except (OSError, ValueError, UnicodeError):
        raise BrokenConnection(Failure("network", f"{target.host} has no address")) from None
    if not addresses:
        raise BrokenConnection(Failure("network", f"{target.host} has no address"))
    return addresses


def is_public(address: Address) -> bool:
    """Whether the address is public: connections to others are never kept open."""
    return not not_public(address)


# An httpx transport that resolves once, checks, and connects to the checked address. No
# redirects, no proxies from the environment, no address that was not checked.


KEPT_TRANSPORTS = 32
KEPT_IDLE_S = 30


@cache
def _trusted() -> SSLContext:
    return httpx.create_ssl_context()


@cache
def _unused() -> SSLContext:
    """A TLS context for plain http, because httpx would otherwise make a new one each time."""
    return SSLContext(PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class _Way:
    """A checked address with the name that was resolved to it. Connections are kept for each such
    pair, so that two names with the same address never share one."""

    target: UrlTarget
    address: Address


class CheckedTransport(httpx.AsyncBaseTransport):
    """Sends requests to checked addresses only. Belongs to one event loop. Raises Broken if an
    address may not be called or a name has none, and httpx's own errors for what happens after
    that.
    """

    def __init__(self, allow: Sequence[str], resolve: Resolve = ask_system) -> None:
        self._allow = tuple(allow)
        self._resolve = resolve
        self._kept: dict[_Way, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the first checked address that accepts the connection."""
        target = _target_of(request)
        addresses = await checked_addresses(target, self._allow, self._resolve)
        for address in addresses[:-1]:
            try:
                return await self._send(request, _Way(target, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._send(request, _Way(target, addresses[-1]))

    async def _send(self, request: httpx.Request, way: _Way) -> httpx.Response:
        if way.target.scheme == "https" and is_public(way.address):
            transport = self._kept_for(way)
        else:
            # Small local servers close a kept connection after a stream without a word
            # (measured with llama.cpp's), so theirs are never used twice.
            transport = _new_transport(way, idle=0)
            request.headers["connection"] = "close"
        return await transport.handle_async_request(_pinned(request, way))

    def _kept_for(self, way: _Way) -> httpx.AsyncHTTPTransport:
        if way not in self._kept:
            while len(self._kept) >= KEPT_TRANSPORTS:
                # Not closed: an answer may still arrive over it. Its sockets are closed with it.
                del self._kept[next(iter(self._kept))]
            self._kept[way] = _new_transport(way, idle=8)
        return self._kept[way]

    async def aclose(self) -> None:
        """Closes the connections that are kept."""
        while self._kept:
            await self._kept.popitem()[1].aclose()


def _target_of(request: httpx.Request) -> UrlTarget:
    try:
        # A base_url has no query, but requests do (Gemini's `?alt=sse`).
        target = read_url(str(request.url.copy_with(query=None)))
    except BadUrl as bad:
        raise BrokenConnection(Failure("refused", str(bad))) from None
    if request.url.host.strip("[]").removesuffix(".") != target.host:
        raise BrokenConnection(Failure("refused", "The address can be read in two ways."))
    return target


def _new_transport(way: _Way, *, idle: int) -> httpx.AsyncHTTPTransport:
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=idle, keepalive_expiry=KEPT_IDLE_S
    )
    verify = _trusted() if way.target.scheme == "https" else _unused()
    return httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits)


def _pinned(request: httpx.Request, way: _Way) -> httpx.Request:
    """The request to the address itself; the Host header and the TLS server name stay."""
    extensions = {**request.extensions, "sni_hostname": way.target.host}
    return httpx.Request(
        request.method,
        request.url.copy_with(host=str(way.address)),
        headers=request.headers,
        stream=request.stream,
        extensions=extensions,
    )


# One request and its answer as it arrives: exact bytes, limits of size and time.


TRAILER_S = 2.0
Unpack = Callable[[bytes, int], bytes]


@dataclass(frozen=True)
class Limits:
    """Limits of an answer: `first_s` until the first piece of text, `idle_s` between two signs of
    life, `total_s` for everything; `body_bytes` as received and as unpacked."""

    connect_s: float = 10
    first_s: float = 120
    idle_s: float = 60
    total_s: float = 900
    body_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True)
class Outgoing:
    """A request as it goes out."""

    url: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

    @classmethod
    def of_json(cls, url: str, headers: dict[str, str], body: dict[str, Any]) -> "Outgoing":
        """A JSON request with these headers in addition to the usual ones. Characters of other
        scripts are not escaped: fewer bytes, and readable when stored."""
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return cls(url, {**_HEADERS, **headers}, sent.encode())


_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",
    "user-agent": "heddle",
}


class Clock:
    """The remaining time while an answer arrives."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        now = asyncio.get_running_loop().time()
        self._end = now + limits.total_s
        self._first = now + limits.first_s
        self._has_text = False
        self._idle_s = limits.idle_s

    def text_came(self) -> None:
        """From now on the limit between two signs of life applies."""
        self._has_text = True

    def text_ended(self) -> None:
        """Only token counts can follow, and they are not waited for long."""
        self._idle_s = min(self._idle_s, TRAILER_S)

    def deadline(self) -> float:
        """The time (of the loop) by which the next sign of life must arrive."""
        now = asyncio.get_running_loop().time()
        idle = now + self._idle_s
        return min(self._end, idle if self._has_text else self._first)

    def why(self) -> Failure:
        """The failure of a deadline that has passed."""
        limits = self._limits
        if asyncio.get_running_loop().time() >= self._end:
            return Failure("timeout", f"the answer did not end within {limits.total_s:g} s")
        if self._has_text:
            return Failure("timeout", f"nothing came for {limits.idle_s:g} s")
        return Failure("timeout", f"nothing came within {limits.first_s:g} s")


@dataclass
class Exchange:
    """An answer as it arrives. `body` grows with `chunks()` and contains the exact bytes, transfer
    coding removed."""

    response: httpx.Response
    limits: Limits
    clock: Clock
    body: bytearray = field(default_factory=bytearray)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def headers(self) -> dict[str, str]:
        """The answer's headers by lower-case name."""
        return {name.lower(): value for name, value in self.response.headers.items()}

    @property
    def is_framed(self) -> bool:
        """Whether a whole body can be told from one that broke off."""
        return "transfer-encoding" in self.headers or "content-length" in self.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, content coding removed. Raises Broken."""
        unpack = _unpacker(self.headers.get("content-encoding", ""))
        room = self.limits.body_bytes
        stream = aiter(self.response.stream)  # type: ignore[arg-type]
        while True:
            with broken_by():
                raw = await self._within(anext(stream, None))
            if raw is None:
                return
            self.body += raw
            chunk = unpack(raw, room + 1)
            room -= len(chunk)
            if room < 0 or len(self.body) > self.limits.body_bytes:
                raise BrokenConnection(
                    Failure("invalid", f"the answer is over {self.limits.body_bytes:,} bytes")
                )
            if chunk:
                yield chunk

    async def _within(self, coming: object) -> bytes | None:
        try:
            async with asyncio.timeout_at(self.clock.deadline()):
                return await coming  # type: ignore[misc,no-any-return]
        except TimeoutError:
            raise BrokenConnection(self.clock.why()) from None


@asynccontextmanager
async def exchange(
    transport: httpx.AsyncBaseTransport, outgoing: Outgoing, limits: Limits
) -> AsyncIterator[Exchange]:
    """Sends a request and yields its answer once the headers arrived. Raises Broken."""
    clock = Clock(limits)
    waits = {"connect": limits.connect_s, "read": None, "write": 60.0, "pool": limits.connect_s}
    with broken_by():
        request = httpx.Request(
            outgoing.method,
            outgoing.url,
            headers=outgoing.headers,
            content=outgoing.body,
            extensions={"timeout": waits},
        )
        try:
            async with asyncio.timeout_at(clock.deadline()):
                response = await transport.handle_async_request(request)
        except TimeoutError:
            raise BrokenConnection(clock.why()) from None
    try:
        yield Exchange(response, limits, clock)
    finally:
        await response.aclose()


@contextmanager
def broken_by() -> Iterator[None]:
    """Turns httpx's errors into Broken."""
    try:
        yield
    except httpx.TimeoutException:
        raise BrokenConnection(Failure("timeout", "the connection was not made in time")) from None
    except httpx.InvalidURL:
        raise BrokenConnection(Failure("refused", "The address cannot be read.")) from None
    except httpx.ConnectError as error:
        raise BrokenConnection(
            Failure("network", f"no connection: {_plain_words(error)}")
        ) from None
    except httpx.TransportError as error:
        raise BrokenConnection(
            Failure("network", f"the connection broke: {_plain_words(error)}")
        ) from None


def _plain_words(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__


class _Zlib:
    """Unpacks gzip and zlib, at most a given number of bytes at once."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def __call__(self, raw: bytes, room: int) -> bytes:
        try:
            return self._zlib.decompress(raw, room)
        except zlib.error:
            raise BrokenConnection(
                Failure("server", "the answer's compression is broken")
            ) from None


def _as_it_is(raw: bytes, room: int) -> bytes:
    return raw


def _unpacker(coding: str) -> Unpack:
    """The decoder of the content coding; only `identity` is requested, but some servers send
    others."""
    if coding.lower() in ("", "identity"):
        return _as_it_is
    if coding.lower() in ("gzip", "x-gzip", "deflate"):
        return _Zlib()
    raise BrokenConnection(Failure("server", f"the answer is coded as {coding[:20]}"))
