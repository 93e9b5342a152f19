"""One request and its answer as it comes, with limits of size and time; failures as values."""

import asyncio
import json
import math
import re
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import httpx

Kind = Literal[
    "auth",
    "rate",
    "credit",
    "context",
    "not_found",
    "invalid",
    "server",
    "network",
    "timeout",
    "filtered",
    "refused",
    "absent",
    "empty",
]
RETRYABLE: frozenset[Kind] = frozenset({"rate", "server", "network", "timeout", "absent", "empty"})

_SAID: dict[Kind, tuple[str, str]] = {
    "auth": ("The provider refused the key", "An owner has to enter a valid key."),
    "rate": ("The provider is rate limiting requests", "Wait, then try again."),
    "credit": (
        "The provider's account has no credit left",
        "Add credit at the provider, or continue with another participant.",
    ),
    "context": ("The text is too long for the model", "Continue from a shorter path."),
    "not_found": (
        "The provider does not have this model",
        "An owner has to correct the model's name.",
    ),
    "invalid": (
        "The provider refused the request",
        "An owner has to check the participant's settings.",
    ),
    "server": ("The provider failed", "Try again."),
    "network": ("The provider could not be reached", "Try again."),
    "timeout": ("The provider timed out", "Try again."),
    "empty": ("The model returned no text", "Try again."),
    "filtered": ("The provider's filter stopped the answer", "Change the text and try again."),
}


@dataclass(frozen=True)
class Failure:
    """Why a call gave no (whole) answer. `said` is the provider's own sentence or ours;
    `refused`: the address may not be called; `absent`: nothing is configured or running."""

    kind: Kind
    said: str = ""
    retry_after_s: float | None = None

    @property
    def error(self) -> dict[str, Any]:
        """The error of a generation: the body of docs/model.md §14.3 with the reason."""
        code, message, hint = self._words()
        return {
            "ok": False,
            "code": code,
            "message": message,
            "hint": hint,
            "retryable": self.kind in RETRYABLE,
            "reason": self.kind,
            "retry_after_s": self.retry_after_s,
        }

    def _words(self) -> tuple[str, str, str]:
        if self.kind == "refused":
            message, _, line = self.said.partition(". To allow it, ")
            return "REJECTED", f"{message.rstrip('.')}.", f"To allow it, {line}." if line else ""
        if self.kind == "absent":
            return "UNAVAILABLE", self.said, "Start it, or continue with another participant."
        message, hint = _SAID[self.kind]
        if self.retry_after_s:
            hint = f"Wait {_long(self.retry_after_s)}, then try again."
        return "MODEL_ERROR", f"{message}: {self.said}" if self.said else f"{message}.", hint


def _long(seconds: float) -> str:
    """A time to wait in words."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min"


class Broken(Exception):
    """Carries a failure through the code between a socket and an adapter; goes no further."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.said)
        self.failure = failure


_CONTEXT = re.compile(
    r"context.{0,20}(length|size|window|limit)|too many tokens|maximum.{0,30}tokens|"
    r"prompt is too long|exceed_context",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"insufficient.{0,3}(quota|credit|balance|funds)|credit balance|billing|payment required|"
    r"exceeded your current quota",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content.?(filter|policy)|moderation|safety", re.IGNORECASE)
_OF_STATUS: dict[int, Kind] = {
    401: "auth",
    402: "credit",
    403: "auth",
    404: "not_found",
    408: "timeout",
    429: "rate",
}


_TRACEBACK = re.compile(r'Traceback \(most recent call last\)|\bFile "[^"\n]{1,300}", line \d+')


def without_traceback(said: str) -> str:
    """What was said before a traceback of Python begins in it."""
    found = _TRACEBACK.search(said)
    if found is None:
        return said
    return said[: found.start()].rstrip(" \n:,") or "the server failed and sent a traceback"


def of_status(status: int, said: str, *, code: str = "", retry_after: str = "") -> Failure:
    """The failure that an HTTP status and the words beside it mean.

    `code` is the provider's own code or type; `retry_after` the header, seconds or a date.
    """
    kept = without_traceback(said)[:500]
    return Failure(_kind(status, f"{code} {said}"), kept, _seconds(retry_after))


def _kind(status: int, words: str) -> Kind:
    if status in (400, 402, 403, 429) and _CREDIT.search(words):
        return "credit"
    if status in (400, 413, 422) and _CONTEXT.search(words):
        return "context"
    if status in (400, 403) and _FILTERED.search(words):
        return "filtered"
    if status >= 500:
        return "server"
    return _OF_STATUS.get(status, "invalid")


def of_words(said: str, code: str = "") -> Failure:
    """The failure that an error inside a stream means, where there is no status."""
    words = f"{code} {said}"
    numbers = re.search(r"\b([45]\d\d)\b", code)
    if numbers:
        return of_status(int(numbers[1]), said, code=code)
    for pattern, kind in _WORDS:
        if pattern.search(words):
            return Failure(kind, without_traceback(said)[:500])
    return Failure("server", without_traceback(said)[:500])


_WORDS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (_CREDIT, "credit"),
    (_CONTEXT, "context"),
    (_FILTERED, "filtered"),
    (re.compile(r"rate.?limit|quota|too many requests", re.IGNORECASE), "rate"),
    (re.compile(r"api.?key|auth|permission", re.IGNORECASE), "auth"),
    (re.compile(r"not.?found|no such model", re.IGNORECASE), "not_found"),
    (re.compile(r"invalid", re.IGNORECASE), "invalid"),
    (re.compile(r"time.?out|timed out", re.IGNORECASE), "timeout"),
)


def _seconds(header: str) -> float | None:
    """The seconds of a Retry-After header, given as such or as a date. At most an hour."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    return min(seconds, 3600.0) if seconds >= 0 else None


# One request and its answer, as it comes: exact bytes, limits of size and time.


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

    @classmethod
    def of_json(cls, url: str, headers: dict[str, str], body: dict[str, Any]) -> "Outgoing":
        """A request of JSON with these headers besides the usual ones. Characters of other scripts
        go as they are: fewer bytes, and legible in the record."""
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return cls(url, {**_HEADERS, **headers}, sent.encode())


_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "identity",
    "user-agent": "heddle",
}


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
        """Whether a whole body can be distinguished from one that broke off."""
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
