"""Running calls: one call with its growing candidates and the rows it writes; and all runs of this
process, which are started for their lanes, each under its lease, and followed by others as places
become free."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeVar

import httpx
from django.db import DatabaseError
from django.utils import timezone

from agents import leases
from agents.agent_prompt import language
from agents.candidates import GrowingCandidate
from agents.generation_requests import order_of
from agents.leases import (
    Ending,
    end,
    keep_alive,
    more_money,
    no_money,
    proves_loss,
    put_back,
    tell_wait,
)
from agents.lost_workers import was_lost
from agents.providers.attempt import Cutter, ProviderAttempt
from agents.providers.orders import CallGroup, GenerationOrder, by_calls
from agents.providers.registry import transport_of
from agents.providers.transport import Limits, in_beginning, in_reading, in_thread, persistently
from agents.providers.values import (
    BrokenConnection,
    Delta,
    Failure,
    Finished,
    StreamEvent,
    ToolUsed,
    wait_before_next,
)
from agents.received import received_of
from agents.shared_writes import SharedWrite
from agents.subject_prompt import narrower
from loom.engine.fields import new_uid
from loom.errors import CommandError
from loom.turns import generation_lifecycle, lanes
from loom.turns.generation_lifecycle import CUT_OFF, STOPPED, Grown
from loom.turns.models import Call, Generation

T = TypeVar("T")

# One call: attempts until one answers, and the candidates of its answer.


log = logging.getLogger("heddle.run")
WRITE_S = 0.25  # seconds between two writes of growing text
HEARTBEAT_S = 1.0  # the same while nothing arrives
TOO_LONG = "interrupted:too long"
TIME_OVER = "interrupted:time"
TOLD_S = 2.0  # seconds; shorter pauses between attempts are not reported
SILENT_S = 120.0  # seconds that all attempts together wait for the first text
# With less time left, no further attempt begins. The loop's clock does not advance while a callback
# runs, so an attempt may end a little early.
LEAST_S = 0.1
OVER = 2  # times its max_tokens: a provider that ignores them is cut there
PRIMING_S = 15.0  # seconds that the other calls wait for the first word of the first one


class GenerationRun:
    """The life of the generations of one call. Used on the loop only; runs once."""

    def __init__(
        self,
        group: CallGroup,
        transport: httpx.AsyncBaseTransport,
        limits: Limits,
        *,
        backoff_s: float,
    ) -> None:
        self._lease, self._order = group.lease, group.order
        self._primes, self._waits_for = group.primes, group.waits_for
        self._transport, self._limits, self._backoff_s = transport, limits, backoff_s
        stream = f"tree:{group.generations[0].tree.uid}"
        self._candidates = [
            GrowingCandidate(generation, index, stream=stream, overlap=group.order.overlap())
            for index, generation in enumerate(group.generations)
        ]
        # A round is only read as far as its turn uses it.
        self._cutter = Cutter(language()) if group.generations[0].round > 0 else None
        self._waited = 0.0  # seconds spent on answers without text
        self._attempt: ProviderAttempt | None = None
        self._call: Call | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._working: asyncio.Task[None] | None = None
        self._interrupted = ""

    def interrupt(self, why: str) -> None:
        """Interrupts the run: text that arrived is stored, generations that have not begun are put
        back."""
        self._interrupted = why
        if self._working is not None:
            self._working.cancel()

    async def __call__(self) -> None:
        """Runs until every candidate has ended."""
        self._working = asyncio.create_task(self._work())
        beating = asyncio.create_task(self._beat())
        await asyncio.wait({self._working, beating}, return_when=asyncio.FIRST_COMPLETED)
        self._let_others_go()
        for task in (self._working, beating):
            task.cancel()
            await asyncio.wait({task})
        for candidate in self._open:
            await self._put_down(candidate)
        await asyncio.gather(*self._endings)
        await self._seal()

    @property
    def _open(self) -> list[GrowingCandidate]:
        return [candidate for candidate in self._candidates if candidate.is_open]

    # -- the call

    async def _work(self) -> None:
        try:
            await self._wait_for_first()
            failure = await self._attempts()
        except Exception:
            log.exception("a call broke off")
            failure = Failure("server", "the worker met an error")
        for candidate in self._open:
            self._end(candidate, failure)

    async def _wait_for_first(self) -> None:
        """Waits for the first word of the call that reads this path first, for at most
        PRIMING_S."""
        if self._waits_for is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._waits_for.wait(), PRIMING_S)

    async def _attempts(self) -> Failure | None:
        """Attempts until one answers, or another is pointless; returns the failure if any."""
        adapter = self._order.provider.adapter()
        body, tries = adapter.body(self._order.ask), 0
        while True:
            tries += 1
            failure = await self._try(ProviderAttempt(adapter, self._order.ask, body))
            if failure is None or any(candidate.has_text for candidate in self._candidates):
                return failure
            less = adapter.adjusted(body, failure)
            less_wide = narrower(self._order) if failure.kind == "context" else None
            if less is not None:
                body, tries = less, tries - 1
            elif less_wide is not None:
                self._order, body = less_wide, adapter.body(less_wide.ask)
            else:
                wait = wait_before_next(failure, tries, self._backoff_s)
                if wait is None or SILENT_S - self._waited < LEAST_S:
                    return failure
                await self._say(
                    f"{failure.error['message']} · will be tried again in {wait:.0f} s", wait
                )
                await asyncio.sleep(wait)
            await self._seal()

    async def _say(self, why: str, wait: float) -> None:
        """Shows people the reason for a long wait, until the next attempt begins."""
        for candidate in self._open if wait >= TOLD_S else ():
            await in_thread(tell_wait, candidate.uid, self._lease, why)

    async def _try(self, attempt: ProviderAttempt) -> Failure | None:
        """One attempt, from its call's row to its last event."""
        going = [candidate.generation for candidate in self._open]
        for candidate in self._open:
            candidate.uses.clear()  # those of an attempt that failed
        # The row is written while the request is sent: neither waits for the other, but
        # nothing is shown before the row exists.
        beginning = asyncio.create_task(_beginnings(Beginning(self._order, attempt, going)))
        self._attempt = attempt
        began = time.monotonic()
        try:
            limits = replace(self._limits, first_s=self._patience)
            async with contextlib.aclosing(attempt.events(self._transport, limits)) as stream:
                async for event in stream:
                    await asyncio.shield(beginning)
                    if isinstance(event, Failure):
                        return event
                    await self._take_event(event)
                    if not self._open:
                        return None
        finally:
            self._waited += time.monotonic() - began
            self._call = await asyncio.shield(beginning)
        return None

    @property
    def _patience(self) -> float:
        """How many seconds the next attempt may take until its first text."""
        return max(LEAST_S, min(self._limits.first_s, SILENT_S - self._waited))

    async def _take_event(self, event: StreamEvent) -> None:
        if not isinstance(event, Delta | Finished | ToolUsed):
            return
        if event.index >= len(self._candidates):
            return
        if isinstance(event, ToolUsed):
            self._candidates[event.index].note_use(event)
            return
        self._let_others_go()
        candidate = self._candidates[event.index]
        if isinstance(event, Finished):
            candidate.is_whole, candidate.reason = True, event.reason
            # The last one waits for the end of the answer, which may have the usage.
            if len(self._open) > 1:
                self._end(candidate)
        elif candidate.is_open and not candidate.add(event.text):
            self._end(candidate, finish=TOO_LONG)
        elif candidate.is_open and await self._is_enough(event.text):
            self._end(candidate, finish="complete")
        elif candidate.is_open and self._is_over(candidate):
            self._end(candidate, finish=CUT_OFF if candidate.generation.round else TOO_LONG)
        elif candidate.is_open and candidate.lacks:
            await self._pay(candidate)

    async def _is_enough(self, piece: str) -> bool:
        """Whether a round has written all that its turn uses. Commands are parsed beside the loop:
        a hundred unreadable ones take up to a second."""
        cutter = self._cutter
        if cutter is None:
            return False
        if not cutter.takes_time(piece):
            return cutter.feed(piece)
        return await in_reading(cutter.feed, piece)

    def _is_over(self, candidate: GrowingCandidate) -> bool:
        """Whether a stream has more than twice the requested tokens."""
        most = self._order.ask.max_tokens
        return most is not None and candidate.tokens > OVER * most

    @property
    def _is_late(self) -> bool:
        """Whether the time of the turn is over."""
        until = self._order.until
        return until is not None and timezone.now() >= until

    def _let_others_go(self) -> None:
        if self._primes is not None:
            self._primes.set()

    async def _pay(self, candidate: GrowingCandidate) -> None:
        """Reserves more for a candidate that has used up its reservation; cuts it off if there is
        no more. The stream is not read in the meantime."""
        reserved = await in_thread(more_money, candidate.uid, self._lease, candidate.lacks)
        if reserved is None:
            error = await in_thread(no_money, candidate.generation)
            self._end(candidate, error=error, finish="interrupted:money")
        else:
            candidate.reserved = reserved

    async def _seal(self) -> None:
        call, attempt = self._call, self._attempt
        self._call = None
        if call is not None and attempt is not None:
            await in_thread(seal, call, attempt)

    # -- the rows

    async def _beat(self) -> None:
        """Writes the text so far, extends the lease, and ends generations that somebody asked to
        stop."""
        quiet = 0.0
        while self._open:
            # All runs at the same moments, so that they are written together.
            await asyncio.sleep(WRITE_S - time.monotonic() % WRITE_S)
            quiet += WRITE_S
            due = quiet >= HEARTBEAT_S
            quiet = 0.0 if due else quiet
            if self._is_late:
                for candidate in self._open:
                    self._end(candidate, finish=TIME_OVER)
            news = [candidate for candidate in self._open if due or candidate.has_news]
            await asyncio.gather(*(self._write(candidate) for candidate in news))

    async def _write(self, candidate: GrowingCandidate) -> None:
        answer = await _growing(Grown(candidate.uid, self._lease, *candidate.written()))
        if not candidate.is_open:
            return
        if answer == "stop":
            self._end(candidate, finish=STOPPED)
        elif answer == "lost":
            await candidate.close()

    def _end(
        self,
        candidate: GrowingCandidate,
        failure: Failure | None = None,
        *,
        finish: str = "",
        error: dict[str, Any] | None = None,
    ) -> None:
        """Ends a candidate once; the run waits for it at its end, even if cancelled."""
        if candidate.is_open:
            candidate.is_open = False
            self._endings.add(
                asyncio.create_task(self._write_ending(candidate, failure, finish, error))
            )

    async def _write_ending(
        self,
        candidate: GrowingCandidate,
        failure: Failure | None,
        finish: str,
        error: dict[str, Any] | None,
    ) -> None:
        await candidate.close()
        goes_on = candidate.is_paused and candidate.generation.round > 0
        if candidate.is_whole and (candidate.shown or goes_on):
            failure = None
        elif not (failure or finish or candidate.shown):
            failure = Failure("empty", "the provider paused first" if candidate.is_paused else "")
        if not finish:
            finish = f"interrupted:{failure.kind}" if failure else candidate.whole
        error = error or (failure.error if failure else None)
        usage = self._attempt.usage_of(candidate.index) if self._attempt else {}
        ending = Ending(
            candidate.shown,
            candidate.chunk,
            finish,
            error,
            usage,
            candidate.wrote,
            candidate.note,
            tuple(candidate.uses),
        )
        await in_thread(end_generation, candidate.uid, self._lease, ending)

    async def _put_down(self, candidate: GrowingCandidate) -> None:
        """Ends or puts back a candidate whose run was interrupted."""
        if candidate.has_text:
            self._end(candidate, finish=f"interrupted:{self._interrupted or 'worker error'}")
        else:
            await candidate.close()
            await in_thread(put_back, candidate.uid, self._lease)


# Rows and events of a run, written with functions of loom. Called beside the loop.


def end_generation(uid: str, lease: str, ending: Ending) -> None:
    """Ends a generation; its text becomes a node."""
    persistently(
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
            uses=ending.uses,
        )
    )


@dataclass(frozen=True)
class Beginning:
    """A request that is being sent for generations."""

    order: GenerationOrder
    attempt: ProviderAttempt
    generations: Sequence[Generation]

    def call(self) -> Call:
        """The row of its call, not stored yet."""
        order, first = self.order, self.generations[0]
        return Call(
            tree=first.tree,
            participant=first.participant,
            provider=order.provider.name,
            configuration=order.configuration,
            request=self.attempt.request,
            note=order.note,
            strategy=order.strategy,
            purpose=order.purpose,
            turn=first.turn,
        )


def create_calls(beginnings: Sequence[Beginning]) -> list[Call]:
    """Stores the calls of requests that are being sent, and links their generations to them."""

    def stored() -> list[Call]:
        calls = [beginning.call() for beginning in beginnings]
        of_calls = [beginning.generations for beginning in beginnings]
        generation_lifecycle.begin_calls(list(zip(calls, of_calls, strict=True)))
        return calls

    return persistently(stored)


BEGUN_TOGETHER = 16  # calls: others that write wait some milliseconds for them
GROWN_TOGETHER = 128  # texts
_beginnings = SharedWrite[Beginning, Call](create_calls, most=BEGUN_TOGETHER)
_growing = SharedWrite[Grown, str](keep_alive, most=GROWN_TOGETHER)


def seal(call: Call, attempt: ProviderAttempt) -> None:
    """Stores the response, without keys. Does nothing if its tree is being erased."""
    if not Call.objects.filter(pk=call.pk, tree__erasing_at__isnull=True).exists():
        return
    received = received_of(attempt)
    persistently(lambda: generation_lifecycle.seal(call, received))


# The runs of this process.


worker_log = logging.getLogger("heddle.worker")
LIMITS = Limits()
BACKOFF_S = 0.5  # seconds before the second attempt; doubled for each further one
current: set[GenerationRun] = set()
ending: list[str] = []  # the reason why this process is ending, if it is


async def begin(lane: str) -> None:
    """Runs what may begin in a lane, and then what waits there for a place, until all of it has
    ended. Does nothing if another worker has it or nothing waits."""
    await live(await in_beginning(_taken_of, lane))


def _taken_of(lane: str) -> list[CallGroup]:
    # While the worker is ending, the row stays queued; the sweeper of the next worker finds it.
    return [] if ending else begin_lane(lane)


def begin_lane(lane: str) -> list[CallGroup]:
    """What may begin now in a lane, grouped by calls. Generations that cannot run are ended with
    the reason. Candidates of one line and participant read their path once."""
    lease = new_uid()
    taken = lanes.begin(lane, lease=lease, seconds=leases.LEASE_S, proves_loss=proves_loss)
    going = [generation for generation in taken if not was_lost(generation, lease)]
    lines = groupby(sorted(going, key=_line), key=_line)
    return [group for _, line in lines for group in _call_groups(lease, list(line))]


def _line(generation: Generation) -> tuple[str, int]:
    return generation.batch, generation.participant_id


def _call_groups(lease: str, going: list[Generation]) -> list[CallGroup]:
    """The calls of candidates of one line and participant."""
    try:
        order = order_of(going[0])
    except CommandError as refused:
        error = refused.body
    except BrokenConnection as broken:
        error = broken.failure.error
    else:
        return by_calls(lease, going, order)
    for generation in going:
        end(generation, lease, error=error)
    return []


async def live(groups: Sequence[CallGroup]) -> None:
    """Runs calls on the loop side by side, and after each one what waits in its lane."""
    running = {asyncio.create_task(_run_group(group)) for group in groups}
    while running:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for lane in {task.result() for task in done}:
            if not ending:
                for group in await in_thread(_next_of, lane):
                    running.add(asyncio.create_task(_run_group(group)))


def _next_of(lane: str) -> list[CallGroup]:
    try:
        return begin_lane(lane) if lanes.has_waiting(lane) else []
    except DatabaseError:  # other runs continue; the sweeper finds what waits
        worker_log.warning("could not begin what waits in %s", lane, exc_info=True)
        return []


@contextmanager
def hold(lease: str) -> Iterator[None]:
    """Registers the lease of a live run of this process."""
    leases.held[lease] += 1
    try:
        yield
    finally:
        leases.held[lease] -= 1
        if not leases.held[lease]:
            del leases.held[lease]


async def _run_group(group: CallGroup) -> str:
    """Runs one call; returns its lane, which then has a free place."""
    transport = transport_of(group.order.provider, group.order.allow)
    run = GenerationRun(group, transport, LIMITS, backoff_s=BACKOFF_S)
    current.add(run)
    if ending:
        run.interrupt(ending[0])
    try:
        with hold(group.lease):
            await run()
    finally:
        current.discard(run)
    return group.lane
