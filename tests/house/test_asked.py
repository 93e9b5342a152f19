"""What tests ask a database is noted, and as few as ask all of it are run on another one."""

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.backends.signals import connection_created

from loom.people.models import Grove
from tests.asked import Asked, _Notes, enough, read, refused, statement


def test_a_statement_is_the_same_with_other_values_and_as_many() -> None:
    for like, other in (
        ("SELECT a FROM t WHERE id = %s", "SELECT a FROM t WHERE id = 17"),
        ("SELECT a FROM t WHERE id IN (%s)", "SELECT a FROM t WHERE id IN (1, 2, 3)"),
        ("SELECT a FROM t WHERE b = 'it''s'", "SELECT a FROM t WHERE b = %s"),
        ("INSERT INTO t VALUES (%s, %s)", "INSERT INTO t VALUES (%s, %s), (%s, %s)"),
    ):
        assert statement(like) == statement(other) != 0
    assert statement("SELECT a FROM t") != statement("SELECT b FROM t")
    assert statement('SAVEPOINT "s1_x2"') == 0
    assert statement("SELECT a FROM t") % 2 == 0
    for written in ("INSERT INTO t VALUES (%s)", "UPDATE t SET a = %s", "DELETE FROM t"):
        assert statement(written) % 2 == 1
    assert refused(statement("SELECT a FROM t"), IntegrityError()) % 2 == 1


def test_the_cheapest_ask_what_writes_twice_and_what_reads_once() -> None:
    tests = {
        "dear": Asked({1, 3, 5}, 90.0),
        "cheap": Asked({1, 3}, 1.0),
        "cheap too": Asked({3, 1}, 1.0),
        "idle": Asked(set(), 0.1),
        "alone": Asked({7}, 50.0),
        "third": Asked({5, 4}, 1.9),
        "other": Asked({5, 2}, 2.0),
        "reads too": Asked({2, 4}, 9.0),
    }
    assert enough(tests) == {"cheap", "cheap too", "alone", "third", "other"}
    # What is run in any case counts.
    assert enough(tests, ["dear", "reads too"]) == {"dear", "reads too", "cheap", "alone", "third"}


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_left_unasked(seed: int) -> None:
    tests = {
        f"{number}": Asked({(number * step + seed) % 17 for step in range(1, 6)}, 1.0 + number % 3)
        for number in range(40)
    }
    chosen = enough(tests)
    for asked in set().union(*(test.statements for test in tests.values())):
        able = {name for name, test in tests.items() if asked in test.statements}
        assert len(able & chosen) >= min(2 if asked % 2 else 1, len(able))
    assert len(chosen) < len(tests)


@pytest.mark.django_db
def test_what_a_test_asks_and_what_is_refused_is_noted(tmp_path: Path) -> None:
    notes = _Notes(tmp_path / "asked")
    item = cast(pytest.Item, SimpleNamespace(nodeid="somewhere::test_it"))
    around: Any = notes.pytest_runtest_protocol(item)
    next(around)
    grove = Grove.objects.create(name="Here")
    asked = str(Grove.objects.filter(name="Here").query)
    assert Grove.objects.filter(name="Here").exists()
    list(Grove.objects.filter(name="Here"))
    with suppress(IntegrityError), transaction.atomic():
        Grove.objects.create(pk=grove.pk, uid=grove.uid, name="Twice")
    with suppress(StopIteration):
        around.send(True)
    connection.execute_wrappers.remove(notes._hear)
    connection_created.disconnect(dispatch_uid="tests.asked")
    noted = read(tmp_path / "asked")
    assert list(noted) == ["somewhere::test_it"]
    statements = noted["somewhere::test_it"].statements
    assert statement(asked.replace("= Here", "= %s")) in statements
    assert 0 not in statements
    assert read(tmp_path / "nowhere") == {}
