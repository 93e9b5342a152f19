"""Migrations of large tables while people write: rows are changed in batches, each a transaction
of its own, and an index is built without holding writers where the database can do that.

A migration that uses these has `atomic = False`: Django otherwise runs it in one transaction, in
which SQLite lets nobody else write. How to write one:
docs/decisions/2026-11-26-migrations-in-batches.md.
"""

import time
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.migrations.operations import AddIndex
from django.db.transaction import TransactionManagementError

AIM_S = 0.1  # of a batch: so long others wait for it
FEWEST, FIRST, MOST = 50, 500, 50_000  # rows of a batch


@dataclass
class BatchedChange:
    """What was done: rows that were looked at, batches, and the longest of them in seconds."""

    rows: int = 0
    batches: int = 0
    longest_s: float = 0.0


def change_rows(alias: str, table: str, statement: str, *, key: str = "id") -> BatchedChange:
    """Runs a statement for all rows of a table, in the order of their keys. It has two parameters,
    between which the keys of a batch lie:

        UPDATE trees_node SET words = length(text) WHERE id > %s AND id <= %s AND words IS NULL

    A batch takes about AIM_S: the next one is larger or smaller by how long the last one took, and
    as long as it took others are let in before. If it is stopped, running it again must change what
    is left, so the statement leaves alone the rows that it has changed. Raises
    TransactionManagementError within a transaction.
    """
    connection = connections[alias]
    if connection.in_atomic_block:
        raise TransactionManagementError("rows are changed in batches only with atomic = False")
    done, size = BatchedChange(), FIRST
    name, column = connection.ops.quote_name(table), connection.ops.quote_name(key)
    after = _first(alias, f"SELECT MIN({column}) - 1 FROM {name}", [])  # noqa: S608
    # The last key of a batch, and how many rows there are up to it.
    batch = f"""SELECT MAX(k), COUNT(*) FROM (
        SELECT {column} AS k FROM {name} WHERE {column} > %s ORDER BY {column} LIMIT %s) AS b"""  # noqa: S608
    while after is not None:
        began = time.monotonic()
        with transaction.atomic(using=alias), connection.cursor() as cursor:
            cursor.execute(batch, [after, size])
            last, rows = cursor.fetchone()
            if rows:
                cursor.execute(statement, [after, last])
        took = time.monotonic() - began
        after = last
        done.rows += rows
        done.batches += 1 if rows else 0
        done.longest_s = max(done.longest_s, took)
        size = min(MOST, max(FEWEST, int(size * min(2.0, AIM_S / max(took, 0.001)))))
        if rows:
            time.sleep(took)
    return done


def _first(alias: str, sql: str, params: list[Any]) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchone()[0]


class AddIndexAside(AddIndex):
    """Adds an index while others write, on PostgreSQL (CONCURRENTLY). SQLite builds it at once, and
    writers wait for that."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        """Builds the index."""
        state = states[1]
        model = state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        aside = schema_editor.connection.vendor == "postgresql"
        schema_editor.add_index(model, self.index, **({"concurrently": True} if aside else {}))
