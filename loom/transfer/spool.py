"""Records on disk: put in any order, taken out in reading order.

Nested files end a child before its parent, and hashes need the parent first; memory must
not grow with the texts.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from loom.transfer.records import CallRecord, Record

BATCH = 500


class Spool:
    """Records by number, in a database file that is deleted at the end."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.path = path
        self.count = 0
        self._waiting: list[tuple[int, str]] = []
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute("CREATE TABLE record (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        self._db.execute("CREATE TABLE call (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()
        self.path.unlink(missing_ok=True)

    def put(self, record: Record | CallRecord) -> None:
        """Keeps one record, or one call."""
        if isinstance(record, CallRecord):
            self._db.execute("INSERT INTO call (body) VALUES (?)", [json.dumps(vars(record))])
            return
        self.count += 1
        self._waiting.append((record.number, json.dumps(record.packed())))
        if len(self._waiting) >= BATCH:
            self._write()

    def _write(self) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO record VALUES (?, ?)", self._waiting)
        self._db.execute("COMMIT")
        self._waiting = []

    def calls(self) -> Iterator[CallRecord]:
        """All calls in their order, one at a time: each may be large."""
        for (body,) in self._db.execute("SELECT body FROM call ORDER BY number"):
            yield CallRecord(**json.loads(body))

    def batches(self, *, count: int, characters: int) -> Iterator[list[Record]]:
        """All records in reading order, at most `count` at a time, and about `characters`."""
        self._write()
        rows = self._db.execute("SELECT body FROM record ORDER BY number")
        batch: list[Record] = []
        size = 0
        for (body,) in rows:
            if batch and (len(batch) == count or size + len(body) > characters):
                yield batch
                batch, size = [], 0
            batch.append(Record(**json.loads(body)))
            size += len(body)
        if batch:
            yield batch
