"""The HTTP protocol of the web process: uvicorn's, with the limits that it lacks.

Started by `uvicorn --http config.http:Limited`. A client that opens connections and sends its
headers slowly, or never, would otherwise hold a file descriptor of the process forever.
"""

import asyncio
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 20.0  # from the first byte of a connection or request until its headers are complete
HEADER_BYTES = 64 * 1024
CONNECTIONS = 800  # including sockets; most systems allow a process 1,024 file descriptors
CONNECTIONS_FROM = 200  # from one address; proxies and this machine itself have no limit


class Limited(HttpToolsProtocol):
    """Closes connections beyond the limits, and those whose headers are late or too long."""

    _due: asyncio.TimerHandle | None = None
    _header_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accepts the connection, or closes it at once if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS or self._has_too_many():
            transport.close()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting for headers."""
        self._stop_waiting()
        super().connection_lost(exc)

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
        """Runs the request. Its body may take as long as it needs."""
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._due = self.loop.call_later(HEADERS_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        self._due = None
        if not self.transport.is_closing():
            self.transport.close()

    def _count(self, size: int) -> None:
        """Adds to the length of the request's head. Raises ValueError, which is answered with 400,
        if it is too long: httptools itself has no limit."""
        self._header_bytes += size
        if self._header_bytes > HEADER_BYTES:
            raise ValueError("the head of the request is too long")

    def _has_too_many(self) -> bool:
        host = self.client[0] if self.client else ""
        if not host or _is_trusted(host):
            return False
        from_here = (getattr(one, "client", None) for one in self.connections)
        return sum(1 for one in from_here if one and one[0] == host) > CONNECTIONS_FROM


def _is_trusted(host: str) -> bool:
    """Whether many connections may come from this address: this machine, or a named proxy."""
    try:
        address: Any = ip_address(host)
    except ValueError:
        return False
    networks = (ip_network(one, strict=False) for one in settings.PROXIES)
    return address.is_loopback or any(address in network for network in networks)
