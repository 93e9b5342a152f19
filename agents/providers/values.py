"""Plain values of a provider call: the request, and the pieces of text, ends and counts of its
answer; and failures, derived from a status or from a server's words, with the sentences that
people read."""

import re
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from loom.participants.provider_failures import FAILURES, START_IT, WAIT, time_to_wait

if TYPE_CHECKING:
    from agents.providers.transport import Exchange, Outgoing


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


@dataclass(frozen=True)
class Failure:
    """Why a call gave no (whole) answer. `said` is the provider's sentence or Heddle's; `refused`:
    the address may not be called; `absent`: nothing is configured or running."""

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
            return "UNAVAILABLE", self.said, START_IT
        message, hint = FAILURES[self.kind]
        if self.retry_after_s:
            hint = WAIT % {"time": time_to_wait(self.retry_after_s)}
        return "MODEL_ERROR", f"{message}: {self.said}" if self.said else f"{message}.", hint


class BrokenConnection(Exception):
    """Carries a failure from the socket code to an adapter; adapters catch it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.said)
        self.failure = failure


def without_traceback(message: str) -> str:
    """The text before the beginning of a Python traceback in it."""
    match = _TRACEBACK.search(message)
    if match is None:
        return message
    return message[: match.start()].rstrip(" \n:,") or "the server failed and sent a traceback"


def of_status(status: int, message: str, *, code: str = "", retry_after: str = "") -> Failure:
    """The failure for an HTTP status and the text sent with it. `code` is the provider's own code
    or type; `retry_after` is the header, seconds or a date.
    """
    kept = without_traceback(message)[:500]
    return Failure(_kind(status, f"{code} {message}"), kept, _seconds(retry_after))


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


def of_words(message: str, code: str = "") -> Failure:
    """The failure for an error inside a stream, which has no status."""
    words = f"{code} {message}"
    numbers = re.search(r"\b([45]\d\d)\b", code)
    if numbers:
        return of_status(int(numbers[1]), message, code=code)
    for pattern, kind in _WORDS:
        if pattern.search(words):
            return Failure(kind, without_traceback(message)[:500])
    return Failure("server", without_traceback(message)[:500])


def _seconds(header: str) -> float | None:
    """The seconds of a Retry-After header, a number or a date. At most an hour."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    return min(seconds, 3600.0) if seconds >= 0 else None


_TRIES = {"server": 3, "network": 3, "rate": 3, "timeout": 2}
PATIENCE_S = 60  # seconds; a provider that asks for a longer wait is not retried


def wait_before_next(failure: Failure, tries: int, backoff_s: float = 0.5) -> float | None:
    """How many seconds to wait before the next attempt, after `tries` attempts; None: no further
    attempt. Only used before the first text arrived. Server, network and rate failures are tried
    three times, a timeout twice; after the time that the provider asks for, if any.
    """
    if tries >= _TRIES.get(failure.kind, 1):
        return None
    if failure.retry_after_s is not None:
        return failure.retry_after_s if failure.retry_after_s <= PATIENCE_S else None
    return 4 * backoff_s if failure.kind == "rate" else backoff_s * 2.0 ** (tries - 1)


# The request that an adapter gets, and the events that it reports.


@dataclass(frozen=True)
class Blocks:
    """A message as blocks. `kept` are numbers of blocks, from 1: everything up to such a block
    stays the same in later requests."""

    role: str
    texts: tuple[str, ...]
    kept: tuple[int, ...] = ()


@dataclass(frozen=True)
class Picture:
    """An image as it is sent: its media type, and its bytes in base64."""

    media_type: str
    data: str = field(repr=False)


@dataclass(frozen=True)
class ProviderRequest:
    """A request, independent of the API. `messages` for a chat, `prompt` for a completion; `many`
    candidates in one answer; `grammar` in GBNF, which the answer must match; `samplers` by the
    names in loom.participants.provider_kinds. `blocks` are the messages except the system's, as
    blocks, for providers that need them; `goes_on`: the last message is the model's own, to be
    continued. `images`, by hash, are sent where a user text names them; other texts describe them
    in words. `rivals`: for each token as many other likely ones are asked for, with their
    probabilities. `tools`, which the provider runs itself, are sent with a chat as they are."""

    base_url: str
    model: str
    messages: tuple[dict[str, str], ...] | None
    prompt: str | None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    many: int = 1
    grammar: str = ""
    rivals: int = 0
    blocks: tuple[Blocks, ...] = ()
    goes_on: bool = False
    samplers: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    images: Mapping[str, Picture] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)
    auth: str = "bearer"  # basic: the key is name:password

    @property
    def authorization(self) -> str:
        """The value of the Authorization header."""
        basic = b64encode(self.key.encode()).decode()
        return f"Basic {basic}" if self.auth == "basic" else f"Bearer {self.key}"


@dataclass(frozen=True)
class Delta:
    """Text that arrived for the candidate `index` (from 0)."""

    text: str
    index: int = 0


@dataclass(frozen=True)
class Finished:
    """The candidate `index` is complete. `reason` is the provider's: stop, length, …"""

    index: int = 0
    reason: str = "stop"


@dataclass(frozen=True)
class Usage:
    """Tokens as counted by the provider: for one candidate, or (None) for the whole answer; and
    what it counted of tools that it ran itself, in its own names."""

    counts: dict[str, int]
    index: int | None = None
    tools: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolUsed:
    """A tool that the provider ran for the candidate `index`: its name, what it was asked, and the
    readable part of its result ("": none has come). All of it is data from outside."""

    name: str
    asked: str
    text: str
    index: int = 0


StreamEvent = Delta | Finished | Usage | ToolUsed | Failure

Body = dict[str, Any]
Shape = Literal["openai"]


class Adapter(Protocol):
    """One shape of API. A failure is reported as the last event, never raised."""

    name: str
    is_exact: bool  # whether the received bytes are the provider's own

    def body(self, ask: ProviderRequest) -> Body:
        """The JSON of the request."""
        ...

    def outgoing(self, ask: ProviderRequest, body: Body) -> "Outgoing":
        """The request including its key."""
        ...

    def events(self, exchange: "Exchange") -> AsyncGenerator[StreamEvent, None]:
        """The events of the answer, piece by piece. May raise Broken."""
        ...

    def adjusted(self, body: Body, failure: Failure) -> Body | None:
        """The body without what this server does not accept, if that is why it failed; else
        None."""
        ...
