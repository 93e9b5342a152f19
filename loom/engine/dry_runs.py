"""Dry runs: transactions that lock and write nothing, to report what a command would do."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from typing import Any

from django.db import connection, transaction

from loom.errors import require

_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_TABLE = re.compile(r'\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+"?(\w+)"?', re.I)
_RETURNED = re.compile(r"\bRETURNING\s+(.+)$", re.IGNORECASE | re.DOTALL)
_LOCKS = re.compile(r"\s+FOR (NO KEY )?UPDATE( OF [\w\", ]+)?( NOWAIT| SKIP LOCKED)?\s*$", re.I)
_READ = re.compile(r'(?:FROM|JOIN)\s+"?([a-z]+_\w+)"?', re.IGNORECASE)


class ReadsItsWritesError(Exception):
    """A command read a table that it had written to, and a dry run cannot show it those writes."""


@contextmanager
def reading_only() -> Iterator[None]:
    """A transaction in which the database refuses to write; on SQLite it takes no lock."""
    with _deferred(), transaction.atomic(), _read_only():
        yield


@contextmanager
def writes_withheld() -> Iterator[None]:
    """Within the block writes are not sent, and rows selected for update are not locked. Raises
    ReadsItsWritesError if the block reads rows of a kind that it wrote before, because its
    decision could differ from that of a real run.
    """
    with connection.execute_wrapper(_Withheld()):
        yield


@contextmanager
def _deferred() -> Iterator[None]:
    """SQLite: transactions begin without the write lock."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    sqlite: Any = connection
    sqlite.ensure_connection()
    mode, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
    try:
        yield
    finally:
        sqlite.transaction_mode = mode


@contextmanager
def _read_only() -> Iterator[None]:
    """Makes the database refuse writes."""
    raw: Any = connection.connection
    if connection.vendor != "sqlite":
        raw.execute("SET LOCAL transaction_read_only = on")
        yield
        return
    raw.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:  # not by a cursor of Django's, which runs nothing once a rollback is due
        raw.execute("PRAGMA query_only = OFF")


class _Withheld:
    """Wraps each statement: writes get a made-up answer, and locks are left out."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._inserted: set[str] = set()
        self._keys = count(2**62)  # keys of rows that are never stored; no real key is this large

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if _WRITES.match(sql):
            if many:
                raise NotImplementedError("executemany in a dry run")
            return self._answered(execute, sql, params, context)
        touched = self._written.intersection(_READ.findall(sql))
        if touched:
            raise ReadsItsWritesError(", ".join(sorted(touched)))
        return execute(_LOCKS.sub("", sql), params, many, context)

    def _answered(self, execute: Callable[..., Any], sql: str, params: Any, context: Any) -> Any:
        """What the database would answer: an INSERT the keys of its rows, an UPDATE or a DELETE
        how many rows it changes."""
        match = _TABLE.match(sql)
        table = require(match, "the table of a write")[1]
        self._written.add(table)
        if sql.lstrip()[:6].upper() == "INSERT":
            self._inserted.add(table)
            returned = _RETURNED.search(sql)
            columns = len(returned[1].split(",")) if returned else 1
            rows = sql.count("(%s")
            keys = (str(next(self._keys)) for _ in range(columns * rows))
            values = ", ".join(f"({', '.join(islice(keys, columns))})" for _ in range(rows))
            answer = execute(f"VALUES {values}", None, False, context)
        elif table in self._inserted:  # perhaps a row of this block, which is not stored
            rows, answer = 1, None
        else:
            head, where, tail = sql.partition(" WHERE ")
            sql = f'SELECT COUNT(*) FROM "{table}"{where}{tail}'  # noqa: S608 (Django's own SQL)
            answer = execute(sql, tuple(params or ())[head.count("%s") :], False, context)
            rows = context["cursor"].fetchone()[0]
        # Drivers report no number of rows for statements that only read.
        context["cursor"].rowcount = rows
        return answer
