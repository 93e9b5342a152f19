"""Streams: the kinds of events, the lock and the numbering under it, and announcements after
commit."""

import asyncio
import atexit
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import redis
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.cache import cache as django_cache
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from config.celery import app
from loom.models import Event, Grove, Node, Stream, Tree, Workspace
from loom.models.base import Given, Prepared, insert_row, insert_rows, update_row
from loom.rules.errors import CommandError

log = logging.getLogger("heddle.announce")


def group_of(stream: str) -> str:
    """The channel layer's group for a stream; group names allow no colon."""
    return stream.replace(":", ".")


def announce(stream: str, seq: int) -> None:
    """Announces `seq` after the transaction has committed; never if it is rolled back."""
    transaction.on_commit(lambda: send(stream, {"type": "bell", "stream": stream, "seq": seq}))


def access_changed(grove_uid: str, user_id: int) -> None:
    """After commit: a user's role in a grove has changed, so their sockets are checked."""
    message = {"type": "access", "grove": grove_uid, "user": user_id}
    transaction.on_commit(lambda: send(f"grove:{grove_uid}", message))


SEND_S = 2.0  # seconds that one message may take before the broker counts as down
EXIT_S = 1.0  # seconds that the process waits at its end for unsent messages


def send(stream: str, message: dict[str, Any]) -> None:
    """Queues a message that is not stored (bell, delta) for the stream's listeners. Returns
    immediately; messages are sent in the order of the calls. If the broker is down, only the
    message is lost, and the caller does not wait: the log has every event, and each feed checks
    its head once a second.
    """
    _sender.put(stream, message)


class _Sender:
    """Sends messages over the channel layer from one thread with its own event loop. A layer keeps
    one connection for each loop. `async_to_sync` starts a loop, and so a connection, with each
    call (measured: 4 to 5 ms); here both stay open.
    """

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Starts over in a forked process, because threads do not survive a fork."""
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._working: asyncio.Task[None] | None = None
        self._waiting: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()

    def put(self, stream: str, message: dict[str, Any]) -> None:
        """Adds a message to those that wait; the first call starts the thread."""
        loop = self._loop or self._start()
        loop.call_soon_threadsafe(self._waiting.put_nowait, (stream, message))

    def flush(self, seconds: float) -> bool:
        """Waits until all messages so far are sent or dropped; False if time ran out."""
        if self._loop is None:
            return True
        done: Future[None] = asyncio.run_coroutine_threadsafe(self._waiting.join(), self._loop)
        try:
            done.result(seconds)
        except TimeoutError:
            done.cancel()
            return False
        return True

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._working = loop.create_task(self._work())
                threading.Thread(target=loop.run_forever, name="announce", daemon=True).start()
                self._loop = loop
            return self._loop

    async def _work(self) -> None:
        while True:
            stream, message = await self._waiting.get()
            try:
                async with asyncio.timeout(SEND_S):
                    await _send_to_group(stream, message)
            except Exception as error:
                log.warning("could not ring %s: %r", stream, error)
                self._drop_waiting()
            finally:
                self._waiting.task_done()

    def _drop_waiting(self) -> None:
        """Drops messages that piled up during a failure: they are outdated when the broker is
        back."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
            self._waiting.task_done()


_sender = _Sender()


def flush(seconds: float = EXIT_S) -> bool:
    """Waits until all messages given to `send` are sent or dropped; False if time ran out."""
    return _sender.flush(seconds)


atexit.register(flush)


async def _send_to_group(stream: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        await layer.group_send(group_of(stream), message)


async def send_async(stream: str, message: dict[str, Any]) -> None:
    """The same for callers on an event loop, over that loop's own connection."""
    try:
        await _send_to_group(stream, message)
    except Exception as error:  # the broker may be down; see send
        log.warning("could not ring %s: %s", stream, error)


async def listen(
    names: Iterable[str], hear: Callable[[dict[str, Any]], None], subscribed: asyncio.Event
) -> None:
    """Calls `hear` with every message to these streams until it is cancelled; joins their groups
    again after the connection to the broker was lost. `subscribed` is set once they are joined."""
    groups = sorted({group_of(name) for name in names})
    while True:
        try:
            layer: Any = get_channel_layer()
            channel = await layer.new_channel()
            for group in groups:
                await layer.group_add(group, channel)
            subscribed.set()
            while True:
                hear(await layer.receive(channel))
        except asyncio.CancelledError:
            raise
        except Exception:
            log.warning("lost the broker for %s", groups[0], exc_info=True)
            await asyncio.sleep(1)


# Tasks for the worker, sent by name after commit, so that a rollback sends none.


jobs_log = logging.getLogger("heddle.jobs")


def enqueue(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends the task after commit. If the broker is down nothing is lost: the row's status is
    queued, and the sweeper sends it again."""
    transaction.on_commit(lambda: _send(task, args, queue))


def _send(task: str, args: Sequence[Any], queue: str) -> None:
    try:
        app.send_task(task, args=list(args), queue=queue, retry=False, ignore_result=True)
    except Exception as error:
        jobs_log.warning("could not enqueue %s, the sweeper will: %s", task, error)


# The list of lanes in which generations wait for a worker. The first word waits for it: a Celery
# task takes 2.5 ms from commit until a thread of the worker runs it, this 0.5 ms (measured).
LANES = "heddle:lanes"


def hand_over(lane: str) -> None:
    """After commit, notifies one worker to begin what may begin in a lane. The rows are
    authoritative: if the notification is lost, the sweeper repeats it."""
    transaction.on_commit(lambda: _push(lane))


def _push(lane: str) -> None:
    try:
        _list(settings.REDIS_URL).lpush(LANES, lane)
    except redis.RedisError as error:
        jobs_log.warning("could not hand %s over, the sweeper will: %s", lane, error)


@cache
def _list(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=SEND_S, socket_connect_timeout=SEND_S)


# Who has which stream open now, for lists of trees: each live feed reports it, and the cache keeps
# it for a short time. No permission depends on it; without the broker the lists are empty.


present_log = logging.getLogger("heddle.present")

KEPT_S = 50  # seconds; feeds report more often than that


def set_present(stream: str, participants: Iterable[str]) -> None:
    """Stores the uids of all participants who have the stream open, in any process."""
    here = sorted(set(participants))
    try:
        if here:
            django_cache.set(_key(stream), here, KEPT_S)
        else:
            django_cache.delete(_key(stream))
    except Exception as error:  # the broker may be down: a list without names does no harm
        present_log.warning("could not report who is in %s: %s", stream, error)


def present(streams: Iterable[str]) -> dict[str, list[str]]:
    """The uids of those who have each stream open; streams that nobody has open are left out."""
    keys = {_key(stream): stream for stream in streams}
    try:
        found = django_cache.get_many(list(keys))
    except Exception as error:
        present_log.warning("could not see who is here: %s", error)
        return {}
    return {keys[key]: list(here) for key, here in found.items()}


def _key(stream: str) -> str:
    return f"present:{stream}"


LEFT_S = 60.0  # seconds for which it is stored who left


def tell_places(stream: str, places: Mapping[str, str]) -> None:
    """Stores the node (local id) on the pages of each participant, by uid, and when those who have
    left since were last seen. Replaces what was stored before."""
    try:
        before, left = _places(stream)
        now = time.time()
        left = {uid: at for uid, at in left.items() if now - at < LEFT_S and uid not in places}
        left |= {uid: now for uid in before if uid not in places}
        django_cache.set(f"places:{stream}", [dict(places), left], LEFT_S)
    except Exception as error:  # without the broker nobody is seen, which is no harm
        present_log.warning("could not store who is where in %s: %s", stream, error)


def places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    """(the node of each participant who has a page open, by uid; when those who left in the last
    minute did so, in seconds since 1970)."""
    try:
        return _places(stream)
    except Exception as error:
        present_log.warning("could not see who is where: %s", error)
        return {}, {}


def _places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    here, left = django_cache.get(f"places:{stream}") or ({}, {})
    return here, left


# Streams: the closed list of event kinds, the lock, and numbering under it.


KINDS: dict[str, frozenset[str]] = {
    "tree": frozenset(
        """tree.created tree.changed node.added node.flagged node.summarised link.added
        link.removed mark.added mark.removed tag.renamed tag.removed settings.pinned
        annotation.resolved annotation.reopened
        suggestion.decided token.changed claim.changed commitment.added commitment.vetoed
        turn.started turn.ended generation.started generation.ended call.sealed
        import.finished""".split()
    ),
    "grove": frozenset(
        """grove.created grove.changed member.added member.changed member.removed
        invitation.added invitation.removed participant.added participant.changed
        document.added document.changed type.added check.changed trail.changed pipe.saved
        tree.erased preset.saved preset.removed link.added link.removed mark.added mark.removed
        suggestion.decided token.changed""".split()
    ),
    "workspace": frozenset(
        """view.changed window.opened window.changed window.closed task.added task.changed
        draft.saved""".split()
    ),
}


T = TypeVar("T")
PATIENCE_S = 30.0  # seconds; each attempt already waits 20 s for the database
RETRY_S = 0.1


def name_of(item: Tree | Grove | Workspace) -> str:
    """The stream's name: `tree:UID`, `grove:UID` or `workspace:UID`."""
    return f"{type(item).__name__.lower()}:{item.uid}"


@dataclass
class Writer:
    """A locked stream. Events appended here are numbered immediately and written by `flush`; in a
    dry run the stream is not locked, and payloads are not needed. `nodes` are those added under
    this lock, and `texts` those of documents, so that a step can name what they store.
    """

    stream: Stream
    actor: str = ""
    origin: str = ""
    _pending: list[Event] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    is_dry: bool = False

    def append(self, kind: str, payload: dict[str, Any]) -> int:
        """Numbers an event of a known kind; returns its seq."""
        allowed = KINDS[self.stream.name.split(":", 1)[0]]
        if kind not in allowed:
            raise ValueError(f"{kind!r} is no event of {self.stream.name}")
        self.stream.head += 1
        self._pending.append(
            Event(
                stream=self.stream,
                seq=self.stream.head,
                kind=kind,
                actor=self.actor,
                origin=self.origin,
                payload=payload,
                at=timezone.now(),
            )
        )
        self.seqs.append(self.stream.head)
        return self.stream.head

    def ordinals(self, count: int) -> range:
        """`count` new ordinals of nodes of this tree, in order. The size of the tree is then
        unknown until the code that stores the nodes sets it."""
        self.stream.leaves = None
        first = self.stream.items + 1
        self.stream.items += count
        return range(first, first + count)

    @property
    def pending(self) -> list[Event]:
        """The events that `flush` will write."""
        return list(self._pending)

    @property
    def size(self) -> tuple[int, int] | None:
        """The stored branches and depth of the tree; None if they are not stored."""
        leaves, deepest = self.stream.leaves, self.stream.deepest
        return None if leaves is None or deepest is None else (leaves, deepest)

    def sized(self, size: tuple[int, int]) -> None:
        """Stores the branches and the depth of the tree if they have changed."""
        self.stream.leaves, self.stream.deepest = size

    def rewind(self, seq: int) -> None:
        """Drops the events after `seq`, whose rows were rolled back with a savepoint."""
        self._pending = [event for event in self._pending if event.seq <= seq]
        self.seqs = [one for one in self.seqs if one <= seq]
        self.stream.head = seq

    def flush(self, *, many: bool = False) -> None:
        """Writes the events and the new head; announces after commit. `many` is for hundreds of
        events, outside of dry runs."""
        if many:
            insert_rows(Event, [vars(one) for one in self._pending])
        elif len(self._pending) == 1:
            insert_row(self._pending[0])
        elif self._pending:
            Event.objects.bulk_create(self._pending, batch_size=500)
        self._pending = []
        update_row(self.stream, "head", "items", "leaves", "deepest", "unmeasured")
        if self.seqs:
            announce(self.stream.name, self.stream.head)


def open_stream(item: Tree | Grove | Workspace) -> Stream:
    """Makes the stream of a new item."""
    return insert_row(Stream(name=name_of(item)))


_LOCKED = Prepared(lambda: Stream.objects.select_for_update().filter(name=Given("name")))


def lock(
    item: Tree | Grove | Workspace, *, actor: str = "", origin: str = "", is_dry: bool = False
) -> Writer:
    """Locks the item's stream until the end of the transaction, unless it is a dry run.
    PostgreSQL: SELECT … FOR UPDATE; SQLite: the transaction is immediate already.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("lock() needs a transaction")
    name = name_of(item)
    if is_dry:
        return Writer(Stream.objects.get(name=name), actor=actor, origin=origin, is_dry=True)
    stream = _LOCKED.first(name=name)
    if stream is None:
        stream = Stream.objects.get_or_create(name=name)[0]
        stream = Stream.objects.select_for_update().get(pk=stream.pk)
    return Writer(stream, actor=actor, origin=origin)


def retry_while_busy(write: Callable[[], T]) -> T:
    """Returns what `write` returns; runs it again if the database was too busy and nothing was
    written. Raises CommandError UNAVAILABLE if that lasts for PATIENCE_S."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return write()
        except OperationalError as error:
            # Inside a transaction the code that began it has to run it again.
            if not is_busy(error) or connection.in_atomic_block:
                raise
            if time.monotonic() >= until:
                raise CommandError(
                    "UNAVAILABLE",
                    "The database is busy; nothing was changed.",
                    hint="send it again in a moment",
                    retryable=True,
                ) from None
        time.sleep(RETRY_S)


# What databases report by code, as a server may speak any language: PostgreSQL's SQLSTATEs, and the
# low byte of SQLite's codes, whose other bytes say which kind it was.
_BUSY = (("40P01", "40001"), sqlite3.SQLITE_BUSY)  # deadlock_detected, serialization_failure
_FULL = (("53100",), sqlite3.SQLITE_FULL)  # disk_full
_INTERRUPTED = (("57014",), sqlite3.SQLITE_INTERRUPT)  # query_canceled


def is_busy(error: Exception) -> bool:
    """Whether the error is only temporary: others held SQLite's write lock, or PostgreSQL ended
    one of two transactions that waited for each other."""
    return _is(error, *_BUSY)


def is_full(error: Exception) -> bool:
    """Whether the database's disk is full."""
    return _is(error, *_FULL)


def is_interrupted(error: Exception) -> bool:
    """Whether a statement was ended because its request took too long or its client left."""
    return _is(error, *_INTERRUPTED)


def _is(error: Exception, postgres: Sequence[str], sqlite: int) -> bool:
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    return getattr(cause, "sqlstate", None) in postgres or (
        code is not None and code & 0xFF == sqlite
    )


@contextmanager
def not_yet_on_disk() -> Iterator[None]:
    """A transaction that is written to disk together with the next one; for facts that may be lost
    in a power failure, such as that a worker has taken a row. Nothing committed after it survives
    without it. A flush to disk takes 2 ms of the time until the first word (measured)."""
    is_sqlite = connection.vendor == "sqlite" and not connection.in_atomic_block
    try:
        if is_sqlite:
            _run("PRAGMA synchronous=NORMAL")
        with transaction.atomic():
            if connection.vendor == "postgresql":
                _run("SET LOCAL synchronous_commit TO off")
            yield
    finally:
        if is_sqlite:
            _run("PRAGMA synchronous=FULL")


def _run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def stream_id(name: str) -> int | None:
    """The row id of a stream; None if nothing happened in it yet."""
    return Stream.objects.filter(name=name).values_list("id", flat=True).first()


def head(name: str) -> int:
    """The last seq of a stream; 0 if nothing happened yet."""
    return Stream.objects.filter(name=name).values_list("head", flat=True).first() or 0
