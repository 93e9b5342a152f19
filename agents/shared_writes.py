"""Writes of running calls that are made together. Each transaction of SQLite waits for its turn and
for the disk, so a hundred streams that write one by one wait for each other."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from agents.providers.transport import in_thread
from loom.engine.busy import NOT_REACHED

T = TypeVar("T")
R = TypeVar("R")


class SharedWrite(Generic[T, R]):
    """Writes items in the order in which they come, in one thread: the first at once, and all that
    come while it is being written together, at most `most` at a time. `write` returns a result for
    each item. If it refuses several, each is written alone; not if the database is too busy, as
    that would take as long for each. Used on one event loop."""

    def __init__(self, write: Callable[[Sequence[T]], Sequence[R]], *, most: int) -> None:
        self._write = write
        self._most = most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def __call__(self, item: T) -> R:
        """Writes an item; returns its result. One whose caller was cancelled may not be written."""
        result: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, result))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await result

    async def _write_all(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            await self._write_some([(item, result) for item, result in some if not result.done()])

    async def _write_some(self, some: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        if not some:
            return
        try:
            results = await in_thread(self._write, [item for item, _ in some])
        except Exception as error:
            if len(some) > 1 and not isinstance(error, NOT_REACHED):
                for lone in some:
                    await self._write_some([lone])
                return
            for _, waiting in some:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for (_, waiting), result in zip(some, results, strict=True):
            if not waiting.done():
                waiting.set_result(result)
