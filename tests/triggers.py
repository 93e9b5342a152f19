"""How a test that ends real transactions leaves the database as it found it.

Django's flush empties every table, has its post-migration handlers fill some again, and on
SQLite deletes row by row, which the triggers of `engine_event` refuse outside of a stream that is
being erased. So only the tables that have rows are emptied, and the streams are marked as being
erased first. What the migrations put into a table stays. A test that spoils a node, to see that
this is noticed, does it within `triggers_aside`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

from tests.kills.heddle import until
from tests.planner import forget_statistics

_TRIGGERS = """SELECT name, sql FROM sqlite_master WHERE type = 'trigger'
    AND (tbl_name = 'engine_event' OR name = 'trees_node_no_change')"""
_POSTGRES = """ALTER TABLE engine_event {word} TRIGGER engine_event_append_only;
    ALTER TABLE trees_node {word} TRIGGER trees_node_no_change"""
LOCK_NOT_AVAILABLE = "55P03"  # of PostgreSQL
# Filled by the migrations, and by nothing else.
KEPT = {"django_content_type", "auth_permission", "django_migrations"}


@contextmanager
def triggers_aside(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Within this block rows of the log may be deleted and nodes changed, as nowhere else."""
    triggers: list[tuple[str, str]] = []
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            triggers = cursor.execute(_TRIGGERS).fetchall()
            for name, _ in triggers:
                cursor.execute(f"DROP TRIGGER {name}")
    else:
        _switch(connection, "DISABLE")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for _, sql in triggers:
                cursor.execute(sql)
        if connection.vendor == "postgresql":
            _switch(connection, "ENABLE")


def _switch(connection: BaseDatabaseWrapper, word: str) -> None:
    with connection.cursor() as cursor:
        # A table cannot be altered while deferred checks of its rows wait.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(_POSTGRES.format(word=word))
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def tables_with_rows(connection: BaseDatabaseWrapper) -> list[str]:
    """The tables of models that have rows, without those that the migrations fill."""
    names = connection.introspection.django_table_names(only_existing=False, include_views=False)
    looks = [
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")"
        for name in sorted(set(names) - KEPT)
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(looks))
        return [row[0] for row in cursor.fetchall()]


def clear(connection: BaseDatabaseWrapper) -> None:
    """Deletes every row that a test has made."""
    if connection.vendor == "sqlite":
        forget_statistics(connection)
    if connection.vendor == "postgresql":
        until(lambda: _clear_server(connection), what="nobody writes into the tables any more")
        return
    full = tables_with_rows(connection)
    if not full:
        return
    with (
        connection.constraint_checks_disabled(),
        transaction.atomic(using=connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE engine_stream SET erasing = 1")
        for name in sorted(full, key=lambda name: name == "engine_stream"):
            cursor.execute(f'DELETE FROM "{name}"')


def _clear_server(connection: BaseDatabaseWrapper) -> bool:
    """Deletes the rows of tables in PostgreSQL. False if a thread of the test still writes: each
    may wait for the other, so it has to be tried again.

    TRUNCATE makes new files for all tables that refer to these and for their indexes, 70 ms of the
    server's CPU for three rows; it is the way of a user who may not turn triggers off."""
    names = [f'"{name}"' for name in tables_with_rows(connection)]
    if not names:
        return True
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('is_superuser')")
        if cursor.fetchone() != ("on",):
            # It fires no trigger of a row; what refers to these tables is in the list, or empty.
            cursor.execute(f"TRUNCATE {', '.join(names)} CASCADE")
            return True
        # Sooner than the server would end one of the two.
        cursor.execute("SET LOCAL lock_timeout = '500ms'")
        try:
            cursor.execute(f"LOCK TABLE {', '.join(names)} IN EXCLUSIVE MODE")
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                raise
            transaction.set_rollback(True, using=connection.alias)
            return False
        cursor.execute("SET LOCAL session_replication_role = replica")
        for name in names:
            cursor.execute(f"DELETE FROM {name}")
    return True


@pytest.fixture(scope="session", autouse=True)
def _flush_without_triggers() -> Iterator[None]:
    """Every TransactionTestCase, live-server and browser test clears the log at its end."""
    patch = pytest.MonkeyPatch()

    def cleared(case: Any) -> None:
        for name in case._databases_names(include_mirrors=False):
            clear(connections[name])

    # TestCase has a teardown of its own, which rolls back and needs none of this.
    patch.setattr(TransactionTestCase, "_fixture_teardown", cleared)
    yield
    patch.undo()
