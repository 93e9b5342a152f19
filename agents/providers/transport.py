"""The one way out: an httpx transport that resolves once, checks, and connects to the checked
address. No redirects, no proxies from the environment, no address that was not checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from ssl import PROTOCOL_TLS_CLIENT, SSLContext

import httpx

from agents.providers.address import Resolve, ask_system, checked_addresses, is_public
from agents.providers.failures import Broken, Failure
from loom.rules.addresses_allowed import Address, BadUrl, Target, read_url

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
