"""The threads that run requests: kept and used again, bounded in number, and free while an answer
is sent.

Django (5.2) starts a thread for each request and keeps it until the last byte of the answer has
been taken, and each new thread opens a connection to the database. So 100 downloads that their
clients read slowly held 100 threads (`python -m bench.open_streams` counts them). A kept thread
saves 1.3 ms of a request on SQLite, where a new connection reads the schema again.

Uses `ThreadSensitiveContext(executor=…)` of asgiref 3.13, which is public. It can go when Django
itself keeps the threads of its handler, and frees them before it sends.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar
from threading import Lock
from typing import ParamSpec, TypeVar
from weakref import WeakSet

from django.db import close_old_connections, connections

P = ParamSpec("P")
T = TypeVar("T")

MOST_IDLE = 16


pools: "WeakSet[Threads]" = WeakSet()  # of this process, for its figures


class Threads:
    """The threads of one handler; at most `most` work at once, and what comes then waits."""

    def __init__(self, most: int) -> None:
        self.most = most
        pools.add(self)
        self.idle: list[ThreadPoolExecutor] = []
        self._count = 0
        self._waiting: deque[Callable[[ThreadPoolExecutor], bool]] = deque()
        self._lock = Lock()

    @property
    def count(self) -> int:
        """All threads, at work or idle."""
        return self._count

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return len(self._waiting)

    def give(self, take: Callable[[ThreadPoolExecutor], bool]) -> None:
        """Calls `take` with a thread as soon as one is free; it returns whether it uses it, and
        then gives it back. In order, where several wait."""
        with self._lock:
            if self.idle:
                thread = self.idle.pop()
            elif self._count < self.most:
                thread = ThreadPoolExecutor(1, "request")
                self._count += 1
            else:
                self._waiting.append(take)
                return
        if not take(thread):
            self._pass_on(thread)

    def take_back(self, thread: ThreadPoolExecutor) -> None:
        """Gives the thread to who waits, or keeps it, once it has nothing to do: a client that left
        early may leave it at work. Its connection is checked, and returned to a pool, meanwhile:
        the end of the request may run on another thread."""
        thread.submit(close_old_connections).add_done_callback(lambda _: self._pass_on(thread))

    def _pass_on(self, thread: ThreadPoolExecutor) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    is_kept = len(self.idle) < MOST_IDLE
                    if is_kept:
                        self.idle.append(thread)
                    else:
                        self._count -= 1
                    break
                take = self._waiting.popleft()
            if take(thread):
                return
        if not is_kept:
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)


class RequestThread(Executor):
    """Runs the calls of one request one after the other: on one thread until `release`, and then
    each on any that is free, such as the pieces of a download. So nothing that belongs to a thread,
    such as a cursor of the database, may be kept from one piece to the next."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._thread: ThreadPoolExecutor | None = None
        self._is_released = False

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs the call as soon as there is a thread."""
        if self._thread is not None:
            return self._thread.submit(call, *args, **kwargs)
        future: Future[T] = Future()

        def take(thread: ThreadPoolExecutor) -> bool:
            if not future.set_running_or_notify_cancel():
                return False
            if self._is_released:
                thread.submit(run).add_done_callback(lambda _: self._threads.take_back(thread))
            else:
                self._thread = thread
                thread.submit(run)
            return True

        def run() -> None:
            try:
                result = call(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._threads.give(take)
        return future

    def release(self) -> None:
        """Gives the thread back; what comes now holds one only while it runs."""
        self._is_released = True
        thread, self._thread = self._thread, None
        if thread is not None:
            self._threads.take_back(thread)


current: ContextVar[RequestThread | None] = ContextVar("request thread", default=None)
