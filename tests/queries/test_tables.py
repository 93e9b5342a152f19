"""A start refuses tables that are not those of this version, and says how to go on."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from loom.management import tables
from tests.databases import copy_started_data
from tests.house.sources import ROOT


@pytest.mark.django_db
def test_the_tables_of_this_version_are_whole() -> None:
    tables.demand_not_newer()
    tables.demand_whole()


@pytest.mark.django_db
def test_the_tables_of_a_newer_version_are_refused() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("no_such_app", "0007_more")  # of a feature that is not installed
    tables.demand_not_newer()
    recorder.record_applied("trees", "0999_more")
    with pytest.raises(CommandError, match=r"A newer version .*\(trees\.0999_more\)"):
        tables.demand_not_newer()


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
    foreign = ("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_", "PYTEST_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    done = subprocess.run(
        [sys.executable, "-m", "config.prepare"],
        cwd=ROOT, env=env | {"HEDDLE_DATA": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "engine_putaside.dropped_at is missing" in done.stderr
    assert "Traceback" not in done.stderr
