"""A generation from the queue to its node: taken under a lease, its text shown as it grows, and its
rows written; and what it said, where it is the round of a turn."""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import groupby
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from agents.agent_prompt import language
from agents.context.overlap import Overlap
from agents.context.rounds import Reply, read_reply
from agents.orders import Order, order_of
from agents.providers.attempt import Attempt
from agents.providers.failures import Broken
from loom.commands import generation_lifecycle, money
from loom.commands.generation_lifecycle import CUT_OFF, Received
from loom.commands.node_writer import MAX_NODE_BYTES
from loom.events.streams import send_async
from loom.models import Call, Generation, Turn
from loom.models.base import new_uid
from loom.rules.errors import CommandError
from loom.rules.providers import caches_from

# Leases: who is alive, and whether one that has run out says that its worker is gone.


LEASE_S = 12
EVERY_S = 3  # how often the sweeper looks
STALL_S = 2.0  # a write that waits longer, or a pause so much longer, is a stall


class Watch:
    """Whether writes have gone through, as one who tries every few seconds saw it. Until
    somebody tries, every lease that has run out counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._ended: float | None = None
        self._stalled = float("-inf")

    def look(self, write: Callable[[], object]) -> None:
        """Tries a write and notes whether it, or the time since the last one, was long.
        Raises what `write` raises."""
        self._began = began = self._clock()
        is_late = self._ended is not None and began - self._ended > EVERY_S + STALL_S
        failed = True
        try:
            write()
            failed = False
        finally:
            self._ended, self._began = self._clock(), None
            if failed or is_late or self._ended - began > STALL_S:
                self._stalled = self._ended

    @property
    def is_clear(self) -> bool:
        """Whether whoever is alive could have extended its leases."""
        now = self._clock()
        if self._began is not None:
            if now - self._began > STALL_S:
                return False
        elif self._ended is not None and now - self._ended > EVERY_S + STALL_S:
            return False
        return now - self._stalled > LEASE_S


watch = Watch()
_held: Counter[str] = Counter()


@contextmanager
def held(lease: str) -> Iterator[None]:
    """Says that a run of this process is alive under the lease."""
    _held[lease] += 1
    try:
        yield
    finally:
        _held[lease] -= 1
        if not _held[lease]:
            del _held[lease]


def proves_loss(lease: str) -> bool:
    """Whether a lease that has run out says that its worker is gone."""
    return lease not in _held and watch.is_clear


# Taking generations from the queue under a lease, and what becomes of those a worker lost.


MAX_TRIES = 3
LOST = "interrupted:worker lost"


@dataclass(frozen=True)
class Held:
    """Generations that this worker runs by one call, under one lease. `primes` is set by the
    first word of this call; `waits_for` by that of another, which reads the same path first,
    so that the provider has it in its cache."""

    lease: str
    generations: tuple[Generation, ...]
    order: Order
    primes: asyncio.Event | None = None
    waits_for: asyncio.Event | None = None

    @property
    def lane(self) -> str:
        """The lane that has a place again when this ends."""
        return self.generations[0].lane


def begin_lane(lane: str) -> list[Held]:
    """What may begin now in a lane, by calls, and what to ask. What cannot be run is ended
    with the reason. Candidates of one line and participant read their path once."""
    lease = new_uid()
    taken = generation_lifecycle.begin(lane, lease=lease, seconds=LEASE_S, proves_loss=proves_loss)
    going = [one for one in taken if not _was_lost(one, lease)]
    lines = groupby(sorted(going, key=_line), key=_line)
    return [held for _, line in lines for held in _taking_held(lease, list(line))]


def _line(one: Generation) -> tuple[str, int]:
    return one.batch, one.participant_id


def _taking_held(lease: str, going: list[Generation]) -> list[Held]:
    """The calls of candidates of one line and participant."""
    try:
        order = order_of(going[0])
    except CommandError as refused:
        error = refused.body
    except Broken as broken:
        error = broken.failure.error
    else:
        return _by_calls(lease, going, order)
    for one in going:
        end(one, lease, error=error)
    return []


def _by_calls(lease: str, going: list[Generation], order: Order) -> list[Held]:
    """One call for all where the provider shares them out, else a call for each; the first
    goes ahead where the others then read its path from the provider's cache."""
    if order.provider.shares and len(going) > 1:
        return [Held(lease, tuple(going), order.shared(len(going)))]
    calls = [Held(lease, (one,), order) for one in going]
    least = caches_from(going[0].participant)
    if len(calls) < 2 or least is None or order.tokens < least:
        return calls
    primed = asyncio.Event()
    first, *rest = calls
    return [replace(first, primes=primed), *(replace(one, waits_for=primed) for one in rest)]


def bury(uid: str) -> None:
    """Lands a generation whose worker went away in the middle of its text."""
    lease = new_uid()
    row = generation_lifecycle.take(uid, lease=lease, seconds=LEASE_S)
    if row is not None:
        _was_lost(row, lease)


def _was_lost(taken: Generation, lease: str) -> bool:
    """Ends a generation whose worker went away in the middle of its text, or three times, or
    too dearly."""
    error: dict[str, Any] | None = None
    if not taken.text and taken.tries > MAX_TRIES:
        said = "The worker was lost each time this was tried."
        error = CommandError("UNAVAILABLE", said, hint="Try again.").body
    elif not taken.text:
        if taken.tries == 1 or _is_paid_for(taken):
            return False
        error = money.used_up().body
    end(taken, lease, finish=LOST, error=error)
    return True


def _is_paid_for(taken: Generation) -> bool:
    with transaction.atomic():
        return money.lose(taken)


def end(
    generation: Generation,
    lease: str,
    *,
    finish: str = "",
    error: dict[str, Any] | None = None,
) -> None:
    """Lands a generation that does not run (any more), with the text its row holds. Without
    a `finish` the error's reason is one."""
    reason = (error or {}).get("reason") or str((error or {}).get("code", "error")).lower()
    generation_lifecycle.end_generation(
        generation.uid,
        lease=lease,
        text=generation.text,
        chunk=generation.chunk,
        finish=finish or f"interrupted:{reason}",
        error=error,
    )


# The text of one generation while it grows.


BETWEEN_MESSAGES_S = 0.05
SEND_S = 2.0  # a broker that hangs holds nothing up: the row has the text


class Candidate:
    """The growing text of one generation, the answer's `index`th. Lives on the loop."""

    def __init__(
        self,
        generation: Generation,
        index: int,
        *,
        stream: str,
        overlap: Overlap | None = None,
        left_out: str = "",
    ) -> None:
        self.generation = generation
        self._overlap = overlap
        self._left_out = left_out
        self.index = index
        self.uid = generation.uid
        self.shown = ""
        self.chunk = 0
        self.is_open = True
        self.is_whole = False
        self.reason = ""
        self._prices = money.allowed(generation)
        self.reserved = generation.reserved
        self._pieces = self._bytes = 0
        self._written = 0
        self._stream = stream
        self._waiting: list[str] = []
        self._room = MAX_NODE_BYTES
        self._news = asyncio.Event()
        self._sending = asyncio.Lock()
        self._sender = asyncio.create_task(self._send_on())

    @property
    def has_text(self) -> bool:
        """Whether anything came at all."""
        return bool(self.shown or self._waiting or (self._overlap and self._overlap.holds))

    @property
    def note(self) -> str:
        """What was left out of the request, and done where it meets the text it goes on with."""
        joined = self._overlap.note if self._overlap else ""
        return " · ".join(one for one in (self._left_out, joined) if one)[:200]

    @property
    def whole(self) -> str:
        """How it finished where nothing broke it off; of a round also that it reached its limit."""
        is_cut = self.reason in ("length", "max_tokens") and self.generation.round
        return CUT_OFF if is_cut else "complete"

    @property
    def has_news(self) -> bool:
        """Whether more was shown than its row holds."""
        return self.chunk > self._written

    def written(self) -> tuple[str, int]:
        """What its row is to hold now."""
        self._written = self.chunk
        return self.shown, self.chunk

    @property
    def wrote(self) -> int:
        """About how many tokens came: a piece is one at least."""
        return max(self._pieces, -(-self._bytes // 4))

    @property
    def tokens(self) -> int:
        """About how many tokens came, by their bytes alone: pieces may be single letters."""
        return -(-self._bytes // 4)

    @property
    def lacks(self) -> int:
        """What it came to so far, where that is more than is reserved; else 0."""
        if self._prices is None:
            return 0
        cost = self._prices.reading(self.generation.reading) + self._prices.writing(self.wrote)
        return cost if cost > self.reserved else 0

    def add(self, text: str) -> bool:
        """Takes a piece. False where a node can hold no more: the piece is cut there."""
        size = len(text.encode())
        self._pieces += 1
        self._bytes += size
        if size > self._room:
            text = text.encode()[: self._room].decode(errors="ignore")
        self._room -= size
        self._wait(self._overlap.feed(text) if self._overlap else text)
        return self._room >= 0

    def _wait(self, text: str) -> None:
        if text:
            self._waiting.append(text)
            self._news.set()

    async def _send_on(self) -> None:
        while True:
            await self._news.wait()
            await self._show()
            await asyncio.sleep(BETWEEN_MESSAGES_S)

    async def _show(self) -> None:
        """Sends what waits as one message."""
        async with self._sending:
            self._news.clear()
            text, self._waiting = "".join(self._waiting), []
            if not text:
                return
            self.chunk += 1
            self.shown += text
            message = {"type": "delta", "generation": self.uid, "chunk": self.chunk, "text": text}
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(send_async(self._stream, message), SEND_S)

    async def close(self) -> None:
        """Takes no more; shows what still waits."""
        self.is_open = False
        async with self._sending:
            self._sender.cancel()
        if self._overlap:
            self._wait(self._overlap.rest())
        await self._show()


# What a run writes: rows and events, by the verbs of loom. Called beside the loop.


log = logging.getLogger("heddle.run")
T = TypeVar("T")
PATIENCE_S = 90.0  # a stall of the database is no reason to end a generation


@dataclass(frozen=True)
class Ending:
    """How a generation ended."""

    text: str
    chunk: int
    finish: str
    error: dict[str, Any] | None = None
    usage: dict[str, int] = field(default_factory=dict)
    wrote: int = 0
    note: str = ""


def create_call(order: Order, attempt: Attempt, generations: Sequence[Generation]) -> Call:
    """The call's row, made while the request goes out and tied to its generations."""
    first = generations[0]
    call = Call(
        tree=first.tree,
        participant=first.participant,
        provider=order.provider.name,
        configuration=order.configuration,
        request=attempt.request,
        note=order.note,
        strategy=order.strategy,
        purpose=order.purpose,
        turn=first.turn,
    )
    for generation in generations:
        _persistently(partial(generation_lifecycle.begin_call, generation, call))
    return call


def keep_alive(uid: str, lease: str, text: str, chunk: int) -> str:
    """Writes what came and extends the lease: "go", "stop" or "lost". A database that is busy
    is asked again at the next beat; the lease is longer than several."""
    try:
        return generation_lifecycle.progress(
            uid, lease=lease, text=text, chunk=chunk, seconds=LEASE_S
        )
    except (InterfaceError, DatabaseError):
        log.warning("could not write generation %s", uid, exc_info=True)
        return "go"


def end_generation(uid: str, lease: str, ending: Ending) -> None:
    """Ends a generation; what came becomes a node."""
    _persistently(
        lambda: generation_lifecycle.end_generation(
            uid,
            lease=lease,
            text=ending.text,
            chunk=ending.chunk,
            finish=ending.finish,
            error=ending.error,
            usage=ending.usage,
            wrote=ending.wrote,
            note=ending.note,
        )
    )


def more_money(uid: str, lease: str, needed: int) -> int | None:
    """What a stream may cost, at least `needed`; None where it is to be cut."""
    return _persistently(lambda: money.more(uid, lease=lease, needed=needed))


def tell_wait(uid: str, lease: str, why: str) -> None:
    """Stores with a generation why nothing comes yet."""
    try:
        generation_lifecycle.set_note(uid, lease=lease, note=why)
    except (InterfaceError, OperationalError):  # a busy database is no reason to end a generation
        log.warning("could not say why %s waits", uid, exc_info=True)


def put_back(uid: str, lease: str) -> None:
    """Gives the lease up at once, so that another worker may begin again."""
    _persistently(
        lambda: generation_lifecycle.progress(uid, lease=lease, text="", chunk=0, seconds=0)
    )


def seal(call: Call, attempt: Attempt) -> None:
    """Keeps what came back, without keys. Nothing where its tree is being erased."""
    if not Call.objects.filter(pk=call.pk, tree__erasing_at__isnull=True).exists():
        return
    body, is_exact = attempt.received
    received = Received(
        body=body,
        status=attempt.status,
        headers=attempt.headers,
        usage=attempt.usage,
        exact=is_exact,
        started_at=attempt.started_at,
        first_at=attempt.first_at,
    )
    _persistently(lambda: generation_lifecycle.seal(call, received))


def _persistently(write: Callable[[], T]) -> T:
    """`write`, tried again for PATIENCE_S where the database was busy; the sweeper is the
    second net."""
    until = time.monotonic() + PATIENCE_S
    pause_s = 0.2
    while True:
        try:
            return write()
        except (InterfaceError, OperationalError):
            if time.monotonic() > until:
                raise
            log.warning("a busy database, once more", exc_info=True)
        time.sleep(pause_s)
        pause_s = min(2.0, pause_s * 2)


# What a round of a turn said, and the turn as a whole.


def reply_of(said: Generation) -> Reply:
    """What a round said, read from its row alone: the same however often it is read."""
    return _read(said.text, said.finish == "complete")


@lru_cache(maxsize=8)
def _read(text: str, finished: bool) -> Reply:
    """Kept, since it is asked for once a line."""
    return read_reply(text, language(), finished=finished)


def prose(turn: Turn) -> str:
    """The answer: the prose of the last round that has any, which may be one that was cut off.
    What earlier rounds wrote stays with them."""
    parts = [one["prose"] for one in turn.rounds]
    last = turn.generation
    if last is not None and not any(one["generation"] == last.uid for one in turn.rounds):
        parts.append(reply_of(last).prose)
    return next((part for part in reversed(parts) if part.strip()), "")
