"""SQLite as Django's database, with one fair queue of writers for each process, and names found
whatever their case in all alphabets: SQLite's own LIKE knows that of ASCII only.

Overrides `_start_transaction_under_autocommit`, `_commit`, `_rollback` and `_close` of Django 5.2,
which has no public place where a transaction begins and ends. It can go when SQLite itself lets
writers in by the order in which they came.
"""

import fcntl
import os
import sqlite3
import threading
import time
from collections import deque
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base, operations

from loom.platform.deadlines import interrupts

LOOK_STEPS = 50_000  # steps of SQLite's machine between two looks at the time: about a millisecond
SHORTEST_S, LONGEST_S = 0.0002, 0.002  # pauses between checks of what other processes hold


class Queue:
    """This process's queue for one database."""

    def __init__(self, path: str) -> None:
        self._next = os.open(f"{path}-next", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._writer = os.open(f"{path}-writer", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._guard = threading.Lock()
        self._line: deque[threading.Event] = deque()

    def enter(self, seconds: float) -> bool:
        """Waits for its turn to write, at most this long; False if it did not come. Whoever has
        entered must leave."""
        until = time.monotonic() + seconds
        place = threading.Event()
        with self._guard:
            self._line.append(place)
            if self._line[0] is place:
                place.set()
        if place.wait(seconds) and self._lock_files(until):
            return True
        self._step_out(place)
        return False

    def leave(self) -> None:
        """Lets the next one write."""
        fcntl.flock(self._writer, fcntl.LOCK_UN)
        self._step_out(self._line[0])

    def _step_out(self, place: threading.Event) -> None:
        with self._guard:
            self._line.remove(place)
            if self._line:
                self._line[0].set()

    def _lock_files(self, until: float) -> bool:
        if not _locked(self._next, until):
            return False
        try:
            return _locked(self._writer, until)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)


def _locked(file: int, until: float) -> bool:
    pause_s = SHORTEST_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
        else:
            return True
        time.sleep(pause_s)
        pause_s = min(LONGEST_S, pause_s * 2)


@cache
def queue_of(path: str) -> Queue:
    """The queue for the database in a file."""
    return Queue(path)


def _begin_file(path: str) -> None:
    """Lets a new file give back the room of what is deleted (loom.platform.upkeep), and gives it
    pages of 8 KB: rows of some hundred bytes leave a fifth of those of 4 KB empty. Only a new one:
    to ask a file that has tables waits for whoever writes."""
    file = Path(path)
    if file.exists() and file.stat().st_size:
        return
    with closing(sqlite3.connect(path, timeout=20)) as new:
        new.executescript(
            "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
        )


def _folded(value: str | None) -> str | None:
    return None if value is None else str(value).casefold()


# The connection: waits for its turn before a transaction or a single statement that writes.


_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")


class DatabaseOperations(operations.DatabaseOperations):
    """Django's own; `iexact` and `icontains` compare what `heddle_folded` makes of both sides."""

    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        """The left side of a lookup, as SQL with a place for the column."""
        if lookup_type in ("iexact", "icontains"):
            return "heddle_folded(%s)"
        return str(super().lookup_cast(lookup_type, internal_type))

    def prep_for_iexact_query(self, x: Any) -> str:
        """The value of an `iexact`, which is compared whole: nothing in it is escaped."""
        return str(x)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, whose writers take turns in the order in which they arrived."""

    ops_class = DatabaseOperations
    operators = {
        **base.DatabaseWrapper.operators,
        "iexact": "= heddle_folded(%s)",
        "icontains": "LIKE heddle_folded(%s) ESCAPE '\\'",
    }
    _entered: Queue | None = None

    def get_new_connection(self, conn_params: Any) -> Any:
        """A connection that ends a statement, also while its rows are read, once the time of the
        request that it runs for is over."""
        if not self.is_in_memory_db():
            _begin_file(conn_params["database"])
        connection = super().get_new_connection(conn_params)
        connection.set_progress_handler(interrupts, LOOK_STEPS)
        connection.create_function("heddle_folded", 1, _folded, deterministic=True)
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor whose single statements wait for their turn too."""
        cursor = self.connection.cursor(factory=Cursor)
        cursor.wrapper = self
        return cursor

    def _start_transaction_under_autocommit(self) -> None:
        # A dry run only reads, so it waits for no writer.
        if self.transaction_mode == "DEFERRED":  # type: ignore[attr-defined]
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
            return
        self.enter()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self.leave()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self.leave()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self.leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self.leave()

    def enter(self) -> None:
        """Waits until it is this connection's turn to write. Raises OperationalError, with SQLite's
        message and code, after SQLite's own timeout."""
        if self._entered is not None or self.is_in_memory_db():
            return
        # Tests and backups open other files: each has its own queue.
        queue = queue_of(str(Path(self.settings_dict["NAME"]).resolve()))
        if not queue.enter(float(self.settings_dict["OPTIONS"].get("timeout", 5))):
            busy = sqlite3.OperationalError("database is locked")
            busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise OperationalError(*busy.args) from busy
        self._entered = queue

    def leave(self) -> None:
        """Lets the next one write; harmless if this one is not writing."""
        queue, self._entered = self._entered, None
        if queue is not None:
            queue.leave()


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that knows whether one of its statements writes on its own."""

    wrapper: DatabaseWrapper

    def execute(self, query: str, params: Any = None) -> Any:
        """Runs a statement."""
        if self.connection.in_transaction or not query.lstrip()[:6].upper().startswith(_WRITES):
            return super().execute(query, params)
        self.wrapper.enter()
        try:
            return super().execute(query, params)
        finally:
            if not self.connection.in_transaction:
                self.wrapper.leave()
