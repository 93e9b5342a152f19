"""A database of SQLite, moved to PostgreSQL: every row as it is, with its id, hash and instant.

`manage.py restore FILE` does this where the backup is of SQLite and the installation uses
PostgreSQL. Before it is done, every row is read again from PostgreSQL and compared. The indexes for
search are made by PostgreSQL itself from the rows.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.color import no_style
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import Field, Model

from loom.platform.bulk_loading import indexed_afterwards

ALIAS = "moved"
ROWS = 2_000  # read at a time
# Each database has these from its migrations.
KEPT = {"contenttypes.contenttype", "auth.permission"}

Report = Callable[[str], object]


def move_in(file: Path, migrations: list[str], report: Report) -> dict[str, int]:
    """Replaces all rows of this PostgreSQL database with those of a file of SQLite, in one
    transaction, and returns how many each table has. `migrations` are those that the file has:
    they must be the ones of this database. Raises CommandError, with nothing changed."""
    _demand_same(migrations)
    with _opened(file):
        counts: dict[str, int] = {}
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                tables = ", ".join(f'"{model._meta.db_table}"' for model in _models())
                # It fires no trigger of a row, as those that guard the log.
                cursor.execute(f"TRUNCATE {tables} CASCADE")
                with indexed_afterwards(cursor, _long_tables()):
                    for model in _models():
                        counts[model._meta.db_table] = _copy(model, cursor)
                        if counts[model._meta.db_table] >= ROWS:
                            report(f"{model._meta.db_table}: {counts[model._meta.db_table]:,} rows")
                for model in _models():
                    _demand_equal(model)
                for statement in connection.ops.sequence_reset_sql(no_style(), _models()):
                    cursor.execute(statement)
        except (DatabaseError, ValueError) as error:
            raise CommandError(
                f"The rows can't be moved, and nothing was changed: {error}"
            ) from None
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return counts


def _demand_same(migrations: list[str]) -> None:
    from loom.management.commands.backup import applied

    here = applied()
    if here == migrations:
        return
    missing = [name for name in here if name not in migrations]
    if not here:
        raise CommandError("This database has no tables yet. Run `manage.py migrate` first.")
    raise CommandError(
        "This backup is from an earlier version"
        + (f" (it has no {missing[0]})" if missing else "")
        + ". Start this version once on its data, make another backup and restore that."
    )


def _models() -> list[type[Model]]:
    """Every model whose rows are moved, with the tables between two models."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and model._meta.label_lower not in KEPT
    ]


def _long_tables() -> list[str]:
    """The tables with so many rows that their indexes are made afterwards."""
    long = []
    for model in _models():
        rows = model._base_manager.using(ALIAS).order_by().values("pk")
        if rows[:ROWS].count() == ROWS:
            long.append(model._meta.db_table)
    return long


@contextmanager
def _opened(file: Path) -> Iterator[None]:
    connections.settings[ALIAS] = connections.configure_settings(
        {"default": {}, ALIAS: {"ENGINE": "loom.platform.sqlite3", "NAME": str(file)}}
    )[ALIAS]
    try:
        yield
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]


def _demand_equal(model: type[Model]) -> None:
    """Raises ValueError unless both databases have the same rows in a table, in any order: text
    keys are sorted differently by each."""
    names = [field.attname for field in model._meta.local_concrete_fields]
    here, there = (
        _fingerprint(model._base_manager.using(alias).values_list(*names).iterator(chunk_size=ROWS))
        for alias in (connection.alias, ALIAS)
    )
    if here != there:
        raise ValueError(f"the rows of {model._meta.db_table} are not the same as before")


def _fingerprint(rows: Iterable[tuple[Any, ...]]) -> tuple[int, int]:
    """How many rows there are, and the sum of their hashes."""
    many = total = 0
    for row in rows:
        text = "\0".join(_plain(value) for value in row)
        total += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())
        many += 1
    return many, total


def _plain(value: Any) -> str:
    """A value in words that do not depend on the database."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict | list):  # in which PostgreSQL orders keys and writes 1e20 out
        return json.dumps(json.loads(json.dumps(value), parse_int=float), sort_keys=True)
    return f"{type(value).__name__}:{value}"


def _copy(model: type[Model], cursor: Any) -> int:
    fields: list[Field[Any, Any]] = list(model._meta.local_concrete_fields)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    rows = model._base_manager.using(ALIAS).order_by("pk")
    expected = rows.count()
    values = rows.values_list(*(field.attname for field in fields)).iterator(chunk_size=ROWS)
    copied = 0
    with cursor.copy(f'COPY "{model._meta.db_table}" ({columns}) FROM STDIN') as copy:
        for row in values:
            copy.write_row(
                [
                    field.get_db_prep_save(value, connection)
                    for field, value in zip(fields, row, strict=True)
                ]
            )
            copied += 1
    if copied != expected:
        raise ValueError(f"{model._meta.db_table} has {copied} rows of {expected}")
    return copied
