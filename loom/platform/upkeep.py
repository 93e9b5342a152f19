"""What a database server does by itself and SQLite only when asked: statistics for the planner,
giving back the room of what was deleted, and emptying its log."""

from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections

from loom.platform.sqlite3.base import DatabaseWrapper

# Rows of a table from which it has statistics. A connection keeps those that it opened with, and
# with those of a small table SQLite reads all of it where it should look up: after an import into
# an installation of five nodes, a page read a million. Without statistics it expects many rows.
COUNTED = 100_000
CHANGED = 4  # times as many rows, or a part of them, after which they are counted again
ROWS_ANALYZED = 1_000  # of each index, so that it takes milliseconds however large the table is
PAGES_FREED = 2_000  # at once: 8 MB, for which others wait some tens of milliseconds
READERS_MS = 50  # that writers wait at most for readers of the log


def keep_database() -> int:
    """Renews statistics where tables have changed much, and returns up to PAGES_FREED free pages of
    the file to the disk; the number of free pages that are left. Does nothing on PostgreSQL, whose
    autovacuum does both, and nothing within a transaction, which it would commit."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return 0
    with connection.cursor() as cursor:
        _renew_statistics(cursor)
        # Each step of the statement frees one page, and a cursor takes only the first.
        connection.connection.executescript(f"PRAGMA incremental_vacuum({PAGES_FREED})")
        cursor.execute("PRAGMA freelist_count")
        return int(cursor.fetchone()[0])


def empty_log() -> bool:
    """Writes the log of SQLite into its file and empties it; False if somebody reads it just now,
    then try again later. The log keeps deleted words until others are written over them. Does
    nothing on PostgreSQL, and nothing within a transaction."""
    database = connections[DEFAULT_DB_ALIAS]
    if not isinstance(database, DatabaseWrapper) or database.in_atomic_block:
        return True
    usual_ms = int(1000 * float(database.settings_dict["OPTIONS"].get("timeout", 5)))
    with database.cursor() as cursor:
        try:
            # Most of it without holding up writers, then the rest in turn with them.
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            database.enter()
            cursor.execute(f"PRAGMA busy_timeout = {READERS_MS}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return not cursor.fetchone()[0]
        except OperationalError:
            return False
        finally:
            database.leave()
            cursor.execute(f"PRAGMA busy_timeout = {usual_ms}")


def _renew_statistics(cursor: Any) -> None:
    """Counts the large tables whose statistics are missing or old, and forgets those of others."""
    cursor.execute("SELECT name FROM sqlite_schema WHERE name IN ('sqlite_stat1', 'sqlite_stat4')")
    kept_in = {name for (name,) in cursor.fetchall()}
    known: dict[str, int] = {}
    if "sqlite_stat1" in kept_in:
        cursor.execute("SELECT tbl, MAX(CAST(stat AS INTEGER)) FROM sqlite_stat1 GROUP BY tbl")
        known = dict(cursor.fetchall())
    cursor.execute(f"PRAGMA analysis_limit = {ROWS_ANALYZED}")
    large = set()
    for model in apps.get_models(include_auto_created=True):
        table, rows = model._meta.db_table, model._base_manager.order_by()
        if rows[:COUNTED].count() < COUNTED:
            continue
        large.add(table)
        many, before = rows.count(), known.get(table, 0)
        if not before / CHANGED < many < before * CHANGED:
            cursor.execute(f'ANALYZE "{table}"')
    for table in known.keys() - large:
        cursor.execute("DELETE FROM sqlite_stat1 WHERE tbl = %s", [table])
        if "sqlite_stat4" in kept_in:
            cursor.execute("DELETE FROM sqlite_stat4 WHERE tbl = %s", [table])
