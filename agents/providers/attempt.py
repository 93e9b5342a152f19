"""One attempt at a provider: what it tells, and the record of what went out and came back."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import httpx

from agents.providers.exchange import Exchange, Limits, Outgoing, exchange
from agents.providers.failures import Broken, Failure
from agents.providers.telling import Adapter, Ask, Body, Delta, Finished, Told, Usage

# Headers that may carry a secret, either way.
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "cookie", "set-cookie")
_TRIES = {"server": 3, "network": 3, "rate": 3, "timeout": 2}
MOST_TOKENS = 100_000_000  # what is counted beyond is made up, and what came is estimated
PATIENCE_S = 60  # a provider that asks for more is not waited for


@dataclass
class Attempt:
    """One request and what came back. The record holds no key, whatever the provider echoes."""

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
    ) -> AsyncGenerator[Told, None]:
        """What the provider tells; a failure, of whatever kind, is the last thing told."""
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

    def _is_believed(self, told: Told) -> bool:
        """Not a candidate that nobody asked for, nor counts that no answer can have."""
        if isinstance(told, Usage):
            return all(0 <= count <= MOST_TOKENS for count in told.counts.values())
        return not isinstance(told, Delta | Finished) or 0 <= told.index < self.ask.many

    def _note(self, told: Told, came: Exchange) -> None:
        if isinstance(told, Delta):
            came.clock.text_came()
            self.first_at = self.first_at or datetime.now(UTC)
        elif isinstance(told, Usage):
            self.usages[told.index] = told.counts
        elif isinstance(told, Finished):
            self.ended.add(told.index)
            if len(self.ended) >= self.ask.many:
                came.clock.text_ended()

    def _without_key(self, told: Told) -> Told:
        if self.ask.key and isinstance(told, Failure):
            return replace(told, said=told.said.replace(self.ask.key, "…"))
        if self.ask.key and isinstance(told, Delta):
            return replace(told, text=told.text.replace(self.ask.key, "…"))
        return told

    @property
    def request(self) -> dict[str, Any]:
        """The request as it is kept: url, headers, body."""
        return {
            "method": "POST",
            "url": self.outgoing.url,
            "headers": _public(self.outgoing.headers),
            "body": self.body,
        }

    @property
    def received(self) -> tuple[bytes, bool]:
        """The body's bytes, and whether they are exactly the provider's: where it echoed the
        key, the key is taken out and they are not."""
        body = bytes(self.came.body) if self.came else b""
        key = self.ask.key.encode()
        if key and key in body:
            return body.replace(key, "…".encode()), False
        return body, self.adapter.is_exact

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
        if not self.ask.key:
            return headers
        return {name: value.replace(self.ask.key, "…") for name, value in headers.items()}


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
