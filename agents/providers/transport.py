"""The one way out: the asyncio loop of the worker, where every provider call runs, and an httpx
transport that resolves once, checks and pins the address.

The loop has a thread of its own. A loop for each task would leave connections that belong to
loops that are gone. Rows are read and written beside it, in threads that give their database
connection back.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import ip_address
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any, ParamSpec, TypeVar

import httpx
import uvloop
from django.db import connection

from agents.providers.exchange import Broken, Failure
from loom.rules.providers import (
    Address,
    BadUrl,
    Target,
    not_public,
    read_url,
    unwrapped,
    why_not_address,
)

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
        # What begins may have to assemble a long request; what goes on does not wait for it.
        self.beginning = ThreadPoolExecutor(8, thread_name_prefix="begin")
        thread = threading.Thread(target=self._run, name="providers", daemon=True)
        thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` on the loop and waits for it; for other threads than the loop's."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


def the_loop() -> LoopThread:
    """The process's loop, started on first use."""
    with _lock:
        if not _started:
            _started.append(LoopThread())
        return _started[0]


async def in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs what reads or writes rows, beside the loop."""
    run = partial(_giving_back, partial(work, *args, **named))
    return await asyncio.get_running_loop().run_in_executor(the_loop().rows, run)


async def in_beginning(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """The same for what begins."""
    run = partial(_giving_back, partial(work, *args, **named))
    return await asyncio.get_running_loop().run_in_executor(the_loop().beginning, run)


def _giving_back(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        _give_back()


async def in_reading(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs what reads text and no rows, beside the loop: a database that hangs does not hold
    it up, and it holds up no row."""
    read = partial(work, *args, **named)
    return await asyncio.get_running_loop().run_in_executor(the_loop().reading, read)


def _give_back() -> None:
    """Gives a pooled connection back. One to SQLite is kept, since a new one costs 1 ms at
    every write, unless it failed."""
    if connection.vendor != "sqlite" or connection.errors_occurred:
        connection.close()


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
RESOLVE_S = 10


async def ask_system(host: str, port: int) -> Sequence[str]:
    """The addresses the system's resolver gives for `host`, in its order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


async def checked_addresses(
    target: Target, allow: Sequence[str], resolve: Resolve = ask_system
) -> list[Address]:
    """The addresses to connect to, in order. One bad answer spoils them all, so that a name
    cannot mix a public address with a private one. Raises Broken."""
    addresses = [target.literal] if target.literal is not None else await _ask(target, resolve)
    for address in addresses:
        why = why_not_address(address, target, allow)
        if why:
            raise Broken(Failure("refused", why))
    return [unwrapped(address) for address in addresses]


async def _ask(target: Target, resolve: Resolve) -> list[Address]:
    try:
        async with asyncio.timeout(RESOLVE_S):
            answers = await resolve(target.host, target.port)
        addresses: list[Address] = [ip_address(one.partition("%")[0]) for one in answers]
    except TimeoutError:
        raise Broken(
            Failure("timeout", f"no answer to the question where {target.host} is")
        ) from None
    except (OSError, ValueError, UnicodeError):
        raise Broken(Failure("network", f"{target.host} has no address")) from None
    if not addresses:
        raise Broken(Failure("network", f"{target.host} has no address"))
    return addresses


def is_public(address: Address) -> bool:
    """Whether anybody may have this address: connections to others are never kept open."""
    return not not_public(address)


# The one way out: an httpx transport that resolves once, checks, and connects to the checked
# address. No redirects, no proxies from the environment, no address that was not checked.


KEPT_TRANSPORTS = 32
KEPT_IDLE_S = 30


@cache
def _trusted() -> SSLContext:
    return httpx.create_ssl_context()


@cache
def _unused() -> SSLContext:
    """For plain http, where httpx would make a new one each time and never use it."""
    return SSLContext(PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class _Way:
    """A checked address under the name it was asked by. Connections are kept by way, so that
    two names behind one address never share one."""

    target: Target
    address: Address


class CheckedTransport(httpx.AsyncBaseTransport):
    """Sends requests to checked addresses only. Belongs to one event loop.

    Raises Broken where an address may not be called or a name has none, and httpx's own
    errors for what happens after that.
    """

    def __init__(self, allow: Sequence[str], resolve: Resolve = ask_system) -> None:
        self._allow = tuple(allow)
        self._resolve = resolve
        self._kept: dict[_Way, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the first checked address that takes the connection."""
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
                # Not closed: an answer may still come over it. Its sockets go with it.
                del self._kept[next(iter(self._kept))]
            self._kept[way] = _new_transport(way, idle=8)
        return self._kept[way]

    async def aclose(self) -> None:
        """Closes the connections that are kept."""
        while self._kept:
            await self._kept.popitem()[1].aclose()


def _target_of(request: httpx.Request) -> Target:
    try:
        # A base_url has no query, but requests do (Gemini's `?alt=sse`).
        target = read_url(str(request.url.copy_with(query=None)))
    except BadUrl as bad:
        raise Broken(Failure("refused", str(bad))) from None
    if request.url.host.strip("[]").removesuffix(".") != target.host:
        raise Broken(Failure("refused", "The address can be read in two ways."))
    return target


def _new_transport(way: _Way, *, idle: int) -> httpx.AsyncHTTPTransport:
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=idle, keepalive_expiry=KEPT_IDLE_S
    )
    verify = _trusted() if way.target.scheme == "https" else _unused()
    return httpx.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits)


def _pinned(request: httpx.Request, way: _Way) -> httpx.Request:
    """The request to the address itself; the Host header and the name in TLS stay."""
    extensions = {**request.extensions, "sni_hostname": way.target.host}
    return httpx.Request(
        request.method,
        request.url.copy_with(host=str(way.address)),
        headers=request.headers,
        stream=request.stream,
        extensions=extensions,
    )
