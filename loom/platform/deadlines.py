"""How long a request may run. A thread cannot be ended from outside, so what runs for long asks
here: every statement of the database does, while it runs too, and loops that may be long call
`check`. Outside of a request nothing has a deadline.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from django.db import OperationalError, connection

from loom.errors import CommandError

GRACE_S = 5.0  # to roll back and answer once the time is over
FINISH_S = 5.0  # for what writes, after its client has left: it is likely to be wanted
# What ends a transaction or a part of it always runs.
_ENDING = ("ROLLBACK", "RELEASE", "SAVEPOINT", "COMMIT")


class OverTimeError(CommandError):
    """The request took too long, or nobody waits for its answer any more. One that only reads has
    asked for too much; one that writes has waited for others, and can be sent again."""

    def __init__(self, *, is_safe: bool = True) -> None:
        super().__init__(
            "UNAVAILABLE",
            "This took too long and was stopped.",
            hint="ask for less at once, such as a smaller part or a lower limit"
            if is_safe
            else "nothing was written; send it again",
            retryable=not is_safe,
        )


class Deadline:
    """The end of one request. `begin` starts the time; from `end` on nothing is stopped, so that
    an answer that is ready is sent."""

    def __init__(self, seconds: float, *, is_safe: bool = True) -> None:
        self.seconds = seconds
        self.is_safe = is_safe  # whether it only reads
        self.is_client_gone = False
        self.has_interrupted = False  # a statement of SQLite
        self._until = math.inf
        self._is_running = False
        self._statement: Any = None  # the connection of psycopg whose statement runs
        self._lock = Lock()

    def begin(self) -> None:
        """Starts the time, unless the client has left meanwhile."""
        with self._lock:
            self._is_running = True
            self._until = time.monotonic() + (
                self._left_s() if self.is_client_gone else self.seconds
            )

    def end(self) -> None:
        """Stops nothing from now on."""
        with self._lock:
            self._is_running, self._until = False, math.inf

    def client_left(self) -> None:
        """Ends the request soon, as nobody waits for the answer. May be called in any thread."""
        with self._lock:
            self.is_client_gone = True
            if self._is_running:
                self._until = min(self._until, time.monotonic() + self._left_s())

    def _left_s(self) -> float:
        return 0.0 if self.is_safe else FINISH_S

    @property
    def is_running(self) -> bool:
        """Whether the request still runs."""
        return self._is_running

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._until

    @property
    def seconds_left(self) -> float:
        """Until the time is over; infinite while the request does not run."""
        return max(0.0, self._until - time.monotonic())

    def check(self) -> None:
        """Raises OverTimeError when the time is over."""
        if self.is_over:
            self.extend()
            raise OverTimeError(is_safe=self.is_safe)

    def interrupts(self) -> bool:
        """Whether the statement that runs has to end; SQLite asks while it runs."""
        if not self.is_over:
            return False
        self.has_interrupted = True
        self.extend()
        return True

    def extend(self) -> None:
        """Leaves a while to roll back and to answer."""
        self._until = time.monotonic() + GRACE_S

    def cancel_statement(self) -> None:
        """Ends the statement that PostgreSQL runs for the request, if the time is over; waits for
        the server."""
        with self._lock:
            if self._statement is not None and self.is_over:
                self._statement.cancel()

    @contextmanager
    def statement(self, raw: Any) -> Iterator[None]:
        """While a statement of PostgreSQL runs on this connection of psycopg."""
        with self._lock:
            self._statement = raw
        try:
            yield
        finally:
            with self._lock:
                self._statement = None


def limit_statements(seconds: float) -> None:
    """Lets PostgreSQL end each statement of this process after that time, also where nothing
    watches it; for connections that are opened from now on. SQLite is asked while it works."""
    if connection.vendor == "postgresql":
        options = connection.settings_dict["OPTIONS"]
        limit = f"-c statement_timeout={int(seconds * 1000)}"
        options["options"] = f"{options.get('options', '')} {limit}".strip()


current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def interrupts() -> bool:
    """Whether the statement that this thread runs has to end; SQLite asks while it runs."""
    deadline = current.get()
    return deadline is not None and deadline.interrupts()


def check() -> None:
    """Raises OverTimeError when the time of this request is over; for loops that may be long."""
    deadline = current.get()
    if deadline is not None:
        deadline.check()


@contextmanager
def kept() -> Iterator[None]:
    """Runs a request within its deadline, if it has one."""
    deadline = current.get()
    if deadline is None:
        yield
        return
    deadline.begin()
    try:
        with connection.execute_wrapper(_within(deadline)):
            yield
    finally:
        deadline.end()


def _within(deadline: Deadline) -> Callable[..., Any]:
    def run(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if str(sql).lstrip()[:10].upper().startswith(_ENDING):
            return execute(sql, params, many, context)
        deadline.check()
        try:
            if connection.vendor != "postgresql":
                return execute(sql, params, many, context)
            with deadline.statement(context["connection"].connection):
                return execute(sql, params, many, context)
        except OperationalError:
            if not deadline.has_interrupted:
                deadline.check()
                raise
            deadline.has_interrupted = False
            raise OverTimeError(is_safe=deadline.is_safe) from None

    return run
