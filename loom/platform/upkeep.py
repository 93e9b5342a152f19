"""What a database server does by itself and SQLite only when asked: statistics for the planner, and
giving back the room of what was deleted."""

from django.db import connection

ROWS_ANALYZED = 1_000  # of each index, so that it takes milliseconds however large the table is
PAGES_FREED = 2_000  # at once: 8 MB, for which others wait some tens of milliseconds
_CHANGED_AND_UNKNOWN = 0x10002  # tables that grew or shrank much since, or have no statistics


def keep_database() -> int:
    """Renews statistics where tables have changed much, and returns up to PAGES_FREED free pages of
    the file to the disk; the number of free pages that are left. Does nothing on PostgreSQL, whose
    autovacuum does both, and nothing within a transaction, which it would commit."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit = {ROWS_ANALYZED}")
        cursor.execute(f"PRAGMA optimize = {_CHANGED_AND_UNKNOWN}")
        cursor.fetchall()
        # Each step of the statement frees one page, and a cursor takes only the first.
        connection.connection.executescript(f"PRAGMA incremental_vacuum({PAGES_FREED})")
        cursor.execute("PRAGMA freelist_count")
        return int(cursor.fetchone()[0])
