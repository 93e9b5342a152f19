"""After commit: bells to live feeds, tasks for the worker; and who has a stream open."""

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from channels.layers import get_channel_layer
from django.core.cache import cache as django_cache
from django.db import transaction

from config.celery import app

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


SEND_S = 2.0  # how long one message may take before the broker counts as away
EXIT_S = 1.0  # how long the process waits at its end for messages that were not sent yet


def send(stream: str, message: dict[str, Any]) -> None:
    """Sends a message that is not stored (bell, delta) to the stream's listeners, soon.

    Returns at once; messages go out in the order of the calls. A broker that is down costs
    the caller nothing and loses only the message: the log holds every event, and each feed
    looks at its head once a second.
    """
    _sender.put(stream, message)


class _Sender:
    """Sends messages over the channel layer from one thread with an event loop of its own.

    A layer keeps one connection for each loop. `async_to_sync` begins a loop, and so a
    connection, with each call (measured: 4 to 5 ms); here both stay open.
    """

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Begins again, as a forked process must: threads do not survive a fork."""
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
        """Drops what piled up behind a failure: it is out of date once the broker is back."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
            self._waiting.task_done()


_sender = _Sender()


def flush(seconds: float = EXIT_S) -> bool:
    """Waits until what `send` has been given is sent or dropped; False if time ran out."""
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


# Tasks for the worker: sent by name after commit, so that a rollback sends none.


jobs_log = logging.getLogger("heddle.jobs")


def enqueue(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends the task after commit. A broker that is down loses nothing: the row's status is
    queued, and the sweeper sends it again."""
    transaction.on_commit(lambda: _send(task, args, queue))


def _send(task: str, args: Sequence[Any], queue: str) -> None:
    try:
        app.send_task(task, args=list(args), queue=queue, retry=False, ignore_result=True)
    except Exception as error:
        jobs_log.warning("could not enqueue %s, the sweeper will: %s", task, error)


# Who has which stream open now, for lists of trees: each live feed reports it, the cache keeps
# it for a short time. No permission depends on it; without the broker nobody is listed.


present_log = logging.getLogger("heddle.present")

KEPT_S = 50  # a feed reports again sooner than that


def set_present(stream: str, participants: Iterable[str]) -> None:
    """Notes the uids of all participants who have the stream open, in whatever process."""
    here = sorted(set(participants))
    try:
        if here:
            django_cache.set(_key(stream), here, KEPT_S)
        else:
            django_cache.delete(_key(stream))
    except Exception as error:  # the broker may be down: a list without names does no harm
        present_log.warning("could not report who is in %s: %s", stream, error)


def present(streams: Iterable[str]) -> dict[str, list[str]]:
    """The uids of those who have each stream open; a stream that nobody has open is left out."""
    keys = {_key(stream): stream for stream in streams}
    try:
        found = django_cache.get_many(list(keys))
    except Exception as error:
        present_log.warning("could not see who is here: %s", error)
        return {}
    return {keys[key]: list(here) for key, here in found.items()}


def _key(stream: str) -> str:
    return f"present:{stream}"


LEFT_S = 60.0  # for so long it is kept who went away


def tell_places(stream: str, places: Mapping[str, str]) -> None:
    """Stores at which node (local id) the pages of each participant are, by uid, and when
    those who are missing now were last seen. Replaces what was stored before."""
    try:
        before, left = _places(stream)
        now = time.time()
        left = {uid: at for uid, at in left.items() if now - at < LEFT_S and uid not in places}
        left |= {uid: now for uid in before if uid not in places}
        django_cache.set(f"places:{stream}", [dict(places), left], LEFT_S)
    except Exception as error:  # without the broker nobody is seen, which is no harm
        present_log.warning("could not store who is where in %s: %s", stream, error)


def places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    """(the node of each participant who has a page open, by uid; when those who went away in
    the last minute did, in seconds since 1970)."""
    try:
        return _places(stream)
    except Exception as error:
        present_log.warning("could not see who is where: %s", error)
        return {}, {}


def _places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    here, left = django_cache.get(f"places:{stream}") or ({}, {})
    return here, left
