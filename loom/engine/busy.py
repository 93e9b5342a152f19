"""Transactions that are tried again where the database was busy, and those whose flush to disk
may wait."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction

from loom.errors import CommandError

T = TypeVar("T")
PATIENCE_S = 30.0  # seconds; each attempt already waits 20 s for the database
RETRY_S = 0.1
# Raised where the database is busy or away, whatever was asked of it.
NOT_REACHED = (OperationalError, InterfaceError)


def retry_while_busy(write: Callable[[], T]) -> T:
    """Returns what `write` returns; runs it again if the database was too busy and nothing was
    written. Raises CommandError UNAVAILABLE if that lasts for PATIENCE_S."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return write()
        except OperationalError as error:
            # Inside a transaction the code that began it has to run it again.
            if not is_busy(error) or connection.in_atomic_block:
                raise
            if time.monotonic() >= until:
                raise CommandError(
                    "UNAVAILABLE",
                    "The database is busy; nothing was changed.",
                    hint="send it again in a moment",
                    retryable=True,
                ) from None
        time.sleep(RETRY_S)


# What databases report by code, as a server may speak any language: PostgreSQL's SQLSTATEs, and the
# low byte of SQLite's codes, whose other bytes say which kind it was.
_BUSY = (("40P01", "40001"), sqlite3.SQLITE_BUSY)  # deadlock_detected, serialization_failure
_FULL = (("53100",), sqlite3.SQLITE_FULL)  # disk_full
_READ_ONLY = (("25006",), sqlite3.SQLITE_READONLY)  # read_only_sql_transaction, as on a standby
_INTERRUPTED = (("57014",), sqlite3.SQLITE_INTERRUPT)  # query_canceled
_INCOMPLETE = (("42P01", "42703"), sqlite3.SQLITE_ERROR)  # undefined_table, undefined_column


def is_busy(error: Exception) -> bool:
    """Whether the error is only temporary: others held SQLite's write lock, or PostgreSQL ended
    one of two transactions that waited for each other."""
    return _is(error, *_BUSY)


def is_full(error: Exception) -> bool:
    """Whether the database's disk is full."""
    return _is(error, *_FULL)


def is_read_only(error: Exception) -> bool:
    """Whether the database can be read but not written now, such as a standby of PostgreSQL."""
    return _is(error, *_READ_ONLY)


def is_interrupted(error: Exception) -> bool:
    """Whether a statement was ended because its request took too long or its client left."""
    return _is(error, *_INTERRUPTED)


def is_incomplete(error: Exception) -> bool:
    """Whether the database answers, but lacks a table or column that this version needs."""
    return _is(error, *_INCOMPLETE)


def _is(error: Exception, postgres: Sequence[str], sqlite: int) -> bool:
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    return getattr(cause, "sqlstate", None) in postgres or (
        code is not None and code & 0xFF == sqlite
    )


@contextmanager
def not_yet_on_disk() -> Iterator[None]:
    """A transaction that is written to disk together with the next one; for facts that may be lost
    in a power failure, such as that a worker has taken a row. Nothing committed after it survives
    without it. A flush to disk takes 2 ms of the time until the first word (measured)."""
    is_sqlite = connection.vendor == "sqlite" and not connection.in_atomic_block
    try:
        if is_sqlite:
            _run("PRAGMA synchronous=NORMAL")
        with transaction.atomic():
            if connection.vendor == "postgresql":
                _run("SET LOCAL synchronous_commit TO off")
            yield
    finally:
        if is_sqlite:
            _run("PRAGMA synchronous=FULL")


def _run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
