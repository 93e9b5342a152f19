"""Reading an answer as it arrives: the text and the events of its stream, the images of its
request, one attempt to read it to its end, its lines, and where it may be cut."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
from httpx_sse import EventSource

from agents.context.values import Language, RoundReply
from agents.providers.tool_uses import COUNTED
from agents.providers.transport import Exchange, Limits, Outgoing, exchange
from agents.providers.values import (
    Adapter,
    Body,
    BrokenConnection,
    Delta,
    Failure,
    Finished,
    Picture,
    ProviderRequest,
    StreamEvent,
    ToolUsed,
    Usage,
    of_status,
)
from loom.language.batches import MAX_LOOKS, ArrivingReply, Batch, Segment, prose_of, segments_of
from loom.language.lines import ARROW_MARKS, ParsedCommand, is_undecided, makes_window, named_line
from loom.language.refs import ParseError
from loom.text.images import described, images_parted

_LONE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
REPLACEMENT = "\ufffd"


class Cleaner:
    """Cleans the text of one candidate, piece by piece. Half a surrogate pair at the end of a
    piece is kept until the other half arrives."""

    def __init__(self) -> None:
        self._half = ""

    def clean(self, text: str) -> str:
        """The piece, preceded by what was kept back."""
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)

    def rest(self) -> str:
        """What is still kept back when nothing more arrives."""
        half, self._half = self._half, ""
        return whole(half)


def whole(text: str) -> str:
    """The text without characters that no database stores: lone surrogates and NUL become
    U+FFFD."""
    if not _LONE.search(text):
        return text
    text = _PAIR.sub(lambda pair: _joined(pair[1], pair[2]), text)
    return _LONE.sub(REPLACEMENT, text)


def _joined(high: str, low: str) -> str:
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))


class EndlessLine(ValueError):
    """A line or an event that never ends."""


MOST_IN_EVENT = 4 * 1024 * 1024  # bytes until an event must have ended
_SSE = {"content-type": "text/event-stream; charset=utf-8-sig"}  # a BOM is left out


async def data_of(
    chunks: AsyncIterator[bytes], limit: int = MOST_IN_EVENT
) -> AsyncGenerator[str, None]:
    """The `data` of server-sent events from bytes that are split anywhere. Raises TooLong. Broken
    UTF-8 becomes U+FFFD. An event cut off by the end of the stream is returned too.
    """
    unread = 0

    async def ended() -> AsyncIterator[bytes]:
        nonlocal unread
        async for chunk in chunks:
            unread += len(chunk)
            if unread > limit:
                raise EndlessLine
            yield chunk
        yield b"\n\n"

    source = EventSource(httpx.Response(200, headers=_SSE, content=ended()))
    async with aclosing(source.aiter_sse()) as events:
        async for event in events:
            unread = 0
            if event.data:
                yield event.data


# Common to all API shapes: events of an answer, and refusals with a status.


DONE = "[DONE]"
_BLANK = b"\xef\xbb\xbf \t\r\n"


async def events_of(exchange: Exchange) -> AsyncIterator[str]:
    """The data of each event; for an answer that is not a stream, its whole JSON."""
    chunks = exchange.chunks()
    begun = bytearray()
    async for chunk in chunks:
        begun += chunk
        if chunk.strip(_BLANK):
            break
    if begun.lstrip(_BLANK).startswith((b"{", b"[")):
        rest = [chunk async for chunk in chunks]
        yield b"".join([begun, *rest]).decode("utf-8-sig", "replace")
        yield DONE
        return
    try:
        async with aclosing(data_of(_joined_to(bytes(begun), chunks))) as events:
            async for data in events:
                yield data
    except EndlessLine:
        raise BrokenConnection(Failure("invalid", "one event of the answer never ended")) from None


async def _joined_to(begun: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield begun
    async for chunk in chunks:
        yield chunk


async def refusal(exchange: Exchange) -> Failure:
    """The failure for an answer whose status is not 200."""
    async for _ in exchange.chunks():
        pass
    headers = exchange.headers
    if 300 <= exchange.status < 400:
        where = headers.get("location", "")[:200]
        return Failure("invalid", f"it redirects to {where}, and redirects are not followed")
    words, code = error_of(value_of(exchange.body.decode("utf-8", "replace")))
    words = words or f"HTTP {exchange.status}"
    return of_status(exchange.status, words, code=code, retry_after=headers.get("retry-after", ""))


def value_of(text: str) -> Any:
    """The value, or None if it is not JSON, or nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_of(value: Any) -> tuple[str, str]:
    """(sentence, code) of an error body in any of the usual shapes, in a form that can be
    stored."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, str):
        return whole(error), ""
    if not isinstance(error, dict):
        return "", ""
    words = error.get("message") or error.get("detail") or ""
    codes = [error.get(name) for name in ("code", "type", "status")]
    text = words if isinstance(words, str) else json.dumps(words)[:500]
    return whole(text), whole(" ".join(str(code) for code in codes if code))


# Images in messages. The stored body names them by their hashes; only the request that is sent has
# their bytes.


NAMED = "image:"
Part = dict[str, Any]
_REFUSES_IMAGES = ("image", "vision", "multimodal", "multi-modal", "content")


def with_images(
    messages: Iterable[Mapping[str, str]],
    ask: ProviderRequest,
    part: Callable[[str, Picture], Part],
) -> list[dict[str, Any]]:
    """The messages, with those of the user that have images as lists of parts, each image once.
    `part` takes a hash and returns how the provider's API names the image."""
    if not ask.images:
        return [dict(message) for message in messages]
    wanted = set(ask.images)
    with_parts: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        parts = parts_of(content, wanted, ask, part) if message["role"] == "user" else []
        plain = not any(piece["type"] != "text" for piece in parts)
        with_parts.append({**message, "content": described(content) if plain else parts})
    return with_parts


def parts_of(
    text: str, wanted: set[str], ask: ProviderRequest, part: Callable[[str, Picture], Part]
) -> list[Part]:
    """A text as parts, with those images in it that are `wanted`; they are removed from
    `wanted`."""
    return [
        {"type": "text", "text": value} if kind == "words" else part(value, ask.images[value])
        for kind, value in images_parted(text, wanted)
    ]


def in_each_part(body: Body, make: Callable[[Part], Part | None]) -> Body:
    """The body with every part of its messages replaced by what `make` returns; None removes it."""
    messages = []
    for message in body.get("messages", ()):
        content = message["content"]
        if isinstance(content, list):
            content = [converted for part in content if (converted := make(part)) is not None]
        messages.append({**message, "content": content})
    return {**body, "messages": messages}


def without_images(body: Body, failure: Failure) -> Body | None:
    """The body without its images, if a refusal says that the server accepts none; else None."""
    words = failure.said.lower()
    less = in_each_part(body, lambda part: part if part["type"] == "text" else None)
    if less == body or not any(word in words for word in _REFUSES_IMAGES):
        return None
    return less


# Headers that may carry a secret, either way.
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "cookie", "set-cookie")
MOST_TOKENS = 100_000_000  # a higher count is not plausible; the tokens are estimated then


@dataclass
class ProviderAttempt:
    """One request and its response. The key is masked in headers, addresses and errors, where a
    provider may echo it; the text of a model stays as it is."""

    adapter: Adapter
    ask: ProviderRequest
    body: Body
    outgoing: Outgoing = field(init=False)
    came: Exchange | None = None
    usages: dict[int | None, dict[str, int]] = field(default_factory=dict)
    tools_counted: dict[str, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    first_at: datetime | None = None

    def __post_init__(self) -> None:
        self.outgoing = self.adapter.outgoing(self.ask, self.body)

    async def events(
        self, transport: httpx.AsyncBaseTransport, limits: Limits
    ) -> AsyncGenerator[StreamEvent, None]:
        """The events of the answer; a failure of any kind is the last one."""
        try:
            async with exchange(transport, self.outgoing, limits) as came:
                self.came = came
                async with aclosing(self.adapter.events(came)) as stream:
                    async for event in stream:
                        if self._is_believed(event):
                            self._note(event, came)
                            yield self._without_key(event)
        except BrokenConnection as broken:
            yield self._without_key(broken.failure)

    def _is_believed(self, event: StreamEvent) -> bool:
        """Whether an event names a requested candidate and has plausible counts."""
        if isinstance(event, Usage):
            return all(0 <= count <= MOST_TOKENS for count in event.counts.values())
        return (
            not isinstance(event, Delta | Finished | ToolUsed) or 0 <= event.index < self.ask.many
        )

    def _note(self, event: StreamEvent, came: Exchange) -> None:
        if isinstance(event, Delta):
            came.clock.text_came()
            self.first_at = self.first_at or datetime.now(UTC)
        elif isinstance(event, ToolUsed):
            came.clock.text_came()  # an answer may begin with minutes of tools
        elif isinstance(event, Usage):
            self.usages[event.index] = event.counts
            self.tools_counted |= event.tools
        elif isinstance(event, Finished):
            self.ended.add(event.index)
            if len(self.ended) >= self.ask.many:
                came.clock.text_ended()

    def _without_key(self, event: StreamEvent) -> StreamEvent:
        if isinstance(event, Failure):
            return replace(event, said=masked(event.said, self.ask.key))
        if isinstance(event, ToolUsed):
            key = self.ask.key
            return replace(event, asked=masked(event.asked, key), text=masked(event.text, key))
        return event

    @property
    def request(self) -> dict[str, Any]:
        """The request as it is stored: url, headers, body."""
        return {
            "method": "POST",
            "url": masked(self.outgoing.url, self.ask.key),
            "headers": _public(self.outgoing.headers),
            "body": self.body,
        }

    @property
    def received(self) -> tuple[bytes, bool]:
        """The body's bytes, and whether they are exactly the provider's: if an error in it echoed
        the key, the key is masked and they are not."""
        body = bytes(self.came.body) if self.came else b""
        kept = body_without_key(body, self.status, self.ask.key)
        return kept, self.adapter.is_exact and kept == body

    @property
    def usage(self) -> dict[str, Any]:
        """The tokens of the whole answer, and what the provider counted of its own tools."""
        return self._with_tools(self._tokens)

    def _with_tools(self, tokens: dict[str, int]) -> dict[str, Any]:
        return {**tokens, **({COUNTED: self.tools_counted} if self.tools_counted else {})}

    @property
    def _tokens(self) -> dict[str, int]:
        """The tokens of the whole answer, added up if each candidate has its own count; the input,
        which is read for all of them, counts once."""
        if None in self.usages:
            return self.usages[None]
        asked = max((usage.get("prompt_tokens", 0) for usage in self.usages.values()), default=0)
        written = sum(usage.get("completion_tokens", 0) for usage in self.usages.values())
        total = asked + written
        counts = {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": total}
        return counts if self.usages else {}

    def usage_of(self, index: int) -> dict[str, Any]:
        """The usage of one candidate; that of the whole answer if it is the only one."""
        own = self.usages.get(index)
        if self.ask.many > 1:
            return dict(own or {})
        return self._with_tools(own) if own else self.usage

    @property
    def status(self) -> int | None:
        """The HTTP status, None if there was no answer."""
        return self.came.status if self.came else None

    @property
    def headers(self) -> dict[str, str]:
        """The answer's headers, without secrets."""
        return headers_without_key(self.came.headers, self.ask.key) if self.came else {}


SHORTEST_KEY = 12  # a shorter one may be an ordinary word, which would be masked everywhere
PIECE = 8  # parts of a key of this length are masked too
_MARKED = re.compile(rb"x+")
_ERROR = re.compile(rb'"error"\s*+(?!:\s*+null)')


def _holds_error(body: bytes) -> bool:
    """Whether a body contains an error; `"error": null` beside a model's text is not one."""
    return _ERROR.search(body) is not None


def masked(text: str, key: str) -> str:
    """The text with "…" in place of the key, whether plain, percent-encoded or in base64, and of
    its longer parts."""
    if len(key) < SHORTEST_KEY:
        return text
    pieces = {
        form[at : at + PIECE]
        for form in (key, quote(key, safe=""), b64encode(key.encode()).decode().rstrip("="))
        for at in range(len(form) - PIECE + 1)
    }
    marks = bytearray(len(text))
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            marks[at : at + PIECE] = b"x" * PIECE
            at = text.find(piece, at + 1)
    texts: list[str] = []
    kept = 0
    for run in _MARKED.finditer(marks):
        texts += [text[kept : run.start()], "…"]
        kept = run.end()
    return "".join([*texts, text[kept:]])


def body_without_key(body: bytes, status: int | None, key: str) -> bytes:
    """A body with the key masked: all of a refusal, otherwise the lines that contain an error."""
    if status == 200 and not _holds_error(body):
        return body
    lines = body.splitlines(keepends=True) if status == 200 else [body]
    return b"".join(
        masked(line.decode("utf-8", "surrogateescape"), key).encode("utf-8", "surrogateescape")
        if status != 200 or _holds_error(line)
        else line
        for line in lines
    )


def headers_without_key(headers: dict[str, str], key: str) -> dict[str, str]:
    """Headers without those that hold secrets, and the key masked in the others."""
    return {name: masked(value, key) for name, value in _public(headers).items()}


def _public(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _SECRET_HEADERS}


# Parsing an answer.


def read_reply(text: str, language: Language, *, finished: bool) -> RoundReply:
    """The parsed answer. `finished`: the model ended it, or it was cut after a batch; otherwise a
    command that is still open at the end is not run."""
    cut = cut_of(_segments(text, language, finished=finished), language)
    if cut is None:
        segments = _segments(text, language, finished=finished)
        return RoundReply(text, prose_of(segments), _commands(segments))
    used, rest = text[:cut], text[cut:]
    segments = _segments(used, language, finished=True)
    return RoundReply(
        used, prose_of(segments), _commands(segments), len(rest) if rest.strip() else 0
    )


def cut_of(segments: Sequence[Segment], language: Language) -> int | None:
    """Where the first batch with a look line ends; None if there is none."""
    for segment in segments:
        if isinstance(segment, Batch) and any(
            _looks(command, language) for command in segment.commands
        ):
            return segment.end
    return None


def _segments(text: str, language: Language, *, finished: bool) -> tuple[Segment, ...]:
    return segments_of(text, language.verbs, finished=finished)


def _looks(command: ParsedCommand, language: Language) -> bool:
    return command.line is not None and language.looks(command.line)


def _commands(segments: Sequence[Segment]) -> tuple[ParsedCommand, ...]:
    """The commands of all batches and the near misses between them, in order."""
    commands: list[ParsedCommand] = []
    for segment in segments:
        commands += _within_limit(segment.commands) if isinstance(segment, Batch) else segment.near
    return tuple(commands)


def _within_limit(commands: Sequence[ParsedCommand]) -> list[ParsedCommand]:
    """The commands of a batch, with look commands after the first MAX_LOOKS refused."""
    looks = 0
    read_commands: list[ParsedCommand] = []
    for command in commands:
        looks += makes_window(command.line)
        read_commands.append(
            _one_look_too_many(command) if looks > MAX_LOOKS and command.line else command
        )
    return read_commands


def _one_look_too_many(command: ParsedCommand) -> ParsedCommand:
    if command.line is None or not makes_window(command.line):
        return command
    message = f"The first {MAX_LOOKS} looks of a reply run; this is one more."
    hint = f"read their results first, then write {command.line.canonical} if you still need it"
    bad = named_line(ParseError("LIMIT_EXCEEDED", message, hint), command.text, command.number)
    return replace(command, line=None, bad=bad)


class Cutter:
    """Reads a stream and reports when no more is needed. Each line is parsed once, however it is
    split into pieces."""

    def __init__(self, language: Language) -> None:
        self._arriving = ArrivingReply(language.verbs, language.looks)
        self._rest: list[str] = []
        self._has_arrow = self._is_known = False

    def takes_time(self, piece: str) -> bool:
        """Whether reading the piece may take long: commands are parsed then."""
        self._has_arrow = self._has_arrow or any(mark in piece for mark in ARROW_MARKS)
        return self._has_arrow and "\n" in piece

    def feed(self, piece: str) -> bool:
        """Whether the first batch with a look line has ended after `piece`."""
        first, *more = piece.split("\n")
        self._rest.append(first)
        for line in more:
            self._arriving.feed("".join(self._rest))
            self._rest, self._is_known = [line], False
        if self._is_known or not self._rest[-1].strip():
            return self._arriving.has_ended
        rest = "".join(self._rest)
        self._is_known = not is_undecided(rest)
        return self._arriving.ends_with(rest)
