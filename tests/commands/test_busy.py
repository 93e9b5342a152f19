"""A command that finds the database busy is run again, and says so where that does not end."""

import sqlite3

import psycopg
import pytest
from django.db import OperationalError

from loom.access import Actor
from loom.engine import busy, execute, streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.people.commands import groves
from loom.people.models import Grove
from loom.trees.models import Node, Tree

pytestmark = pytest.mark.django_db(transaction=True)


def _fault(cause: Exception) -> OperationalError:
    """The fault of a driver as Django passes it on."""
    error = OperationalError(*cause.args)
    error.__cause__ = cause
    return error


def _of_sqlite(words: str, code: int) -> OperationalError:
    cause = sqlite3.OperationalError(words)
    cause.sqlite_errorcode = code
    return _fault(cause)


LOCKED = _of_sqlite("database is locked", sqlite3.SQLITE_BUSY)
# SQLite says which kind of busy in the higher bytes; PostgreSQL speaks the language of its server.
STALE = _of_sqlite("die Datenbank ist gesperrt", sqlite3.SQLITE_BUSY_SNAPSHOT)
DEADLOCK = _fault(psycopg.errors.DeadlockDetected("Verklemmung entdeckt"))
UNORDERED = _fault(psycopg.errors.SerializationFailure("konnte nicht serialisieren"))


def _busy(monkeypatch: pytest.MonkeyPatch, times: int, error: OperationalError = LOCKED) -> None:
    """Has the next commands find the database busy, so many times, once they have written."""
    done, left = execute.done, [times]

    def late(*given: object) -> object:
        answer = done(*given)  # type: ignore[arg-type]
        if left[0] > 0:
            left[0] -= 1
            raise error
        return answer

    monkeypatch.setattr(execute, "done", late)
    monkeypatch.setattr(busy, "RETRY_S", 0.0)


@pytest.mark.parametrize("error", [LOCKED, STALE, DEADLOCK, UNORDERED], ids=str)
def test_a_busy_database_is_asked_again(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch, error: OperationalError
) -> None:
    _busy(monkeypatch, 3, error)
    answer = execute_line(actor, tree, Request('respond root "Once."', key="k"))
    assert answer.body["ok"] and answer.body["step"] == 1
    assert Node.objects.filter(text="Once.").count() == 1
    assert Step.objects.count() == 1


@pytest.mark.parametrize("error", [LOCKED, DEADLOCK], ids=str)
def test_an_action_is_run_again_too(
    actor: Actor, grove: Grove, monkeypatch: pytest.MonkeyPatch, error: OperationalError
) -> None:
    flush, left = streams.Writer.flush, [2]

    def late(writer: streams.Writer, **how: bool) -> None:
        flush(writer, **how)
        if left[0] > 0:
            left[0] -= 1
            raise error

    monkeypatch.setattr(streams.Writer, "flush", late)
    monkeypatch.setattr(busy, "RETRY_S", 0.0)
    assert groves.change_grove(actor, name="Another").name == "Another"
    grove.refresh_from_db()
    assert left == [0] and grove.name == "Another"
    assert Event.objects.filter(kind="grove.changed").count() == 1


def test_it_is_not_asked_for_ever(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    _busy(monkeypatch, 1_000)
    monkeypatch.setattr(busy, "PATIENCE_S", 0.0)
    with pytest.raises(CommandError) as caught:
        execute_line(actor, tree, Request('respond root "Never."'))
    assert (caught.value.code, caught.value.retryable) == ("UNAVAILABLE", True)
    assert "busy" in caught.value.message
    assert not Node.objects.filter(text="Never.").exists()


@pytest.mark.parametrize(
    "error",
    [_of_sqlite("no such table", sqlite3.SQLITE_ERROR), OperationalError("deadlock detected")],
    ids=str,
)
def test_other_faults_are_not_tried_again(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch, error: OperationalError
) -> None:
    _busy(monkeypatch, 1, error)
    with pytest.raises(OperationalError):
        execute_line(actor, tree, Request('respond root "x"'))
