"""`manage.py restore FILE`: replaces the database and the secret with a backup. A backup of SQLite
is moved into PostgreSQL where the installation uses that."""

import fcntl
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from loom.management.alone import alone
from loom.management.commands import backup
from loom.management.moving import move_in
from loom.text.images import MOST_IMAGE_BYTES
from loom.trees import images

_SERVING = ["heddle uvicorn", "heddle celery"]  # as config.settings names their connections


class Command(BaseCommand):
    """Restores a backup made by `backup`. Stop Heddle first."""

    help = "Restores FILE over the database and the secret. Stop Heddle first."

    def add_arguments(self, parser: CommandParser) -> None:
        """FILE."""
        parser.add_argument("file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises for a file that is not a backup or is of another kind, before it touches anything;
        then backs up the existing data."""
        try:
            with (
                _alone(),
                _opened(options["file"]) as tar,
                tempfile.TemporaryDirectory(dir=settings.DATA_DIR) as folder,
            ):
                self._restore(tar, Path(folder))
        except OSError as error:
            raise CommandError(f"It could not be restored: {error.strerror or error}.") from None
        except (tarfile.TarError, KeyError, ValueError) as error:
            raise CommandError(f"{options['file']} can't be read as a backup: {error}") from None
        self.stdout.write("Restored. Start Heddle again.")

    def _restore(self, tar: tarfile.TarFile, folder: Path) -> None:
        # Only members with known names: a foreign tar must not write elsewhere.
        about = json.loads(_member(tar, backup.ABOUT).read())
        _demand_fitting(about)
        dumped = folder / backup.DATABASE
        with dumped.open("wb") as out:
            shutil.copyfileobj(_member(tar, backup.DATABASE), out)
        secret = _member(tar, backup.SECRET).read()
        if about["database"] == "sqlite":
            backup.demand_whole(dumped)
        _demand_secret(secret)
        if backup.applied():  # a new machine has no data yet
            self.stdout.write(f"What there is now is kept in {_kept()}")
        if about["database"] == connection.vendor:
            backup.load(dumped)
        else:
            self._move(dumped, about["migrations"])
        _restore_images(tar)
        self._say_bucket(about.get("bucket", ""))
        self._put_secret(secret)

    def _move(self, dumped: Path, migrations: list[str]) -> None:
        if not backup.applied():
            call_command("migrate", verbosity=0, interactive=False)
        counts = move_in(dumped, migrations, self.stdout.write)
        self.stdout.write(f"{sum(counts.values()):,} rows were moved from SQLite to PostgreSQL.")

    def _say_bucket(self, bucket: str) -> None:
        """Where the images are that the backup does not hold."""
        if bucket and bucket != settings.IMAGES_BUCKET:
            self.stdout.write(
                f"The images of this backup are in the bucket {bucket}: set HEDDLE_IMAGES to it, "
                "or copy its objects to where this installation has its images."
            )

    def _put_secret(self, secret: bytes) -> None:
        file = settings.DATA_DIR / "secret"
        part = file.with_name("secret.part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(secret)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
        given = os.environ.get("HEDDLE_SECRET", "")
        if given and given.encode() != secret:
            self.stdout.write(
                "HEDDLE_SECRET is another one than this backup's: set it to what is now in "
                f"{file}, or providers' keys cannot be opened and everybody is signed out."
            )


def _restore_images(tar: tarfile.TarFile) -> None:
    """Stores the images of a backup beside the existing ones; an image whose bytes do not match
    the hash in its name is left out."""
    for member in tar:
        sha256 = member.name.removeprefix(backup.IMAGES)
        if member.isfile() and member.name.startswith(backup.IMAGES):
            raw = _member(tar, member.name).read(MOST_IMAGE_BYTES + 1)
            if hashlib.sha256(raw).hexdigest() == sha256:
                images.store(sha256, raw)


def _member(tar: tarfile.TarFile, name: str) -> Any:
    member = tar.extractfile(name)
    if member is None:
        raise ValueError(f"{name} is not a file in it")
    return member


def _demand_fitting(about: Any) -> None:
    if not isinstance(about, dict) or about.get("heddle") != backup.FORMAT:
        raise ValueError("it was not created by this backup command")
    if about["database"] not in ("sqlite", "postgresql"):
        raise ValueError(f"it is of a database that is not known here: {about['database']}")
    if (about["database"], connection.vendor) == ("postgresql", "sqlite"):
        raise CommandError(
            "This backup is from postgresql, but this installation uses sqlite. Restore it where "
            "DATABASE_URL names a PostgreSQL server, or export the trees as Heddle JSON."
        )
    known = set(backup.known())
    unknown = [name for name in about["migrations"] if name not in known]
    if unknown:
        is_newer = known <= set(about["migrations"])
        raise CommandError(
            f"This backup is from {'a newer' if is_newer else 'another'} version of Heddle"
            f" ({unknown[0]}). Restore it with the version that wrote it."
        )


def _demand_secret(secret: bytes) -> None:
    """Raises CommandError for a secret with which Heddle would not start."""
    try:
        is_long_enough = len(secret.decode().strip()) >= settings.SHORTEST_SECRET
    except UnicodeDecodeError:
        is_long_enough = False
    if not is_long_enough:
        raise CommandError(
            f"The secret in this backup is damaged: it is shorter than {settings.SHORTEST_SECRET} "
            "characters, or no text."
        )


def _opened(file: str) -> tarfile.TarFile:
    try:
        return tarfile.open(file)
    except OSError as error:
        raise CommandError(f"{file} can't be read: {error.strerror or error}.") from None


@contextmanager
def _alone() -> Iterator[None]:
    """Keeps Heddle from being started until the end: by script/server on this data folder, and on
    the server of the database wherever it runs. CommandError if it runs, or another restore."""
    with (settings.DATA_DIR / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            if file.read().startswith("restore"):
                raise CommandError("A restore is running. Wait until it has ended.") from None
            raise CommandError("Heddle is running on this data. Stop it first.") from None
        file.truncate(0)
        file.write(f"restore {os.getpid()}")  # the supervisor says so, if it is started meanwhile
        file.flush()
        with alone():
            _demand_stopped()
            yield


def _demand_stopped() -> None:
    """Raises while web processes or workers are connected to the server of the database."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT application_name FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = ANY(%s)",
            [_SERVING],
        )
        running = ", ".join(name.removeprefix("heddle ") for (name,) in cursor.fetchall())
    if running:
        raise CommandError(f"Heddle is running on this database ({running}). Stop it first.")


def _kept() -> Path:
    """A backup of the existing data."""
    folder: Path = settings.DATA_DIR / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{timezone.now():%Y%m%dT%H%M%S%f}-before-restore.backup"
    call_command("backup", str(file), stdout=io.StringIO())
    return file
