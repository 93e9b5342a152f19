"""`manage.py backup FILE`: the database and the secret in one file, while people write."""

import io
import json
import os
import sqlite3
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from loom.management import archives
from loom.management.shell import StartedCommand
from loom.rules.identity import instant


class Command(StartedCommand):
    """Writes a backup; SQLite by its online backup, PostgreSQL by pg_dump."""

    help = "Writes the database and the secret to FILE."

    def add_arguments(self, parser: CommandParser) -> None:
        """FILE."""
        parser.add_argument("file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes to a new file first, so that a failure leaves an older backup intact."""
        target = Path(options["file"])
        part = target.with_name(target.name + ".part")
        try:
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                dumped = Path(folder) / archives.DATABASE
                archives.dump(dumped)
                _pack(part, dumped)
                part.replace(target)
        except OSError as error:
            raise CommandError(f"{target} can't be written: {error.strerror}.") from None
        except sqlite3.Error as error:
            raise CommandError(f"{target} can't be written: {error}.") from None
        finally:
            part.unlink(missing_ok=True)
        self.stdout.write(f"Backed up to {target}. It holds the secret: keep it safe.")


def _pack(part: Path, dumped: Path) -> None:
    about = {
        "heddle": archives.FORMAT,
        "database": connection.vendor,
        "migrations": archives.applied(),
        "made_at": instant(timezone.now()),
    }
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as tar:
            _add(tar, archives.ABOUT, json.dumps(about).encode())
            tar.add(dumped, archives.DATABASE)
            _add(tar, archives.SECRET, settings.SECRET_KEY.encode())
        out.flush()
        os.fsync(out.fileno())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))
