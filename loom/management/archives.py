"""What a backup contains, and how the database is dumped and loaded.

A tar of `heddle.json` (what and when), `database`, `secret`, and each image as `images/SHA-256`.
"""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

FORMAT = 1
ABOUT, DATABASE, SECRET, IMAGES = "heddle.json", "database", "secret", "images/"


def applied() -> list[str]:
    """The migrations of our own apps that the database has."""
    found = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in found if app in ("loom", "agents"))


def dump(to: Path) -> None:
    """Copies the database into a file, as it is at one moment, while others write."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(to)) as copy:
            connection.connection.backup(copy)
        return
    _postgres("pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file", str(to))


def load(dumped: Path) -> None:
    """Replaces everything in the database with a dump; all of it or nothing."""
    if connection.vendor == "sqlite":
        _load_sqlite(dumped)
        return
    connection.close()
    _postgres(
        *("pg_restore", "--clean", "--if-exists", "--no-owner", "--no-privileges"),
        *("--single-transaction", "--exit-on-error", str(dumped)),
    )


def _load_sqlite(dumped: Path) -> None:
    with closing(sqlite3.connect(dumped)) as copy:
        try:
            state = copy.execute("PRAGMA quick_check").fetchone()[0]
        except sqlite3.DatabaseError as error:
            state = str(error)
        if state != "ok":
            raise CommandError(f"The database in this backup is damaged: {state}")
        connection.ensure_connection()
        copy.backup(connection.connection)
    connection.close()


def _postgres(tool: str, *words: str) -> None:
    given = connection.settings_dict
    names = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD"}
    env = os.environ | {
        name: str(given[setting]) for setting, name in names.items() if given[setting]
    }
    command = [tool, "--dbname", given["NAME"], *words]
    if tool == "pg_dump":
        command = [tool, *words, given["NAME"]]
    try:
        done = subprocess.run(  # noqa: S603 (the words are ours)
            command, env=env, check=False, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise CommandError(f"{tool} is not installed. Install PostgreSQL's client.") from None
    if done.returncode != 0:
        raise CommandError(f"{tool} failed: {done.stderr.strip()[-2000:]}")
