"""The log only grows, by triggers; a test that clears all tables needs them to stand aside.

SQLite's flush deletes row by row, which `loom_event` refuses, and with it every test that
ends real transactions. So the triggers are dropped before the flush and made again after
it. PostgreSQL truncates, which fires none of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'loom_event'"


@contextmanager
def triggers_aside(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Within this block SQLite deletes rows of the log, as nowhere else."""
    made: list[tuple[str, str]] = []
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            made = cursor.execute(_TRIGGERS).fetchall()
            for name, _ in made:
                cursor.execute(f"DROP TRIGGER {name}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for _, sql in made:
                cursor.execute(sql)


@pytest.fixture(scope="session", autouse=True)
def _flush_without_triggers() -> Iterator[None]:
    """Every TransactionTestCase, live-server and browser test clears the log at its end."""
    patch = pytest.MonkeyPatch()
    teardown = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]

    def cleared(case: Any) -> None:
        with triggers_aside(connections["default"]):
            teardown(case)

    # TestCase has a teardown of its own, which rolls back and needs none of this.
    patch.setattr(TransactionTestCase, "_fixture_teardown", cleared)
    yield
    patch.undo()
