"""What an adapter is asked and what it reports while an answer comes, from bytes to kept text."""

import codecs
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.providers.exchange import Broken, Exchange, Failure, Outgoing, of_status

_LINES = re.compile(r"\r\n|\n|\r")
_LONE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
REPLACEMENT = "\ufffd"


class Cleaner:
    """Cleans the text of one candidate, piece by piece. Half a pair of surrogates at the end
    of a piece waits for the other half."""

    def __init__(self) -> None:
        self._half = ""

    def clean(self, text: str) -> str:
        """The piece, with what was held back before it."""
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)

    def rest(self) -> str:
        """What is still held back, once nothing more comes."""
        half, self._half = self._half, ""
        return whole(half)


def whole(text: str) -> str:
    """The text without what no database keeps: half characters and NUL become U+FFFD."""
    if not _LONE.search(text):
        return text
    text = _PAIR.sub(lambda pair: _joined(pair[1], pair[2]), text)
    return _LONE.sub(REPLACEMENT, text)


def _joined(high: str, low: str) -> str:
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))


class TooLong(ValueError):
    """A line or an event that never ends."""


class Events:
    """The `data` of server-sent events out of bytes cut anywhere.

    Lines end by LF, CR LF or CR; broken UTF-8 becomes U+FFFD; an event that the end of the
    stream cuts off is given by `rest`. Source: HTML standard, "event stream interpretation".
    """

    def __init__(self, limit: int = 4 * 1024 * 1024) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._limit = limit
        self._line: list[str] = []  # joined once it ends: it may come byte by byte
        self._data: list[str] = []
        self._size = 0  # characters in both, and one for each line
        self._held = ""

    def feed(self, chunk: bytes, *, final: bool = False) -> list[str]:
        """The events that `chunk` completes. Raises TooLong."""
        text = self._held + self._decoder.decode(chunk, final)
        # A CR at the very end may be the first half of CR LF.
        self._held = "\r" if text.endswith("\r") and not final else ""
        *ends, rest = _LINES.split(text.removesuffix(self._held))
        found = []
        for end in ends:
            event = self._take("".join([*self._line, end]))
            self._line = []
            if event is not None:
                found.append(event)
            self._size = 0 if not self._data else self._size + len(end) + 1
        self._line.append(rest)
        self._size += len(rest)
        if self._size > self._limit:
            raise TooLong
        return found

    def rest(self) -> list[str]:
        """The last event, where the stream ended without the blank line after it."""
        found = self.feed(b"", final=True)
        for line in ("".join(self._line), ""):
            event = self._take(line)
            if event is not None:
                found.append(event)
        self._line = []
        return found

    def _take(self, line: str) -> str | None:
        """Reads one line; the event it ends, if it does."""
        if not line:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        return None


# What the shapes of APIs have in common: events of an answer, and refusals with a status.


DONE = "[DONE]"
_BLANK = b"\xef\xbb\xbf \t\r\n"


async def events_of(exchange: Exchange) -> AsyncIterator[str]:
    """The data of each event; of an answer that is no stream, its whole JSON."""
    events = Events()
    body = bytearray()
    is_json: bool | None = None
    try:
        async for chunk in exchange.chunks():
            if is_json is None and (begun := chunk.lstrip(_BLANK)):
                is_json = begun[:1] in b"{["
            body += chunk
            if is_json is False:
                for data in events.feed(bytes(body)):
                    yield data
                body.clear()
        for data in events.rest():
            yield data
    except TooLong:
        raise Broken(Failure("invalid", "one event of the answer never ended")) from None
    if is_json:
        yield body.decode("utf-8-sig", "replace")
        yield DONE


async def refusal(exchange: Exchange) -> Failure:
    """The failure of an answer that is not 200."""
    async for _ in exchange.chunks():
        pass
    headers = exchange.headers
    if 300 <= exchange.status < 400:
        where = headers.get("location", "")[:200]
        return Failure("invalid", f"it redirects to {where}, and redirects are not followed")
    said, code = error_of(value_of(exchange.body.decode("utf-8", "replace")))
    said = said or f"HTTP {exchange.status}"
    return of_status(exchange.status, said, code=code, retry_after=headers.get("retry-after", ""))


def value_of(text: str) -> Any:
    """The value, or None where it is no JSON, or JSON nested beyond reason."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_of(value: Any) -> tuple[str, str]:
    """(sentence, code) of an error body in any of the usual shapes, as they may be kept."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, str):
        return whole(error), ""
    if not isinstance(error, dict):
        return "", ""
    said = error.get("message") or error.get("detail") or ""
    codes = [error.get(name) for name in ("code", "type", "status")]
    text = said if isinstance(said, str) else json.dumps(said)[:500]
    return whole(text), whole(" ".join(str(code) for code in codes if code))


# What an adapter is asked, and what it reports while an answer comes.


@dataclass(frozen=True)
class Blocks:
    """A message by its blocks. `kept` names blocks, from 1: everything up to such a block
    stays as it is in later requests."""

    role: str
    texts: tuple[str, ...]
    kept: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ask:
    """A request in a provider's own words, but for its shape. `messages` for a chat,
    `prompt` for a completion; `many` candidates in one answer; `grammar` in GBNF, to
    which the answer is held. `blocks` are the messages but the system's once more, for
    providers that take them apart; `goes_on`: with the last message, the model's own."""

    base_url: str
    model: str
    messages: tuple[dict[str, str], ...] | None
    prompt: str | None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    many: int = 1
    grammar: str = ""
    blocks: tuple[Blocks, ...] = ()
    goes_on: bool = False
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Delta:
    """Text that came for the candidate `index` (from 0)."""

    text: str
    index: int = 0


@dataclass(frozen=True)
class Finished:
    """The candidate `index` is whole. `reason` is the provider's: stop, length, …"""

    index: int = 0
    reason: str = "stop"


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counted them: of one candidate, or (None) of the whole answer."""

    counts: dict[str, int]
    index: int | None = None


StreamEvent = Delta | Finished | Usage | Failure
Body = dict[str, Any]
Shape = Literal["openai"]


class Adapter(Protocol):
    """One shape of API. A failure is reported as the last event, never raised."""

    name: str
    is_exact: bool  # whether the bytes that come are the provider's own

    def body(self, ask: Ask) -> Body:
        """The JSON of the request."""
        ...

    def outgoing(self, ask: Ask, body: Body) -> Outgoing:
        """The request with its key."""
        ...

    def told(self, exchange: Exchange) -> AsyncGenerator[StreamEvent, None]:
        """The events of the answer, piece by piece. May raise Broken."""
        ...

    def adjusted(self, body: Body, failure: Failure) -> Body | None:
        """The body without what this server does not take, if that is why it failed."""
        ...
