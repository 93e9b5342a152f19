"""`manage.py backup FILE`: the database and the secret in one file, while people write."""

import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection


class Command(BaseCommand):
    """Writes a backup; SQLite by its online backup, PostgreSQL by pg_dump."""

    help = "Writes the database and the secret to FILE."

    def add_arguments(self, parser: CommandParser) -> None:
        """FILE."""
        parser.add_argument("file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes to a new file first, so that a failure leaves an older backup whole."""
        target = Path(options["file"])
        part = target.with_name(target.name + ".part")
        try:
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                dump = Path(folder) / "database"
                dump_database(dump)
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(descriptor, "wb") as out, tarfile.open(fileobj=out, mode="w") as tar:
                    tar.add(dump, connection.vendor)
                    _add(tar, "secret", settings.SECRET_KEY.encode())
                part.replace(target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from None
        self.stdout.write(f"Backed up to {target}")


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))


def dump_database(to: Path) -> None:
    """Copies the database into a file, as it is at one moment."""
    if connection.vendor == "sqlite":
        import sqlite3

        connection.ensure_connection()
        with sqlite3.connect(to) as copy:
            connection.connection.backup(copy)
        copy.close()
        return
    _postgres("pg_dump", "--format=custom", "--no-owner", "--file", str(to))


def _postgres(tool: str, *words: str) -> None:
    given = connection.settings_dict
    env = {**os.environ, "PGPASSWORD": str(given["PASSWORD"] or "")}
    where = ["--host", given["HOST"] or "localhost", "--port", str(given["PORT"] or 5432)]
    who = ["--username", given["USER"]] if given["USER"] else []
    try:
        subprocess.run(  # noqa: S603 (the words are ours)
            [tool, *where, *who, "--dbname", given["NAME"], *words], env=env, check=True
        )
    except FileNotFoundError:
        raise CommandError(f"{tool} is not installed. Install PostgreSQL's client.") from None
    except subprocess.CalledProcessError:
        raise CommandError(f"{tool} failed; what it said stands above.") from None
