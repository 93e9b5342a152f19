"""`manage.py backup FILE`: the database, the images and the secret in one file, while people
write.

The file is a tar of `heddle.json` (what and when), `database`, `secret`, and each image as
`images/SHA-256`. How the database is dumped and loaded is here too, for `restore`.
"""

import glob
import io
import json
import os
import secrets
import sqlite3
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from loom.management.shell import StartedCommand
from loom.text.hashes import instant
from loom.trees.image_files import data_folder

FORMAT = 1
ABOUT, DATABASE, SECRET, IMAGES = "heddle.json", "database", "secret", "images/"


def applied() -> list[str]:
    """The migrations of our own apps that the database has."""
    return _ours(MigrationRecorder(connection).applied_migrations())


def known() -> list[str]:
    """The migrations of our own apps that this version has."""
    return _ours(MigrationLoader(None).disk_migrations)


def _ours(migrations: Iterable[tuple[str, str]]) -> list[str]:
    own = {app.label for app in apps.get_app_configs() if app.name.startswith(("loom.", "agents"))}
    return sorted(f"{app}.{name}" for app, name in migrations if app in own)


def dump(to: Path) -> None:
    """Copies the database into a file, as it is at one moment, while others write."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(to)) as copy:
            connection.connection.backup(copy)
        return
    _postgres("pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file", str(to))


def load(dumped: Path) -> None:
    """Replaces everything in the database with a dump, whose file of SQLite has passed
    `demand_whole`; all of it or nothing."""
    if connection.vendor == "sqlite":
        _load_sqlite(dumped)
        return
    connection.close()
    _postgres(
        *("pg_restore", "--clean", "--if-exists", "--no-owner", "--no-privileges"),
        *("--single-transaction", "--exit-on-error", str(dumped)),
    )


def demand_whole(dumped: Path) -> None:
    """Raises CommandError for a file of SQLite that is damaged, or is no database of Heddle: an
    empty file is a sound database without tables."""
    with closing(sqlite3.connect(dumped)) as copy:
        try:
            state = copy.execute("PRAGMA quick_check").fetchone()[0]
        except sqlite3.Error as error:
            state = str(error)
        if state != "ok":
            raise CommandError(f"The database in this backup is damaged: {state}")
        try:
            rows = copy.execute("SELECT 1 FROM django_migrations WHERE app = 'trees' LIMIT 1")
            is_ours = rows.fetchone() is not None
        except sqlite3.Error:
            is_ours = False
    if not is_ours:
        raise CommandError("The database in this backup is empty, or is not one of Heddle.")


def _load_sqlite(dumped: Path) -> None:
    connection.ensure_connection()
    try:
        fitting = _in_same_pages(dumped)
        with closing(sqlite3.connect(fitting)) as copy:
            copy.backup(connection.connection)
    except sqlite3.Error as error:
        raise CommandError(
            f"The database can't be written: {error}. Nothing was changed."
        ) from None
    connection.close()


def _in_same_pages(dumped: Path) -> Path:
    """A file with the content of this one, in pages of the size that the database has, which
    SQLite cannot change while it copies; installations from before 0.1.0 have pages of 4 KB."""
    size = _page_size(connection.connection)
    with closing(sqlite3.connect(dumped)) as copy:
        if _page_size(copy) == size:
            return dumped
        fitting = dumped.with_name("fitting")
        # As loom.platform.sqlite3.base begins a new file.
        copy.execute(f"PRAGMA page_size={size}")
        copy.execute("PRAGMA auto_vacuum=INCREMENTAL")
        copy.execute("VACUUM INTO ?", [str(fitting)])
    return fitting


def _page_size(database: Any) -> int:
    return int(database.execute("PRAGMA page_size").fetchone()[0])


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


class Command(StartedCommand):
    """Writes a backup; SQLite by its online backup, PostgreSQL by pg_dump."""

    help = "Writes the database, the images and the secret to FILE."

    def add_arguments(self, parser: CommandParser) -> None:
        """FILE."""
        parser.add_argument("file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes to a new file first, so that a failure leaves an older backup intact."""
        target = Path(options["file"])
        if target.is_symlink():
            target = target.resolve()
        if target.exists() and not target.is_file():
            raise CommandError(f"{target} is no ordinary file. Name one, then send that on.")
        part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        _remove_old_parts(target)
        try:
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                dumped = Path(folder) / DATABASE
                dump(dumped)
                _pack(part, dumped)
                part.replace(target)
        except OSError as error:
            raise CommandError(f"{target} can't be written: {error.strerror}.") from None
        except sqlite3.Error as error:
            raise CommandError(f"{target} can't be written: {error}.") from None
        finally:
            part.unlink(missing_ok=True)
        if settings.IMAGES_BUCKET:
            self.stdout.write(
                f"The images stay in the bucket {settings.IMAGES_BUCKET}, which needs a backup or "
                "versions of its own."
            )
        self.stdout.write(f"Backed up to {target}. It holds the secret: keep it safe.")


def _remove_old_parts(target: Path) -> None:
    """Removes what a backup to this file left that was killed: none takes a day."""
    for part in target.parent.glob(f"{glob.escape(target.name)}.*.part"):
        if time.time() - part.stat().st_mtime > 86_400:
            part.unlink(missing_ok=True)


def _pack(part: Path, dumped: Path) -> None:
    about = {
        "heddle": FORMAT,
        "database": connection.vendor,
        "migrations": applied(),
        "made_at": instant(timezone.now()),
        "bucket": settings.IMAGES_BUCKET,
    }
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as tar:
            _add(tar, ABOUT, json.dumps(about).encode())
            tar.add(dumped, DATABASE)
            for sha256, file in _images():  # after the database, which names them
                tar.add(file, f"{IMAGES}{sha256}")
            _add(tar, SECRET, settings.SECRET_KEY.encode())
        out.flush()
        os.fsync(out.fileno())


def _images() -> Iterator[tuple[str, Path]]:
    """The images in the data folder; those in a bucket stay there."""
    return iter(()) if settings.IMAGES_BUCKET else data_folder.all()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))
