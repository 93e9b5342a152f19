"""The frames of a live connection, and what of them a process keeps: the last events and running
texts. Plain values."""

import json
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from loom.errors import CommandError
from loom.language.ids import looks_like_id
from loom.live.to_render import ToRender

MAX_BUFFER = 65_536  # characters of a working buffer that others may see
SHORT = 4_096  # characters of a piece, up to which its frame is kept for the next socket
_HINT = 'Send {"type": "presence", "node": ID} and, if you write, "buffer": TEXT.'


class Presence(BaseModel):
    """The sender's position, and the working buffer that others may see."""

    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["presence"]
    node: str
    buffer: str | None = None


def _frame(kind: str, **values: Any) -> str:
    return json.dumps({"type": kind, **values}, ensure_ascii=False, separators=(",", ":"))


def event(body: dict[str, Any]) -> str:
    """The frame of one event."""
    return _frame("event", event=body)


def heartbeat(seq: int) -> str:
    """The frame with the last seq of the stream."""
    return _frame("heartbeat", seq=seq)


def role(role: str) -> str:
    """The role that the client's user has in the tree."""
    return _frame("role", role=role)


def reload(seq: int) -> str:
    """The events that the client lacks are no longer kept: it has to load again what it shows, as
    of `seq`. The events after it follow."""
    return _frame("reload", seq=seq)


def delta(generation: str, *, chunk: int, text: str, whole: bool) -> str:
    """A piece of a running generation. `whole`: all of its text so far, instead of the next piece.
    The first delta of a generation after connecting is whole, unless it is its chunk 1. Most
    sockets are sent the same pieces, so the last ones are kept.
    """
    built = _delta if len(text) <= SHORT else _delta.__wrapped__
    return built(generation, chunk, text, whole and chunk != 1)


@lru_cache(maxsize=256)
def _delta(generation: str, chunk: int, text: str, whole: bool) -> str:
    more = {"whole": True} if whole else {}
    return _frame("delta", generation=generation, chunk=chunk, text=text, **more)


def drawn(seq: int, parts: dict[str, Any]) -> str:
    """The parts that events up to `seq` changed on a page; without parts the client has to fetch
    what it shows."""
    return _frame("drawn", seq=seq, **(parts or {"again": True}))


def presence(here: list[dict[str, Any]]) -> str:
    """Everybody who is present now; replaces the previous list."""
    return _frame("presence", here=here)


def error(refused: CommandError) -> str:
    """Why a frame of the client, or the connection, was refused."""
    return _frame("error", code=refused.code, message=refused.message, hint=refused.hint)


def read(text: str | None) -> Presence:
    """The client's frame. Refuses all but a well-formed presence; None is a binary frame."""
    if text is None:
        raise CommandError("INVALID_SYNTAX", "Binary frames are not supported.", hint=_HINT)
    try:
        given = Presence.model_validate_json(text.encode())
    except (ValidationError, UnicodeEncodeError):
        raise CommandError("INVALID_SYNTAX", "The frame could not be read.", hint=_HINT) from None
    if not looks_like_id(given.node):
        raise CommandError("INVALID_SYNTAX", "node is not the id of a node.", hint=_HINT)
    if given.buffer is not None and "\0" in given.buffer:
        raise CommandError("INVALID_SYNTAX", "buffer contains U+0000.", hint="Remove it.")
    if given.buffer is not None and len(given.buffer) > MAX_BUFFER:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"buffer has more than {MAX_BUFFER:,} characters.",
            hint="Send the part around the cursor.",
        )
    return given


# The last events of one stream, rendered once, for all sockets of the process.


MAX_EVENTS = 1024
MAX_CHARACTERS = 16 * 1024 * 1024


@dataclass(frozen=True)
class EventFrame:
    """One event as a frame, and what it changes on a page. Roles in `hidden_from` get the frame
    `hidden`."""

    seq: int
    kind: str
    frame: str
    hidden: str = ""
    hidden_from: frozenset[str] = frozenset()
    changed: ToRender = field(default_factory=ToRender)

    def frame_for(self, role: str) -> str:
        """The frame for somebody with this role."""
        return self.hidden if role in self.hidden_from else self.frame


@dataclass
class Ring:
    """Consecutive entries from after `floor` to `head`; old ones are dropped."""

    head: int
    floor: int = -1
    _entries: deque[EventFrame] = field(default_factory=deque)
    _size: int = 0

    def __post_init__(self) -> None:
        self.floor = self.head

    def extend(self, entries: list[EventFrame]) -> None:
        """Takes the entries that follow `head`; repeats are dropped."""
        for entry in entries:
            if entry.seq != self.head + 1:
                if entry.seq <= self.head:
                    continue
                raise ValueError(f"event {entry.seq} does not follow {self.head}")
            self._entries.append(entry)
            self._size += len(entry.frame)
            self.head = entry.seq
        while len(self._entries) > MAX_EVENTS or (
            self._size > MAX_CHARACTERS and len(self._entries) > 1
        ):
            gone = self._entries.popleft()
            self._size -= len(gone.frame)
            self.floor = gone.seq

    def after(self, seq: int, *, limit: int = 64) -> list[EventFrame]:
        """The next entries after `seq`, which must not be below the floor."""
        start = seq - self.floor
        return [self._entries[i] for i in range(start, min(start + limit, len(self._entries)))]


MAX_DRAWINGS = 32


@dataclass
class Drawings:
    """The last frames of rendered parts, by language, numbered from 1."""

    count: int = 0
    _kept: deque[tuple[int, dict[str, str]]] = field(
        default_factory=lambda: deque(maxlen=MAX_DRAWINGS)
    )

    def add(self, seq: int, by_language: dict[str, str]) -> None:
        """Adds the parts that the events up to `seq` changed."""
        self._kept.append((seq, by_language))
        self.count += 1

    def next(self, number: int, language: str) -> tuple[int, int, str] | None:
        """The number, the seq and the frame that follow a number. If that frame was dropped, the
        newest one, which says that everything has to be fetched; None if nothing follows."""
        if number >= self.count:
            return None
        first = self.count - len(self._kept) + 1
        if number + 1 < first:
            seq = self._kept[-1][0]
            return self.count, seq, drawn(seq, {})
        seq, by_language = self._kept[number + 1 - first]
        return number + 1, seq, by_language.get(language) or drawn(seq, {})


# Texts of running generations as one process has received them. Plain values, no sockets.


@dataclass
class Partial:
    """The text so far of one generation. `epoch` changes when it had to be started over."""

    uid: str
    text: str = ""
    chunk: int = 0
    epoch: int = 0
    is_catching_up: bool = False
    waiting: dict[int, str] = field(default_factory=dict)

    def take(self, chunk: int, text: str) -> bool:
        """Takes a delta; returns whether there is a gap, so that the row has to be read. Repeats
        are dropped, and pieces that arrive too early wait until the gap is closed.
        """
        if chunk > self.chunk:
            self.waiting[chunk] = text
        self._close_up()
        return bool(self.waiting)

    def catch_up(self, chunk: int, text: str) -> None:
        """Takes text and chunk from the generation's row, which has all of it."""
        if chunk > self.chunk or (chunk == self.chunk and text != self.text):
            if not text.startswith(self.text):
                self.epoch += 1
            self.text, self.chunk = text, chunk
        for early in [n for n in self.waiting if n <= self.chunk]:
            del self.waiting[early]
        self._close_up()

    def _close_up(self) -> None:
        while (piece := self.waiting.pop(self.chunk + 1, None)) is not None:
            self.text += piece
            self.chunk += 1


@dataclass
class SentText:
    """How much of one generation's text a socket has been sent."""

    epoch: int = 0
    offset: int = 0
    chunk: int = 0

    def is_behind(self, partial: Partial) -> bool:
        """Whether there is something to send."""
        return (self.epoch, self.chunk) != (partial.epoch, partial.chunk)

    def take(self, partial: Partial) -> tuple[str, bool]:
        """The text to send next, and whether it is the whole text; it then counts as sent."""
        if self.epoch != partial.epoch:
            self.epoch, self.offset = partial.epoch, 0
        piece, whole = partial.text[self.offset :], self.offset == 0
        self.offset, self.chunk = len(partial.text), partial.chunk
        return piece, whole


@dataclass
class RateLimit:
    """A rate limit: `a_second` on average, `burst` at once. The caller passes the time."""

    a_second: float
    burst: float
    _left: float = -1.0
    _at: float = 0.0

    def may_go(self, now: float) -> bool:
        """Whether one more is allowed now."""
        if self._left < 0:
            self._left, self._at = self.burst, now
        self._left = min(self.burst, self._left + (now - self._at) * self.a_second)
        self._at = now
        return self._left >= 1

    def take(self, now: float) -> bool:
        """Whether one more is allowed now; if so, it is counted."""
        if not self.may_go(now):
            return False
        self._left -= 1
        return True

    @property
    def wait_s(self) -> float:
        """How long until the next one is allowed."""
        return max(0.0, (1 - self._left) / self.a_second)


TURNS_A_SECOND = 20.0
TURNS_AT_ONCE = 6  # after a rest
DELTAS_A_SECOND = 400.0  # at one socket
DELTAS_IN_ALL = 5_000.0  # a second, at all sockets of a stream


@dataclass
class Pace:
    """When the sockets of a stream are sent what has come of running texts: all of them at the same
    time, so that they are sent the same pieces, and the less often the more pieces and sockets
    there are. The caller passes the time."""

    _paid_until: float = 0.0

    def wait_s(self, now: float) -> float:
        """How long until they may be sent some."""
        return max(0.0, self._paid_until - now)

    def pay(self, pieces: int, now: float, *, sockets: int) -> None:
        """Counts that each socket is sent so many pieces now, which are written together."""
        rested = now - TURNS_AT_ONCE / TURNS_A_SECOND
        piece_s = max(1 / DELTAS_A_SECOND, sockets / DELTAS_IN_ALL)
        turn_s = max(1 / TURNS_A_SECOND, pieces * piece_s)
        self._paid_until = max(self._paid_until, rested) + turn_s
