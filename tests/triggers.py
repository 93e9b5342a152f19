"""The log only grows and nodes never change, by triggers. Two kinds of tests need them aside.

SQLite's flush deletes row by row, which `loom_event` refuses, and with it every test that
ends real transactions. So the triggers are dropped before the flush and made again after
it. PostgreSQL truncates, which fires none of them. And a test that spoils a node, to see
that this is noticed, does it within `triggers_aside`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

_TRIGGERS = """SELECT name, sql FROM sqlite_master WHERE type = 'trigger'
    AND (tbl_name = 'loom_event' OR name = 'loom_node_no_change')"""
_POSTGRES = """ALTER TABLE loom_event {word} TRIGGER loom_event_append_only;
    ALTER TABLE loom_node {word} TRIGGER loom_node_no_change"""


@contextmanager
def triggers_aside(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Within this block rows of the log may be deleted and nodes changed, as nowhere else."""
    made: list[tuple[str, str]] = []
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            made = cursor.execute(_TRIGGERS).fetchall()
            for name, _ in made:
                cursor.execute(f"DROP TRIGGER {name}")
    else:
        _switch(connection, "DISABLE")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for _, sql in made:
                cursor.execute(sql)
        if connection.vendor == "postgresql":
            _switch(connection, "ENABLE")


def _switch(connection: BaseDatabaseWrapper, word: str) -> None:
    with connection.cursor() as cursor:
        # A table cannot be altered while deferred checks of its rows wait.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(_POSTGRES.format(word=word))
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


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
