"""The runs of this process: begun from tasks, ended together when the worker is asked to stop."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any

import httpx
from django.conf import settings
from django.db import DatabaseError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agents import persistence
from agents.event_loop import in_beginning, in_thread, the_loop
from agents.generations import Run
from agents.persistence import Held, begin_lane
from agents.providers.exchange import Limits
from agents.providers.registry import Provider
from loom.commands import generation_lifecycle
from loom.events import streams

log = logging.getLogger("heddle.worker")
LIMITS = Limits()
BACKOFF_S = 0.5  # the first pause before another attempt; the next ones double
LISTEN_S = 5.0  # how long one question for a lane waits for an answer
AGAIN_S = 1.0

_runs: set[Run] = set()
_begun: set[asyncio.Task[None]] = set()
_transports: dict[tuple[object, tuple[str, ...]], httpx.AsyncBaseTransport] = {}
_ending: list[str] = []


def begin_what_is_handed_over() -> Future[None]:
    """Begins generations as `streams.hand_over` names their lanes, until the worker ends. Returns
    at once: no thread is held for as long as a model writes."""
    return asyncio.run_coroutine_threadsafe(_receive(), the_loop().loop)


async def _receive() -> None:
    lanes = Redis.from_url(settings.REDIS_URL, socket_timeout=2 * LISTEN_S, decode_responses=True)
    while not _ending:
        try:
            found = await lanes.blpop([streams.LANES], timeout=LISTEN_S)
        except (RedisError, OSError) as error:  # away: the sweeper begins what waits
            log.warning("no answer from the broker, asking again: %s", error)
            await asyncio.sleep(AGAIN_S)
            continue
        if found is not None and _ending:  # for another worker
            await lanes.rpush(streams.LANES, found[1])
        elif found is not None:
            _spawn(begin(str(found[1])))


def _spawn(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _begun.add(task)
    task.add_done_callback(_note_end)


def _note_end(task: asyncio.Task[None]) -> None:
    _begun.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("runs broke off; the sweeper finds what they held", exc_info=error)


async def begin(lane: str) -> None:
    """Runs what may begin in a lane, and what waits there for a place, until all of it has
    ended. Harmless where another worker holds it or nothing waits."""
    await live(await in_beginning(_taken_of, lane))


def _taken_of(lane: str) -> list[Held]:
    # While the worker ends the row stays queued; the sweeper of the next one sends it again.
    return [] if _ending else begin_lane(lane)


async def live(held: Sequence[Held]) -> None:
    """Runs calls on the loop side by side, and after each what waits in its lane."""
    running = {asyncio.create_task(_one(one)) for one in held}
    while running:
        done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for lane in {task.result() for task in done}:
            if not _ending:
                for one in await in_thread(_next_of, lane):
                    running.add(asyncio.create_task(_one(one)))


def _next_of(lane: str) -> list[Held]:
    try:
        return begin_lane(lane) if generation_lifecycle.has_waiting(lane) else []
    except DatabaseError:  # what runs beside it goes on; the sweeper sends what waits again
        log.warning("could not begin what waits in %s", lane, exc_info=True)
        return []


async def _one(held: Held) -> str:
    """Runs one call; its lane, which has a place again."""
    transport = _transport(held.order.provider, held.order.allow)
    run = Run(held, transport, LIMITS, backoff_s=BACKOFF_S)
    _runs.add(run)
    if _ending:
        run.interrupt(_ending[0])
    try:
        with persistence.held(held.lease):
            await run()
    finally:
        _runs.discard(run)
    return held.lane


def _transport(provider: Provider, allow: Sequence[str]) -> httpx.AsyncBaseTransport:
    """The transport of a provider for a list of allowed addresses; kept, with its
    connections."""
    way = provider.transport, tuple(allow)
    if way not in _transports:
        _transports[way] = provider.transport(allow)
    return _transports[way]


def end_all(why: str) -> None:
    """Interrupts every run: stores what came and puts back what has not begun. Returns at once."""
    _ending.append(why)
    the_loop().loop.call_soon_threadsafe(_interrupt_all, why)


def wait_for_all(seconds: float) -> None:
    """Waits until every run has ended, at most so long."""
    until = time.monotonic() + seconds
    while _runs and time.monotonic() < until:
        time.sleep(0.05)


def _interrupt_all(why: str) -> None:
    for run in tuple(_runs):
        run.interrupt(why)
