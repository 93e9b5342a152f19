"""Counts the rows that code fetches from the database, and what the database reads for them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper

from tests.planner import count_rows

_STEP = 100  # instructions of SQLite's machine between two calls of the handler
# Rows of tables and entries of indexes that PostgreSQL read in this transaction. Ten are a step.
_READ = """
    SELECT relname, pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid)
    FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace
"""

# Tables with an index of many more pages than its rows need, as tests leave them that were rolled
# back. PostgreSQL counts those pages in what the index costs, so that chance would choose the plan.
_EMPTY_PAGES = """
    SELECT DISTINCT indrelid::regclass::text
    FROM pg_index JOIN pg_class ON oid = indexrelid
    WHERE relnamespace = 'public'::regnamespace
      AND pg_relation_size(oid) > 8192 * (3 + reltuples / 50)
"""

# Tables with few rows and much room: rows that were rolled back left entries in their indexes, too
# few to fill pages, but read until they are found to be dead.
_ROOMY = """
    SELECT oid::regclass::text, pg_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND reltuples < 100 AND pg_relation_size(oid) > 3 * 8192
"""
_sizes: dict[str, int] = {}  # of the tables whose indexes were built for this, in bytes

# As if PostgreSQL had last counted nodes while their table had pages, and nothing in them.
NO_NODES = "UPDATE pg_class SET reltuples = 0, relpages = 9 WHERE relname = 'trees_node'"


@dataclass
class Work:
    """What was done: statements, rows fetched, and what grows also with rows that are read and not
    returned: hundreds of instructions of SQLite, tens of rows and entries of PostgreSQL."""

    statements: int = 0
    rows: int = 0
    steps: int = 0
    read: Counter[str] = field(default_factory=Counter, repr=False)  # PostgreSQL: what was read

    def demand_no_more(self, small: "Work", *, rows: int = 20, steps: float = 1.5) -> None:
        """Fails if this is more work than a smaller case took, beyond what chance adds."""
        assert self.rows <= small.rows + rows, (self, small)
        more = (self.read - small.read).most_common(5)
        assert self.steps <= small.steps * steps + 30, (self, small, more)


@contextmanager
def work_done(*, counts: str | None = None) -> Iterator[Work]:
    """Counts within the block, on this connection; on SQLite the work of triggers too. On
    PostgreSQL with statistics of its tables, as it makes them by itself every minute, or with
    those that the statement `counts` makes."""
    work = Work()
    before: dict[str, Any] = {
        name: getattr(CursorWrapper, name) for name in ("execute", "executemany")
    }

    def counting(name: str) -> Any:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            work.statements += 1
            return before[name](self, *args, **kwargs)

        return run

    def fetched(self: Any) -> Sequence[Any]:
        rows: Sequence[Any] = self.cursor.fetchall()
        work.rows += len(rows)
        return rows

    def fetched_one(self: Any) -> Any:
        row = self.cursor.fetchone()
        work.rows += row is not None
        return row

    def fetched_many(self: Any, *args: Any) -> Sequence[Any]:
        rows: Sequence[Any] = self.cursor.fetchmany(*args)
        work.rows += len(rows)
        return rows

    def stepped() -> int:
        work.steps += 1
        return 0

    with pytest.MonkeyPatch.context() as patch:
        for name in before:
            patch.setattr(CursorWrapper, name, counting(name))
        patch.setattr(CursorWrapper, "fetchall", fetched, raising=False)
        patch.setattr(CursorWrapper, "fetchone", fetched_one, raising=False)
        patch.setattr(CursorWrapper, "fetchmany", fetched_many, raising=False)
        connection.ensure_connection()
        if is_sqlite := connection.vendor == "sqlite":
            connection.connection.set_progress_handler(stepped, _STEP)
        else:
            if counts:
                connection.connection.execute(counts)
            else:
                count_rows()
            _rebuild_indexes()
            read = _read_by_postgres()
        try:
            yield work
        finally:
            if is_sqlite:
                connection.connection.set_progress_handler(None, 0)
            else:
                work.read = _read_by_postgres() - read
                work.steps = work.read.total() // 10


def _rebuild_indexes() -> None:
    """Builds the indexes again in which tests that were rolled back left pages or entries."""
    execute = connection.connection.execute
    tables = {table for (table,) in execute(_EMPTY_PAGES).fetchall()}
    roomy = dict(execute(_ROOMY).fetchall())
    tables |= {table for table, size in roomy.items() if _sizes.get(table) != size}
    _sizes.update(roomy)
    if tables:
        # An index is not built while foreign keys of its table wait to be checked.
        execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
        for table in sorted(tables):
            execute(f"REINDEX TABLE {table}")


def _read_by_postgres() -> Counter[str]:
    """Per table and index; the question itself goes past what is counted."""
    return Counter(dict(connection.connection.execute(_READ).fetchall()))
