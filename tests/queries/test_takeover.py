"""A database of the build before 0.1.0 is taken over with every row (stored here as a file)."""

import gzip
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.house.sources import ROOT
from tests.queries.installations import own_database, rows_on_server, run

STORED = Path(__file__).parent / "before-0.1.0.sqlite3.gz"
STORED_POSTGRES = Path(__file__).parent / "before-0.1.0.postgres.sql.gz"


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
    output = run(folder, "-m", "config.prepare")
    assert "taken over" in output
    after = _counts(file)
    ours = {name.partition("_")[2]: count for name, count in after.items()}
    ours |= {name.removeprefix("web_search_"): count for name, count in after.items()}
    del before["signinlink"]  # a start where nobody has signed in yet makes another one
    assert {name: ours[name] for name in before} == before
    assert not [name for name in after if name.startswith(("loom_", "before_"))]
    assert list((folder / "backups").iterdir())
    with sqlite3.connect(file) as database:
        keys = database.execute("SELECT label_key FROM notes_mark WHERE kind = 'tag'").fetchall()
    assert keys == [("kept",)]
    verified = run(folder, "manage.py", "verify")
    assert " 0 broken" in verified and "1 broken" not in verified
    assert "[" in run(folder, "manage.py", "loom", '→ find "third answer"')
    assert "✓" in run(folder, "manage.py", "loom", '→ respond here "Still growing."')
    # A second start finds nothing to do.
    assert "taken over" not in run(folder, "-m", "config.prepare")


@pytest.mark.sqlite
def test_a_database_of_today_is_left_alone(folder: Path) -> None:
    run(folder, "-m", "config.prepare")
    env = {"HEDDLE_DATA": str(folder), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "manage.py", "takeover"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "nothing was changed" in done.stderr


@pytest.fixture
def old_database() -> Iterator[str]:
    """The URL of a database of its own on the server, with the rows of the build before."""
    with own_database("heddle_before") as url:
        subprocess.run(
            ["psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url],
            input=gzip.decompress(STORED_POSTGRES.read_bytes()),
            check=True, capture_output=True,
        )  # fmt: skip
        yield url


@pytest.mark.postgres
def test_a_database_on_a_server_is_taken_over_with_every_row(
    tmp_path: Path, old_database: str
) -> None:
    before = {
        name.removeprefix("loom_"): count
        for name, count in rows_on_server(old_database).items()
        if name.startswith("loom_")
    }
    assert before["node"] and before["revision"] == 2
    output = run(tmp_path, "manage.py", "takeover", database=old_database)
    assert "taken over" in output
    after = rows_on_server(old_database)
    ours = {name.partition("_")[2]: count for name, count in after.items()}
    ours |= {name.removeprefix("web_search_"): count for name, count in after.items()}
    assert {name: ours[name] for name in before} == before
    assert not [name for name in after if name.startswith("loom_")]
    with psycopg.connect(old_database) as connected:
        schemas = connected.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'heddle_before'")
        assert schemas.fetchone() is None
    assert list((tmp_path / "backups").iterdir())
    verified = run(tmp_path, "manage.py", "verify", database=old_database)
    assert " 0 broken" in verified and "1 broken" not in verified

    def say(line: str) -> str:
        return run(tmp_path, "manage.py", "loom", line, database=old_database)

    assert "[" in say('→ find "third answer"')
    # What was pruned stays hidden, with what is below it.
    assert "0 hits" in say('→ find "below a pruned"')
    assert "h7s9" not in (tree := say("→ tree")) and "q9m9" not in tree
    assert "✓" in say('→ respond here "Still growing."')
