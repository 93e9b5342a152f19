"""What only one process at a time does to the database: preparing it, and restoring a backup."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_LOCK = 7_146_289  # an advisory lock of PostgreSQL; any number that nothing else uses


@contextmanager
def alone() -> Iterator[None]:
    """Keeps others out, on however many machines: they wait until it is done. On SQLite a lock on
    the data folder does."""
    if connection.vendor != "postgresql":
        yield
        return
    own = connection.copy()  # the lock belongs to a session, and the work may close its own
    with own.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    try:
        yield
    finally:
        with own.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
        own.close()
