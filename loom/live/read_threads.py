"""The threads in which sockets read the database."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

P = ParamSpec("P")


T = TypeVar("T")


COUNT = 2  # two, so that reading a long log does not delay new events


class ReadThreads:
    """Runs the functions below. They only read, so a failed one is not retried here."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(COUNT, "live", initializer=self._enter)
        self._connections: list[BaseDatabaseWrapper] = []

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The return value of the function. A connection that failed is opened again next time."""

        def run() -> T:
            try:
                return function(*args, **kwargs)
            except Error:
                connection.close()
                raise

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    async def close(self) -> None:
        """Ends the threads after their current reads, and closes their connections."""
        await asyncio.to_thread(self._leave)  # Django refuses this on the loop's thread

    def _leave(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for opened in self._connections:
            opened.close()

    def _enter(self) -> None:
        # They are closed from another thread than their own.
        connection.inc_thread_sharing()
        self._connections.append(connections[DEFAULT_DB_ALIAS])


class PerLoop(Generic[T]):
    """Returns the one object of the running event loop, made by `make` on first use. A process has
    one loop, so there is one object in each process."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def __call__(self) -> T:
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
        return self._made[loop]
