"""One attempt at a provider: what it reports, and the record of what was sent and received."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx

from agents.providers.exchange import Broken, Exchange, Failure, Limits, Outgoing, exchange
from agents.providers.stream_events import Adapter, Ask, Body, Delta, Finished, StreamEvent, Usage

# Headers that may carry a secret, either way.
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "cookie", "set-cookie")
_TRIES = {"server": 3, "network": 3, "rate": 3, "timeout": 2}
MOST_TOKENS = 100_000_000  # what is counted beyond is made up, and what came is estimated
PATIENCE_S = 60  # a provider that asks for more is not waited for


@dataclass
class Attempt:
    """One request and what came back. The key is masked in headers, addresses and errors, where
    a provider may echo it; the text of a model stays as it came."""

    adapter: Adapter
    ask: Ask
    body: Body
    outgoing: Outgoing = field(init=False)
    came: Exchange | None = None
    usages: dict[int | None, dict[str, int]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    first_at: datetime | None = None

    def __post_init__(self) -> None:
        self.outgoing = self.adapter.outgoing(self.ask, self.body)

    async def told(
        self, transport: httpx.AsyncBaseTransport, limits: Limits
    ) -> AsyncGenerator[StreamEvent, None]:
        """The events of the answer; a failure, of whatever kind, is the last one."""
        try:
            async with exchange(transport, self.outgoing, limits) as came:
                self.came = came
                async with aclosing(self.adapter.told(came)) as telling:
                    async for told in telling:
                        if self._is_believed(told):
                            self._note(told, came)
                            yield self._without_key(told)
        except Broken as broken:
            yield self._without_key(broken.failure)

    def _is_believed(self, told: StreamEvent) -> bool:
        """Whether an event names a candidate that was asked for, and counts that are possible."""
        if isinstance(told, Usage):
            return all(0 <= count <= MOST_TOKENS for count in told.counts.values())
        return not isinstance(told, Delta | Finished) or 0 <= told.index < self.ask.many

    def _note(self, told: StreamEvent, came: Exchange) -> None:
        if isinstance(told, Delta):
            came.clock.text_came()
            self.first_at = self.first_at or datetime.now(UTC)
        elif isinstance(told, Usage):
            self.usages[told.index] = told.counts
        elif isinstance(told, Finished):
            self.ended.add(told.index)
            if len(self.ended) >= self.ask.many:
                came.clock.text_ended()

    def _without_key(self, told: StreamEvent) -> StreamEvent:
        if isinstance(told, Failure):
            return replace(told, said=masked(told.said, self.ask.key))
        return told

    @property
    def request(self) -> dict[str, Any]:
        """The request as it is kept: url, headers, body."""
        return {
            "method": "POST",
            "url": masked(self.outgoing.url, self.ask.key),
            "headers": _public(self.outgoing.headers),
            "body": self.body,
        }

    @property
    def received(self) -> tuple[bytes, bool]:
        """The body's bytes, and whether they are exactly the provider's: where an error in it
        echoed the key, the key is masked and they are not."""
        body = bytes(self.came.body) if self.came else b""
        kept = body if self.status == 200 and b'"error"' not in body else self._masked(body)
        return kept, self.adapter.is_exact and kept == body

    def _masked(self, body: bytes) -> bytes:
        """The body with the key masked: all of a refusal, else the lines that hold an error."""
        lines = body.splitlines(keepends=True) if self.status == 200 else [body]
        return b"".join(
            masked(one.decode("utf-8", "surrogateescape"), self.ask.key).encode(
                "utf-8", "surrogateescape"
            )
            if self.status != 200 or b'"error"' in one
            else one
            for one in lines
        )

    @property
    def usage(self) -> dict[str, int]:
        """The tokens of the whole answer, added up where each candidate has its own count;
        what was read for all of them counts once."""
        if None in self.usages:
            return self.usages[None]
        asked = max((one.get("prompt_tokens", 0) for one in self.usages.values()), default=0)
        written = sum(one.get("completion_tokens", 0) for one in self.usages.values())
        total = asked + written
        counts = {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": total}
        return counts if self.usages else {}

    def usage_of(self, index: int) -> dict[str, int]:
        """The tokens of one candidate; of the whole answer where it is the only one."""
        own = self.usages.get(index)
        return own or (self.usage if self.ask.many == 1 else {})

    @property
    def status(self) -> int | None:
        """The HTTP status, None where there was no answer."""
        return self.came.status if self.came else None

    @property
    def headers(self) -> dict[str, str]:
        """The answer's headers, without secrets."""
        headers = _public(self.came.headers) if self.came else {}
        return {name: masked(value, self.ask.key) for name, value in headers.items()}


SHORTEST_KEY = 12  # a shorter one is some word, which would be masked everywhere
PIECE = 8  # a part of a key that is as long as this is masked too
_MARKED = re.compile(rb"x+")


def masked(text: str, key: str) -> str:
    """The text with the key, as it is or percent-encoded, and its longer pieces as "…"."""
    if len(key) < SHORTEST_KEY:
        return text
    pieces = {
        one[at : at + PIECE]
        for one in (key, quote(key, safe=""))
        for at in range(len(one) - PIECE + 1)
    }
    marks = bytearray(len(text))
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            marks[at : at + PIECE] = b"x" * PIECE
            at = text.find(piece, at + 1)
    found: list[str] = []
    kept = 0
    for run in _MARKED.finditer(marks):
        found += [text[kept : run.start()], "…"]
        kept = run.end()
    return "".join([*found, text[kept:]])


def _public(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _SECRET_HEADERS}


def wait_before_next(failure: Failure, made: int, backoff_s: float = 0.5) -> float | None:
    """How many seconds to wait before another attempt after `made` of them; None: no other.

    Only before the first text came. Server, network and rate three tries, timeout one more;
    after the time the provider asks for, if it says one.
    """
    if made >= _TRIES.get(failure.kind, 1):
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s if failure.retry_after_s <= PATIENCE_S else None
    return 4 * backoff_s if failure.kind == "rate" else backoff_s * 2.0 ** (made - 1)
