"""The one asyncio loop of the worker, in a thread of its own: every provider call runs here.

A loop for each task would leave connections that belong to loops that are gone. Rows are
read and written beside it, in threads that give their database connection back.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

import uvloop
from django.db import connection

T = TypeVar("T")
P = ParamSpec("P")

_lock = threading.Lock()
_started: list["LoopThread"] = []


class LoopThread:
    """An event loop that runs until the process ends."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self.rows = ThreadPoolExecutor(8, thread_name_prefix="rows")
        self.reading = ThreadPoolExecutor(2, thread_name_prefix="reading")
        # What begins may have to assemble a long request; what goes on does not wait for it.
        self.beginning = ThreadPoolExecutor(8, thread_name_prefix="begin")
        thread = threading.Thread(target=self._run, name="providers", daemon=True)
        thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` on the loop and waits for it; for other threads than the loop's."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


def the_loop() -> LoopThread:
    """The process's loop, started on first use."""
    with _lock:
        if not _started:
            _started.append(LoopThread())
        return _started[0]


async def in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs what reads or writes rows, beside the loop."""
    run = partial(_giving_back, partial(work, *args, **named))
    return await asyncio.get_running_loop().run_in_executor(the_loop().rows, run)


async def in_beginning(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """The same for what begins."""
    run = partial(_giving_back, partial(work, *args, **named))
    return await asyncio.get_running_loop().run_in_executor(the_loop().beginning, run)


def _giving_back(work: Callable[[], T]) -> T:
    try:
        return work()
    finally:
        _give_back()


async def in_reading(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Runs what reads text and no rows, beside the loop: a database that hangs does not hold
    it up, and it holds up no row."""
    read = partial(work, *args, **named)
    return await asyncio.get_running_loop().run_in_executor(the_loop().reading, read)


def _give_back() -> None:
    """Gives a pooled connection back. One to SQLite is kept, since a new one costs 1 ms at
    every write, unless it failed."""
    if connection.vendor != "sqlite" or connection.errors_occurred:
        connection.close()
