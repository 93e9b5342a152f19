"""The connection: waits in line before a transaction or a single statement that writes."""

from pathlib import Path
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

from config.sqlite3.queue import Queue, queue_of

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, whose writers take turns in the order in which they came."""

    _entered: Queue | None = None

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor whose single statements wait in line too."""
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
        """Waits until it is this connection's turn to write. Raises OperationalError, in the
        words of SQLite, after the time that SQLite itself would wait."""
        if self._entered is not None or self.is_in_memory_db():
            return
        # Tests and backups open other files: each has a queue of its own.
        queue = queue_of(str(Path(self.settings_dict["NAME"]).resolve()))
        if not queue.enter(float(self.settings_dict["OPTIONS"].get("timeout", 5))):
            raise OperationalError("database is locked")
        self._entered = queue

    def leave(self) -> None:
        """Lets the next one write; harmless where this one does not."""
        queue, self._entered = self._entered, None
        if queue is not None:
            queue.leave()


class Cursor(base.SQLiteCursorWrapper):
    """A cursor that knows whether a statement of it writes by itself."""

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
