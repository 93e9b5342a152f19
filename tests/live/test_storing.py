"""What is typed while the database fails: nobody is sent it, those who type are shown it, nothing
typed is lost, and neither the retries nor the shutdown go on for ever."""

import logging
from typing import Any

import pytest
from django.db import OperationalError

from loom.documents import log as document_log
from loom.documents import room as live_rooms
from loom.documents.models import Document
from loom.documents.room import rooms
from loom.errors import not_found
from loom.people.models import User
from tests.live.test_rooms import Join, _document, _join, until

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["_document", "_join"]


class Failing:
    """Storing what was typed, which fails while `is_broken`."""

    def __init__(self) -> None:
        self.is_broken, self.tries = True, 0
        self._real = document_log.append_typed

    def __call__(self, *args: Any, **kwargs: Any) -> int:
        self.tries += 1
        if self.is_broken:
            raise OperationalError("the disk is away")
        return self._real(*args, **kwargs)


@pytest.fixture(name="failing")
def _failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    failing = Failing()
    monkeypatch.setattr(document_log, "append_typed", failing)
    monkeypatch.setattr(live_rooms, "LATE_S", 0.01)
    monkeypatch.setattr(live_rooms, "RETRY_S", 0.01)
    monkeypatch.setattr(live_rooms, "SLOWEST_RETRY_S", 0.02)
    return failing


async def test_those_who_type_are_told_until_it_is_stored(
    join: Join, owner: User, writer: User, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_rooms, "TRIES", 10_000)
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ada.text) == str(ben.text) == "The → tower.")
    await ada.type(0, "So. ")
    await until(lambda: failing.tries > 3 and ada.told[-1:] == [0])
    assert (str(ben.text), ben.told) == ("The → tower.", [])
    failing.is_broken = False
    await until(lambda: ada.told[-1:] == [1] and str(ben.text) == "So. The → tower.")
    assert ben.told == []


async def test_after_some_tries_the_room_gives_up_and_the_browsers_bring_it_back(
    join: Join,
    owner: User,
    writer: User,
    document: Document,
    failing: Failing,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(live_rooms, "TRIES", 3)
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ada.text) == str(ben.text) == "The → tower.")
    with caplog.at_level(logging.ERROR, "heddle.rooms"):
        await ada.type(0, "So. ")
        await until(lambda: ada.code == ben.code == 1013)
    assert failing.tries == 3
    assert "not stored" in caplog.text and "Owner" in caplog.text
    failing.is_broken = False
    await ben.open()
    await until(lambda: ben.asked == 2)
    assert str(ben.text) == "The → tower."
    await ada.open()
    await until(lambda: str(ben.text) == "So. The → tower.")


async def test_a_document_that_is_gone_is_not_stored_again_and_again(
    join: Join, owner: User, document: Document, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_args: Any) -> int:
        failing.tries += 1
        raise not_found("This document")

    monkeypatch.setattr(document_log, "append_typed", gone)
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "So. ")
    await until(lambda: ada.code == 1013)
    assert failing.tries == 1


async def test_the_end_of_the_process_does_not_wait_for_a_database_that_fails(
    join: Join,
    owner: User,
    failing: Failing,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(live_rooms, "TRIES", 10_000)
    monkeypatch.setattr(live_rooms, "CLOSE_S", 0.05)
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "So. ")
    await until(lambda: failing.tries > 1)
    with caplog.at_level(logging.ERROR, "heddle.rooms"):
        await rooms().close()
    assert "not stored" in caplog.text
    await until(lambda: ada.code == 1012)
    failing.is_broken = False
    await ada.open()
    room = await _only_room()
    await until(lambda: room.shared.text == "So. The → tower.")


async def _only_room() -> Any:
    await until(lambda: rooms()._rooms)
    return next(iter(rooms()._rooms.values()))


async def test_who_joins_meanwhile_gets_only_what_is_stored(
    join: Join, owner: User, writer: User, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_rooms, "TRIES", 10_000)
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "So. ")
    await until(lambda: failing.tries > 1)
    ben = await join(writer)
    await until(lambda: str(ben.text) == "The → tower.")
    await ben.type(len(b"The "), "old ")
    await until(lambda: 0 in ben.told)
    failing.is_broken = False
    await until(lambda: str(ada.text) == str(ben.text) == "So. The old → tower.")
