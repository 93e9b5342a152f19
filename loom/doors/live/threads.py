"""Threads that read the database for sockets, each with one connection that stays open.

A connection for each read would cost more than the read: SQLite is opened and told its
pragmas, a pool is asked. Django's own rule (`CONN_MAX_AGE` 0) is for threads that go.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

P = ParamSpec("P")
T = TypeVar("T")

COUNT = 2  # so that one who reads a long log does not hold up the news


class Threads:
    """Runs functions of `reading`. Only reads: a failed one is not tried again here."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(COUNT, "live", initializer=self._enter)
        self._connections: list[BaseDatabaseWrapper] = []

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns. A connection that failed is opened anew next time."""

        def run() -> T:
            try:
                return function(*args, **kwargs)
            except Error:
                connection.close()
                raise

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    async def close(self) -> None:
        """Ends the threads, once they have read, and closes their connections."""
        await asyncio.to_thread(self._leave)  # Django closes none on a loop's thread

    def _leave(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for one in self._connections:
            one.close()

    def _enter(self) -> None:
        # They are closed from another thread than their own.
        connection.inc_thread_sharing()
        self._connections.append(connections[DEFAULT_DB_ALIAS])
