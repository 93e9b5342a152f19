"""`manage.py restore FILE`: puts a backup in the place of the database and the secret."""

import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from loom.management.commands.backup import _postgres


class Command(BaseCommand):
    """Restores a backup made by `backup`. Stop Heddle first."""

    help = "Restores FILE over the database and the secret. Stop Heddle first."

    def add_arguments(self, parser: CommandParser) -> None:
        """FILE."""
        parser.add_argument("file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses a file that is no backup, or one of another kind of database."""
        try:
            with tarfile.open(options["file"]) as tar, tempfile.TemporaryDirectory() as folder:
                tar.extractall(folder, filter="data")
                self._restore(Path(folder))
        except (OSError, tarfile.TarError) as error:
            raise CommandError(
                f"{options['file']} is no backup that can be read: {error}"
            ) from None
        self.stdout.write("Restored. Start Heddle again.")

    def _restore(self, folder: Path) -> None:
        dump = folder / connection.vendor
        if not dump.exists():
            raise CommandError(f"This backup is not of a {connection.vendor} database.")
        if connection.vendor == "sqlite":
            self._restore_sqlite(dump)
        else:
            _postgres("pg_restore", "--clean", "--if-exists", "--no-owner", str(dump))
        secret = settings.DATA_DIR / "secret"
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write((folder / "secret").read_bytes())

    def _restore_sqlite(self, dump: Path) -> None:
        import sqlite3

        connection.ensure_connection()
        with sqlite3.connect(dump) as copy:
            copy.backup(connection.connection)
        copy.close()
