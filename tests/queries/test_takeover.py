"""A database of the build before 0.1.0 is taken over with every row (stored here as a file)."""

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.house.sources import ROOT

STORED = Path(__file__).parent / "before-0.1.0.sqlite3.gz"
STORED_POSTGRES = Path(__file__).parent / "before-0.1.0.postgres.sql.gz"


def _run(folder: Path, *words: str, database: str = "") -> str:
    env = {"HEDDLE_DATA": str(folder), "PATH": "/usr/bin:/bin"}
    if database:
        env["DATABASE_URL"] = database
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of an installation of the build before."""
    data = tmp_path / "data"
    data.mkdir()
    with gzip.open(STORED) as stored, (data / "heddle.sqlite3").open("wb") as file:
        shutil.copyfileobj(stored, file)
    return data


def _counts(file: Path, prefix: str = "") -> dict[str, int]:
    with sqlite3.connect(file) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "_fts" not in name and name.startswith(prefix)
        ]
        return {
            name: database.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in names
        }


@pytest.mark.sqlite
def test_a_start_takes_the_old_database_over_with_every_row(folder: Path) -> None:
    file = folder / "heddle.sqlite3"
    before = {name.removeprefix("loom_"): count for name, count in _counts(file, "loom_").items()}
    said = _run(folder, "-m", "config.prepare")
    assert "taken over" in said
    after = _counts(file)
    ours = {name.partition("_")[2]: count for name, count in after.items()}
    ours |= {name.removeprefix("web_search_"): count for name, count in after.items()}
    del before["signinlink"]  # a start where nobody has signed in yet makes another one
    assert {name: ours[name] for name in before} == before
    assert not [name for name in after if name.startswith(("loom_", "before_"))]
    assert list((folder / "backups").iterdir())
    verified = _run(folder, "manage.py", "verify")
    assert " 0 broken" in verified and "1 broken" not in verified
    assert "[" in _run(folder, "manage.py", "loom", '→ find "third answer"')
    assert "✓" in _run(folder, "manage.py", "loom", '→ respond here "Still growing."')
    # A second start finds nothing to do.
    assert "taken over" not in _run(folder, "-m", "config.prepare")


@pytest.mark.sqlite
def test_a_database_of_today_is_left_alone(folder: Path) -> None:
    _run(folder, "-m", "config.prepare")
    env = {"HEDDLE_DATA": str(folder), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "manage.py", "takeover"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "nothing was changed" in done.stderr


@pytest.fixture
def old_database() -> Iterator[str]:
    """The URL of a database of its own on the server, with the rows of the build before."""
    server = os.environ["DATABASE_URL"]
    name = f"heddle_before_{os.getpid()}"
    url = f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(server, autocommit=True) as connected:
        connected.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[arg-type,unused-ignore]
        connected.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')  # type: ignore[arg-type,unused-ignore]
        try:
            subprocess.run(
                ["psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url],
                input=gzip.decompress(STORED_POSTGRES.read_bytes()),
                check=True, capture_output=True,
            )  # fmt: skip
            yield url
        finally:
            connected.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[arg-type,unused-ignore]


def _counts_on_server(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connected:
        names = [
            name
            for (name,) in connected.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            )
        ]
        counts = {}
        for name in names:
            row = connected.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()  # type: ignore[arg-type,unused-ignore]
            assert row is not None
            counts[name] = int(row[0])
        return counts


@pytest.mark.postgres
def test_a_database_on_a_server_is_taken_over_with_every_row(
    tmp_path: Path, old_database: str
) -> None:
    before = {
        name.removeprefix("loom_"): count
        for name, count in _counts_on_server(old_database).items()
        if name.startswith("loom_")
    }
    assert before["node"] and before["revision"] == 2
    said = _run(tmp_path, "manage.py", "takeover", database=old_database)
    assert "taken over" in said
    after = _counts_on_server(old_database)
    ours = {name.partition("_")[2]: count for name, count in after.items()}
    ours |= {name.removeprefix("web_search_"): count for name, count in after.items()}
    assert {name: ours[name] for name in before} == before
    assert not [name for name in after if name.startswith("loom_")]
    with psycopg.connect(old_database) as connected:
        schemas = connected.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'heddle_before'")
        assert schemas.fetchone() is None
    assert list((tmp_path / "backups").iterdir())
    verified = _run(tmp_path, "manage.py", "verify", database=old_database)
    assert " 0 broken" in verified and "1 broken" not in verified

    def say(line: str) -> str:
        return _run(tmp_path, "manage.py", "loom", line, database=old_database)

    assert "[" in say('→ find "third answer"')
    # What was pruned stays hidden, with what is below it.
    assert "0 hits" in say('→ find "below a pruned"')
    assert "h7s9" not in (tree := say("→ tree")) and "q9m9" not in tree
    assert "✓" in say('→ respond here "Still growing."')
