"""One running call: candidates grow, viewers see them, rows store them, nodes are made of them."""

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import Any

import httpx
from django.utils import timezone

from agents.persistence import (
    Ending,
    Held,
    create_call,
    end_generation,
    keep_alive,
    more_money,
    put_back,
    seal,
    tell_wait,
)
from agents.providers.attempt import Attempt, Delta, Finished, StreamEvent, wait_before_next
from agents.providers.exchange import Failure, Limits
from agents.providers.transport import in_reading, in_thread
from agents.reply import Cutter, Overlap
from agents.subject_prompt import language
from loom.commands import money
from loom.commands.generation_lifecycle import CUT_OFF
from loom.commands.money import used_up
from loom.commands.node_writer import MAX_NODE_BYTES
from loom.events.streams import send_async
from loom.models import Call, Generation

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


log = logging.getLogger("heddle.run")

WRITE_S = 0.25  # rows of growing text are written at most so often
HEARTBEAT_S = 1.0  # and so often where nothing came
STOPPED = "interrupted:stopped"
TOO_LONG = "interrupted:too long"
TIME_OVER = "interrupted:time"
TOLD_S = 2.0  # shorter pauses between attempts are not worth a word
SILENT_S = 120.0  # all attempts together wait no longer for the first text
# With less left of it, no other attempt begins. The loop's clock stands still while a callback
# runs, so an attempt may end a little before its time.
LEAST_S = 0.1
OVER = 2  # times its max_tokens: a provider that ignores them is cut there
PRIMING_S = 15.0  # the other calls wait no longer for the first word of the first one


class Run:
    """The life of the generations of one call. Lives on the loop; run once."""

    def __init__(
        self,
        held: Held,
        transport: httpx.AsyncBaseTransport,
        limits: Limits,
        *,
        backoff_s: float,
    ) -> None:
        self._lease, self._order = held.lease, held.order
        self._primes, self._waits_for = held.primes, held.waits_for
        self._transport, self._limits, self._backoff_s = transport, limits, backoff_s
        stream = f"tree:{held.generations[0].tree.uid}"
        self._candidates = [
            Candidate(
                one,
                index,
                stream=stream,
                overlap=held.order.overlap(),
                left_out=held.order.left_out,
            )
            for index, one in enumerate(held.generations)
        ]
        # A round is read no further than its turn uses it.
        self._cutter = Cutter(language()) if held.generations[0].round > 0 else None
        self._waited = 0.0  # for answers of which no text came
        self._attempt: Attempt | None = None
        self._call: Call | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._working: asyncio.Task[None] | None = None
        self._interrupted = ""

    def interrupt(self, why: str) -> None:
        """Ends the run from outside: what came is kept, what has not begun is put back."""
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
    def _open(self) -> list[Candidate]:
        return [one for one in self._candidates if one.is_open]

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
        """Until the call that reads this path first has had its first word, or too long."""
        if self._waits_for is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._waits_for.wait(), PRIMING_S)

    async def _attempts(self) -> Failure | None:
        """Attempts until one answers, or another is not worth making; its failure if any."""
        adapter = self._order.provider.adapter()
        body, made = adapter.body(self._order.ask), 0
        while True:
            made += 1
            failure = await self._try(Attempt(adapter, self._order.ask, body))
            if failure is None or any(one.has_text for one in self._candidates):
                return failure
            less = adapter.adjusted(body, failure)
            narrower = self._order.narrower() if failure.kind == "context" else None
            if less is not None:
                body, made = less, made - 1
            elif narrower is not None:
                self._order, body = narrower, adapter.body(narrower.ask)
            else:
                wait = wait_before_next(failure, made, self._backoff_s)
                if wait is None or SILENT_S - self._waited < LEAST_S:
                    return failure
                await self._say(
                    f"{failure.error['message']} · tried again after {wait:.0f} s", wait
                )
                await asyncio.sleep(wait)
            await self._seal()

    async def _say(self, why: str, wait: float) -> None:
        """Has those who wait for long read why, until the next attempt begins."""
        for candidate in self._open if wait >= TOLD_S else ():
            await in_thread(tell_wait, candidate.uid, self._lease, why)

    async def _try(self, attempt: Attempt) -> Failure | None:
        """One attempt, from its call's row to its last event."""
        going = [one.generation for one in self._open]
        # The row is written while the request goes out: neither waits for the other, but
        # nothing is shown before the row is there.
        beginning = asyncio.create_task(in_thread(create_call, self._order, attempt, going))
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
        """How many seconds the next attempt may be silent."""
        return max(LEAST_S, min(self._limits.first_s, SILENT_S - self._waited))

    async def _take_event(self, event: StreamEvent) -> None:
        if not isinstance(event, Delta | Finished) or event.index >= len(self._candidates):
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
        """Whether a round has said what its turn uses. Commands are read beside the loop:
        a hundred that cannot be read take as long as a second."""
        cutter = self._cutter
        if cutter is None:
            return False
        if not cutter.takes_time(piece):
            return cutter.feed(piece)
        return await in_reading(cutter.feed, piece)

    def _is_over(self, candidate: Candidate) -> bool:
        """Whether a stream came to more than twice the tokens that were asked for."""
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

    async def _pay(self, candidate: Candidate) -> None:
        """Reserves more for a candidate that came to what is reserved for it; cuts it where
        there is no more. Nothing is read meanwhile."""
        reserved = await in_thread(more_money, candidate.uid, self._lease, candidate.lacks)
        if reserved is None:
            self._end(candidate, error=used_up().body, finish="interrupted:money")
        else:
            candidate.reserved = reserved

    async def _seal(self) -> None:
        call, attempt = self._call, self._attempt
        self._call = None
        if call is not None and attempt is not None:
            await in_thread(seal, call, attempt)

    # -- the rows

    async def _beat(self) -> None:
        """Writes what came, extends the lease, and ends what somebody asked to stop."""
        quiet = 0.0
        while self._open:
            await asyncio.sleep(WRITE_S)
            quiet += WRITE_S
            due = quiet >= HEARTBEAT_S
            quiet = 0.0 if due else quiet
            for candidate in self._open:
                if self._is_late:
                    self._end(candidate, finish=TIME_OVER)
                elif due or candidate.has_news:
                    await self._write(candidate)

    async def _write(self, candidate: Candidate) -> None:
        text, chunk = candidate.written()
        answer = await in_thread(keep_alive, candidate.uid, self._lease, text, chunk)
        if not candidate.is_open:
            return
        if answer == "stop":
            self._end(candidate, finish=STOPPED)
        elif answer == "lost":
            await candidate.close()

    def _end(
        self,
        candidate: Candidate,
        failure: Failure | None = None,
        *,
        finish: str = "",
        error: dict[str, Any] | None = None,
    ) -> None:
        """Ends a candidate once; the run waits for it at its end, cancelled or not."""
        if candidate.is_open:
            candidate.is_open = False
            self._endings.add(
                asyncio.create_task(self._write_ending(candidate, failure, finish, error))
            )

    async def _write_ending(
        self,
        candidate: Candidate,
        failure: Failure | None,
        finish: str,
        error: dict[str, Any] | None,
    ) -> None:
        await candidate.close()
        if candidate.is_whole and candidate.shown:
            failure = None
        elif not (failure or finish or candidate.shown):
            failure = Failure("empty")
        if not finish:
            finish = f"interrupted:{failure.kind}" if failure else candidate.whole
        error = error or (failure.error if failure else None)
        usage = self._attempt.usage_of(candidate.index) if self._attempt else {}
        ending = Ending(
            candidate.shown, candidate.chunk, finish, error, usage, candidate.wrote, candidate.note
        )
        await in_thread(end_generation, candidate.uid, self._lease, ending)

    async def _put_down(self, candidate: Candidate) -> None:
        """What becomes of a candidate whose run was interrupted."""
        if candidate.has_text:
            self._end(candidate, finish=f"interrupted:{self._interrupted or 'worker error'}")
        else:
            await candidate.close()
            await in_thread(put_back, candidate.uid, self._lease)
