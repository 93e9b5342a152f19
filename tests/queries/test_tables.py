"""A start refuses tables that are not those of this version, and says how to go on."""

import sqlite3
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from loom.management import tables
from tests.databases import copy_started_data
from tests.queries.installations import run


@pytest.mark.django_db
def test_the_tables_of_this_version_are_whole() -> None:
    tables.demand_not_newer(MigrationLoader(connection))
    tables.demand_whole()


@pytest.mark.django_db
def test_the_tables_of_a_newer_version_are_refused() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("no_such_app", "0007_more")  # of a feature that is not installed
    tables.demand_not_newer(MigrationLoader(connection))
    recorder.record_applied("trees", "0999_more")
    with pytest.raises(CommandError, match=r"A newer version .*\(trees\.0999_more\)"):
        tables.demand_not_newer(MigrationLoader(connection))


@pytest.mark.django_db
def test_a_missing_column_is_named() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE engine_putaside RENAME COLUMN dropped_at TO dropped_then")
    with pytest.raises(CommandError, match=r"engine_putaside\.dropped_at is missing\. .*export"):
        tables.demand_whole()


@pytest.mark.sqlite
def test_a_start_on_other_tables_says_so_and_does_not_go_on(tmp_path: Path) -> None:
    copy_started_data(tmp_path)
    with sqlite3.connect(tmp_path / "heddle.sqlite3") as database:
        database.execute("ALTER TABLE engine_putaside RENAME COLUMN dropped_at TO dropped_then")
    said = run(tmp_path, "-m", "config.prepare", fails=True)
    assert "engine_putaside.dropped_at is missing" in said
    assert "Traceback" not in said
