"""The tasks of the worker, each a thin shell around a function; the sweeper, which finds forgotten
work; and the worker itself: the lanes it takes over, its start and its end."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from datetime import timedelta
from functools import partial
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import InterfaceError, OperationalError, close_old_connections, transaction
from django.utils import timezone
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agents import answers, leases, runs, turns
from agents.leases import EVERY_S
from agents.lost_workers import was_lost
from agents.providers.transport import the_loop
from agents.runs import worker_log
from loom.engine import jobs, kept_jobs, put_aside, receipts, sweeps
from loom.engine.busy import is_busy
from loom.engine.fields import new_uid
from loom.participants import commands as participants
from loom.platform.upkeep import empty_log, keep_database
from loom.turns import generation_lifecycle, turn_lifecycle
from loom.turns import lanes as lanes_module
from loom.turns.models import Generation

PUT_DOWN_S = 8  # seconds; the supervisor waits for 10


run_turn = shared_task(name="agents.tasks.run_turn")(turns.run_turn)
bring_answer = shared_task(name="agents.tasks.bring_answer")(answers.bring_answer)


@shared_task(name="agents.tasks.summarise")
def summarise(tree_uid: str, person: int, nodes: list[int], whole: bool, turn: str = "") -> None:
    """Queues missing summaries, on behalf of somebody who needs them, in a turn if it names one."""
    from loom.people.models import Participant
    from loom.trees.models import Tree
    from loom.turns.summaries import want

    who = Participant.objects.select_related("user").filter(pk=person).first()
    tree = Tree.objects.select_related("grove").filter(uid=tree_uid, erasing_at=None).first()
    if who is not None and tree is not None:
        want(who, tree, nodes, whole=whole, turn=turn)


@shared_task(name=participants.PROBE)
@kept_jobs.kept
def probe(uid: str) -> object:
    """Finds out what a participant's endpoint supports, without waiting for the result."""
    from agents.providers import probing

    probing.start_probe(uid)
    return kept_jobs.LATER


@shared_task(name="agents.tasks.search_web")
def search_web(uid: str) -> None:
    """Runs the web search of a line."""
    from agents.providers.web_search import start_search

    start_search(uid)


@shared_task(name=participants.LISTING)
@kept_jobs.kept
def list_models(uid: str) -> object:
    """Asks an address for its list of models, without waiting for the answer."""
    from agents.providers import probing

    probing.start_listing(uid)
    return kept_jobs.LATER


# -- forgotten work: generations whose worker is gone, and those that the broker never delivered


sweeper_log = logging.getLogger("heddle.sweeper")

# The broker or the database is away: a line for each round says so, and not each part of it. A
# database that has no such table says the same, so where it comes from is logged once.
AWAY = (RedisError, OperationalError, InterfaceError)
MOST_SAID = 200  # characters of a cause
MOST_NAMED = 3  # parts of a round that met it
DELETE_EVERY_S = 3600  # seconds between two deletions of what is old, and looks at statistics
BATCH = 1000
FORGOTTEN_S = 10  # seconds; a generation that is still queued after this is sent again


def try_to_write() -> None:
    """Takes and releases the lock that every write needs; changes nothing."""
    with transaction.atomic():
        Generation.objects.filter(pk=-1).update(chunk=0)


def bury(uid: str) -> None:
    """Ends a generation whose worker was lost in the middle of its text."""
    lease = new_uid()
    row = generation_lifecycle.take(uid, lease=lease, seconds=leases.LEASE_S)
    if row is not None:
        was_lost(row, lease)


def _end_stopped() -> int:
    """Ends the generations that were asked to stop before they began, and whose process was gone
    before it could end them; returns how many. Another process may be ending them now."""
    rows = Generation.objects.filter(ended_at__isnull=True, status="queued", stop_asked=True)
    rows = rows.filter(tree__erasing_at__isnull=True)
    rows = rows.exclude(put_aside.among("generation", version="chunk"))
    return sum(
        put_aside.attempt(
            "generation",
            row.uid,
            partial(generation_lifecycle.end_unbegun, row.uid),
            version=row.chunk,
            grove=row.tree.grove,
        )
        for row in rows.select_related("tree__grove")
    )


def sweep() -> int:
    """Hands over the lanes of forgotten generations again, and ends those whose worker was lost in
    the middle of their text. Returns how many it found. Safe to run anywhere, at any time."""
    now = timezone.now()
    lost = Generation.objects.filter(ended_at__isnull=True, status="running", leased_until__lt=now)
    lost = lost.exclude(put_aside.among("generation", version="chunk"))
    count, lanes = 0, set()
    for row in lost.select_related("tree__grove"):
        if not leases.proves_loss(row.lease):
            continue
        count += 1
        if row.text:  # no worker can continue it
            put_aside.attempt(
                "generation",
                row.uid,
                partial(bury, row.uid),
                version=row.chunk,
                grove=row.tree.grove,
            )
        else:
            lanes.add(row.lane)
    waiting = Generation.objects.filter(
        ended_at__isnull=True,
        status="queued",
        stop_asked=False,
        created_at__lt=now - timedelta(seconds=FORGOTTEN_S),
    )
    for lane in waiting.values_list("lane", flat=True):
        count += 1
        lanes.add(lane)
    count += _end_stopped()
    for lane in sorted(lanes):
        lanes_module.hand_over(lane)
    for uid in turn_lifecycle.waiting():
        count += 1
        jobs.enqueue("agents.tasks.run_turn", [uid], queue="continue")
    return count


def delete_old() -> int:
    """Deletes receipts older than RECEIPT_DAYS and sessions that ended more than
    ENDED_SESSION_DAYS ago, in batches with a transaction each; returns the number of rows."""
    now = timezone.now()
    deleted = receipts.delete_before(now - timedelta(days=settings.RECEIPT_DAYS), batch=BATCH)
    ended = now - timedelta(days=settings.ENDED_SESSION_DAYS)
    rows = Session.objects.filter(expire_date__lt=ended).order_by("expire_date")
    while keys := list(rows.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            deleted += Session.objects.filter(pk__in=keys).delete()[0]
    return deleted


def _name_of(step: Callable[[], object]) -> str:
    return f"{step.__module__}.{step.__qualname__}"


def _some(parts: Sequence[str]) -> str:
    """The first of these parts."""
    return ", ".join(parts[:MOST_NAMED]) + (", …" if len(parts) > MOST_NAMED else "")


class Sweeper(threading.Thread):
    """Sweeps every few seconds until asked to stop; survives any error, also if the database or
    broker is down."""

    def __init__(self) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stopping = threading.Event()
        self._deleted_at = -float(DELETE_EVERY_S)
        self._away: set[str] = set()  # causes of the last round, whose places are in the log

    def run(self) -> None:
        """Sweeps immediately, then every EVERY_S seconds."""
        while True:
            close_old_connections()
            away: dict[str, list[str]] = {}
            for step in (self._look, sweep, *sweeps.every(), self._delete_old):
                try:
                    step()
                except Exception as error:  # the other steps, and the next round, still look
                    if is_busy(error):  # others write, or a killed process is being recovered
                        sweeper_log.info("the database is busy; looks again in %s s", EVERY_S)
                    elif isinstance(error, AWAY):
                        cause = " ".join(str(error).split())[:MOST_SAID]
                        if cause not in self._away and not isinstance(error, RedisError):
                            sweeper_log.warning("could not sweep", exc_info=True)
                            self._away.add(cause)
                        away.setdefault(cause, []).append(_name_of(step))
                    else:
                        sweeper_log.warning("could not sweep", exc_info=True)
            self._away &= away.keys()
            for cause, parts in away.items():
                line = "could not sweep, in %s parts of a round (%s): %s"
                sweeper_log.warning(line, len(parts), _some(parts), cause)
            close_old_connections()
            if self.stopping.wait(EVERY_S):
                return

    def _look(self) -> None:
        leases.watch.look(try_to_write)

    def _delete_old(self) -> None:
        if time.monotonic() - self._deleted_at >= DELETE_EVERY_S:
            delete_old()
            keep_database()
            empty_log()
            self._deleted_at = time.monotonic()


# -- the lanes that are handed over to this worker

LISTEN_S = 5.0  # seconds that one request for a lane waits for an answer
AGAIN_S = 1.0
_begun: set[asyncio.Task[None]] = set()


def begin_what_is_handed_over() -> Future[None]:
    """Begins the generations of lanes that `streams.hand_over` names, until the worker ends.
    Returns immediately: no thread is held while a model writes."""
    return asyncio.run_coroutine_threadsafe(_receive(), the_loop().loop)


async def _receive() -> None:
    lanes = Redis.from_url(settings.REDIS_URL, socket_timeout=2 * LISTEN_S, decode_responses=True)
    while not runs.ending:
        try:
            entry = await lanes.blpop([lanes_module.LANES], timeout=LISTEN_S)
        except Exception as error:  # broker down: the sweeper begins what waits
            worker_log.warning("no answer from the broker, asking again: %r", error)
            await asyncio.sleep(AGAIN_S)
            continue
        if entry is not None and runs.ending:  # leave it, the first, for another worker
            await lanes.lpush(lanes_module.LANES, entry[1])
        elif entry is not None:
            _spawn(runs.begin(str(entry[1])))


def _spawn(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _begun.add(task)
    task.add_done_callback(_note_end)


def _note_end(task: asyncio.Task[None]) -> None:
    _begun.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        worker_log.error("runs broke off; the sweeper finds what they held", exc_info=error)


# -- the start and the end of the worker

_sweepers: list[Sweeper] = []


@worker_ready.connect
def begin_sweeping(**_: Any) -> None:
    """Finds, from the rows, what an earlier worker left, while new work already arrives."""

    begin_what_is_handed_over()
    _sweepers.append(Sweeper())
    _sweepers[-1].start()


@worker_shutting_down.connect
def put_everything_down(**_: Any) -> None:
    """SIGTERM: stores the text of running answers."""

    for sweeper in _sweepers:
        sweeper.stopping.set()
    end_all("worker stopped")


@worker_shutdown.connect
def wait_for_what_is_put_down(**_: Any) -> None:
    """Lets the process end only once everything is stored."""

    wait_for_all(PUT_DOWN_S)


def end_all(why: str) -> None:
    """Interrupts every run: its text is stored and what has not begun is put back. Returns
    immediately."""
    runs.ending.append(why)
    the_loop().loop.call_soon_threadsafe(_interrupt_all, why)


def wait_for_all(seconds: float) -> None:
    """Waits until every run has ended, at most `seconds`."""
    until = time.monotonic() + seconds
    while runs.current and time.monotonic() < until:
        time.sleep(0.05)


def _interrupt_all(why: str) -> None:
    for run in tuple(runs.current):
        run.interrupt(why)
