"""One request and its answer, as it comes: exact bytes, limits of size and time."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import httpx

from agents.providers.failures import Broken, Failure

TRAILER_S = 2.0
Unpack = Callable[[bytes, int], bytes]


@dataclass(frozen=True)
class Limits:
    """How long and how much: `first_s` until the first piece of text, `idle_s` between two
    signs of life, `total_s` for everything; `body_bytes` as received and as unpacked."""

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


class Clock:
    """What is left of the limits while an answer comes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        now = asyncio.get_running_loop().time()
        self._end = now + limits.total_s
        self._first = now + limits.first_s
        self._has_text = False
        self._idle_s = limits.idle_s

    def text_came(self) -> None:
        """From now on the limit is that between two signs of life."""
        self._has_text = True

    def text_ended(self) -> None:
        """Only counts may come now; they are not waited for long."""
        self._idle_s = min(self._idle_s, TRAILER_S)

    def deadline(self) -> float:
        """The loop's time until which the next sign of life must come."""
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
    """An answer as it comes. `body` grows with `chunks()` and holds the exact bytes, transfer
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
        """The body as it comes, content coding removed. Raises Broken."""
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
                raise Broken(
                    Failure("invalid", f"the answer is over {self.limits.body_bytes:,} bytes")
                )
            if chunk:
                yield chunk

    async def _within(self, coming: object) -> bytes | None:
        try:
            async with asyncio.timeout_at(self.clock.deadline()):
                return await coming  # type: ignore[misc,no-any-return]
        except TimeoutError:
            raise Broken(self.clock.why()) from None


@asynccontextmanager
async def exchange(
    transport: httpx.AsyncBaseTransport, outgoing: Outgoing, limits: Limits
) -> AsyncIterator[Exchange]:
    """Sends a POST and gives its answer once the headers are there. Raises Broken."""
    clock = Clock(limits)
    waits = {"connect": limits.connect_s, "read": None, "write": 60.0, "pool": limits.connect_s}
    with broken_by():
        request = httpx.Request(
            "POST",
            outgoing.url,
            headers=outgoing.headers,
            content=outgoing.body,
            extensions={"timeout": waits},
        )
        try:
            async with asyncio.timeout_at(clock.deadline()):
                response = await transport.handle_async_request(request)
        except TimeoutError:
            raise Broken(clock.why()) from None
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
        raise Broken(Failure("timeout", "the connection was not made in time")) from None
    except httpx.InvalidURL:
        raise Broken(Failure("refused", "The address cannot be read.")) from None
    except httpx.ConnectError as error:
        raise Broken(Failure("network", f"no connection: {_plain_words(error)}")) from None
    except httpx.TransportError as error:
        raise Broken(Failure("network", f"the connection broke: {_plain_words(error)}")) from None


def _plain_words(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__


class _Zlib:
    """Unpacks gzip and zlib, at most so many bytes at once."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def __call__(self, raw: bytes, room: int) -> bytes:
        try:
            return self._zlib.decompress(raw, room)
        except zlib.error:
            raise Broken(Failure("server", "the answer's compression is broken")) from None


def _as_it_is(raw: bytes, room: int) -> bytes:
    return raw


def _unpacker(coding: str) -> Unpack:
    """What takes the content coding off; only `identity` is asked for, some send more."""
    if coding.lower() in ("", "identity"):
        return _as_it_is
    if coding.lower() in ("gzip", "x-gzip", "deflate"):
        return _Zlib()
    raise Broken(Failure("server", f"the answer is coded as {coding[:20]}"))
