"""A backup of SQLite is restored into PostgreSQL with every row; a misfit changes nothing."""

import gzip
import json
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loom.management.moving import _fingerprint
from tests.queries.installations import own_database, rows_on_server, run
from tests.queries.test_takeover import STORED

pytestmark = pytest.mark.postgres
DERIVED = ("sqlite_", "trees_node_fts", "django_migrations", "django_content", "auth_permission")


@pytest.fixture(scope="module")
def backup_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of an installation on SQLite, whose tables have rows."""
    folder = tmp_path_factory.mktemp("sqlite")
    with gzip.open(STORED) as stored, (folder / "heddle.sqlite3").open("wb") as file:
        shutil.copyfileobj(stored, file)
    run(folder, "-m", "config.prepare")
    run(folder, "manage.py", "loom", '→ respond here "Written on SQLite → é🙂."')
    run(folder, "manage.py", "backup", str(folder / "one.backup"))
    return folder / "one.backup"


@pytest.fixture
def server() -> Iterator[str]:
    """The URL of an empty database of its own."""
    with own_database("heddle_moved") as url:
        yield url


def _rows_in_file(file: Path) -> dict[str, int]:
    with closing(sqlite3.connect(file)) as database:
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith(DERIVED)
        ]
        return {
            name: database.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in names
        }


def _rows_on_server(url: str, names: list[str]) -> dict[str, int]:
    counts = rows_on_server(url)
    return {name: counts[name] for name in names}


def test_every_row_arrives_and_can_be_written_below(
    backup_file: Path, server: str, tmp_path: Path
) -> None:
    expected = _rows_in_file(backup_file.parent / "heddle.sqlite3")
    assert expected["trees_node"] > 10
    assert expected["documents_revision"] and expected["engine_step"]
    output = run(tmp_path, "manage.py", "restore", str(backup_file), database=server)
    assert "moved from SQLite to PostgreSQL" in output
    assert _rows_on_server(server, list(expected)) == expected
    secret = (tmp_path / "secret").read_text()
    assert secret == (backup_file.parent / "secret").read_text()
    verified = run(tmp_path, "manage.py", "verify", database=server)
    assert " 0 broken" in verified and "1 broken" not in verified

    def say(line: str) -> str:
        return run(tmp_path, "manage.py", "loom", line, database=server)

    assert "[" in say('→ find "Written on SQLite"')
    # What was pruned stays hidden, and new rows get ids that are free.
    assert "0 hits" in say('→ find "below a pruned"')
    assert "✓" in say('→ respond here "Still growing."')
    # A second time: what was there is kept, and replaced.
    again = run(tmp_path, "manage.py", "restore", str(backup_file), database=server)
    assert "What there is now is kept in" in again
    assert _rows_on_server(server, list(expected)) == expected


def test_a_backup_of_an_earlier_version_changes_nothing(
    backup_file: Path, server: str, tmp_path: Path
) -> None:
    run(tmp_path, "-m", "config.prepare", database=server)
    before = _rows_on_server(server, ["people_user", "trees_tree", "trees_node"])
    older = tmp_path / "older.backup"
    with tarfile.open(backup_file) as old, tarfile.open(older, "w") as new:
        for member in old.getmembers():
            content = old.extractfile(member)
            assert content is not None
            if member.name == "heddle.json":
                about = json.loads(content.read())
                missing = about["migrations"].pop()
                (tmp_path / "about").write_text(json.dumps(about))
                new.add(tmp_path / "about", member.name)
            else:
                new.addfile(member, content)
    refused = run(tmp_path, "manage.py", "restore", str(older), database=server, fails=True)
    assert "earlier version" in refused and missing in refused
    assert _rows_on_server(server, list(before)) == before


@pytest.mark.parametrize(
    ("row", "other", "same"),
    [
        ((1, "a"), (1, "a"), True),
        ((1, "a"), (1, "b"), False),
        ((None,), ("None",), False),
        (({"a": 1e20, "b": [1]},), ({"b": [1.0], "a": 10**20},), True),
        (({"a": "1"},), ({"a": 1},), False),
        ((b"\0x",), (memoryview(b"\0x"),), True),
    ],
)
def test_rows_are_the_same_by_what_they_hold(row: Any, other: Any, same: bool) -> None:
    assert (_fingerprint([row]) == _fingerprint([other])) is same
    more = (2, "z")
    assert _fingerprint([row, more]) == _fingerprint([more, row]) != _fingerprint([row, more, more])
