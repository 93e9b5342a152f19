"""Announcements after commit: which streams have news, sent to every process through the channel
layer."""

import asyncio
import atexit
import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from channels.layers import get_channel_layer
from django.db import transaction

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
    """Sends a message to a group from an event loop, over that loop's own connection."""
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
