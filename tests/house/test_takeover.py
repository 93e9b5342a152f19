"""A database of the build before 0.1.0 is taken over with every row (stored here as a file)."""

import gzip
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT

STORED = Path(__file__).parent / "before-0.1.0.sqlite3.gz"


def _run(folder: Path, *words: str) -> str:
    env = {"HEDDLE_DATA": str(folder), "PATH": "/usr/bin:/bin"}
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
