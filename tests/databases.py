"""Databases made once and copied: the migrated one of the tests, and that of a started Heddle.

Running the migrations takes seconds in every process of a run. They are run once for each state
of the migration files; the result is kept as a template, in pytest's cache for SQLite and as a
database of its own on a PostgreSQL server.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = "heddle_test_template"
MADE_OF = ("migrations/*.py", "models.py", "models/*.py")
LOCK = 7_146_290  # an advisory lock of PostgreSQL: one process at a time makes the template


def state() -> str:
    """A hash of everything that determines a migrated database: the migration files, the models
    (their names become rows), Django's version, and how the template is made."""
    files = [Path(__file__)]
    for app in apps.get_app_configs():
        folder = Path(app.path)
        if folder.is_relative_to(ROOT) and ".venv" not in folder.relative_to(ROOT).parts:
            files += [file for shape in MADE_OF for file in folder.glob(shape)]
    started = settings.DATABASES["default"]["OPTIONS"].get("init_command", "")
    versions = f"{django.get_version()} {settings.INSTALLED_APPS} {started}"
    digest = hashlib.sha256(versions.encode())
    for file in sorted(files):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:20]


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Holds a lock that other processes of the run wait for."""
    with file.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_test_database(connection: BaseDatabaseWrapper, cache: Path) -> None:
    """Connects the default database to a fresh copy of the template; makes the template where
    there is none for this state of the migrations."""
    if connection.vendor == "sqlite":
        _copy_file(connection, cache)
    else:
        _copy_in_server(connection)


def _copy_file(connection: BaseDatabaseWrapper, cache: Path) -> None:
    name = str(connection.creation._get_test_db_name())  # type: ignore[attr-defined]
    template = cache / f"{state()}.sqlite3"
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    for old in Path(name).parent.glob(f"{Path(name).name}*"):
        old.unlink()
    with _alone(cache / "lock"):
        if not template.exists():
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            connection.close()
            for old in cache.glob("*.sqlite3"):
                old.unlink()
            # With SQLite's own backup: part of the data may still be in the write-ahead log.
            half = template.with_suffix(".half")
            with closing(sqlite3.connect(name)) as source, closing(sqlite3.connect(half)) as copy:
                source.backup(copy)
            half.replace(template)
        else:
            shutil.copyfile(template, name)
    _use(connection, name)
    # Tests in one process need not survive a power cut; real processes use the program's own
    # settings.
    options = connection.settings_dict["OPTIONS"]
    options["init_command"] = options["init_command"].replace("FULL", "OFF")


def _copy_in_server(connection: BaseDatabaseWrapper) -> None:
    creation = connection.creation
    name = str(creation._get_test_db_name())  # type: ignore[attr-defined]
    with creation._nodb_cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            [TEMPLATE],
        )
        if cursor.fetchone() != (state(),):
            asked, connection.settings_dict["TEST"]["NAME"] = (
                connection.settings_dict["TEST"]["NAME"],
                TEMPLATE,
            )
            creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            connection.settings_dict["TEST"]["NAME"] = asked
            _leave_uncounted(connection)
            cursor.execute(f"COMMENT ON DATABASE {TEMPLATE} IS '{state()}'")
        _use(connection, name)
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE {TEMPLATE}')
        cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _leave_uncounted(connection: BaseDatabaseWrapper) -> None:
    """Keeps PostgreSQL from counting rows by itself: between tests, which take theirs back, it
    finds none, and plans for none, whatever a test makes. Those that need statistics ANALYZE."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = off)')


@contextmanager
def empty_database(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Connects the default database to one without tables, for migrations from the first one on;
    drops it afterwards and connects to the database of the tests again."""
    name = str(connection.settings_dict["NAME"])
    empty = f"{name}_empty"
    is_file = connection.vendor == "sqlite"
    if not is_file:
        with connection.creation._nodb_cursor() as cursor:  # type: ignore[attr-defined]
            cursor.execute(f'DROP DATABASE IF EXISTS "{empty}"')
            cursor.execute(f'CREATE DATABASE "{empty}"')
    _use(connection, empty)
    try:
        yield
    finally:
        _use(connection, name)
        if is_file:
            for file in Path(empty).parent.glob(f"{Path(empty).name}*"):
                file.unlink()
        else:
            with connection.creation._nodb_cursor() as cursor:  # type: ignore[attr-defined]
                cursor.execute(f'DROP DATABASE "{empty}" WITH (FORCE)')


def drop_test_database(connection: BaseDatabaseWrapper, name: str) -> None:
    """Drops what `make_test_database` made, and restores the connection's own name. Idle threads
    of the program on PostgreSQL must not keep the database open."""
    if connection.vendor != "postgresql":
        connection.creation.destroy_test_db(name, verbosity=0)
        return
    name = connection.settings_dict["NAME"]
    _use(connection, name)
    with connection.creation._nodb_cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _use(connection: BaseDatabaseWrapper, name: str) -> None:
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]
    settings.DATABASES[connection.alias]["NAME"] = name
    connection.settings_dict["NAME"] = name


def copy_started_data(to: Path) -> bool:
    """Fills `to` with the data folder of a Heddle after its first start, made once in a run, or in
    all that share the folder HEDDLE_TEST_STARTED. Outside of a run, as in a bench, returns False
    and leaves `to` as it is: the start itself fills it."""
    if "HEDDLE_TEST_DATA" not in os.environ:
        return False
    run = Path(os.environ.get("HEDDLE_TEST_STARTED") or os.environ["HEDDLE_TEST_DATA"])
    source = run / "started"
    run.mkdir(parents=True, exist_ok=True)
    with _alone(run / "lock"):
        if not source.exists():
            half = run / "half-started"
            half.mkdir()
            _prepare(half)
            half.rename(source)
    shutil.copytree(source, to, dirs_exist_ok=True)
    return True


def _prepare(folder: Path) -> None:
    foreign = ("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_", "PYTEST_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    done = subprocess.run(
        [sys.executable, "-m", "config.prepare"],
        cwd=ROOT, env=env | {"HEDDLE_DATA": str(folder)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
