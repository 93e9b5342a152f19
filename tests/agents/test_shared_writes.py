"""Writes of running calls that are made together, and what one of them does to the others."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from django.db import DatabaseError, OperationalError

from agents.shared_writes import SharedWrite
from loom.turns import generation_lifecycle
from loom.turns.generation_lifecycle import Grown
from loom.turns.models import Generation
from tests.agents.conftest import Say, again
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db


class Lots:
    """Writes numbers, a lot at a time, and remembers the lots. Waits for `go` in the first."""

    def __init__(self, error: type[DatabaseError] = DatabaseError) -> None:
        self.lots: list[list[int]] = []
        self.go, self._begun = threading.Event(), threading.Event()
        self._error = error

    def write(self, numbers: Sequence[int]) -> list[int]:
        self.lots.append(list(numbers))
        self._begun.set()
        if len(self.lots) == 1:
            assert self.go.wait(PATIENCE_S)
        if 13 in numbers:
            raise self._error("not this one")
        return [10 * number for number in numbers]

    async def all_of(self, *numbers: int, cancelled: int = 0) -> list[int | BaseException]:
        """Asks for all of them while the first is being written."""
        shared = SharedWrite(self.write, most=3)
        tasks = [asyncio.create_task(shared(number)) for number in numbers]
        assert await asyncio.to_thread(self._begun.wait, PATIENCE_S)
        for number, task in zip(numbers, tasks, strict=True):
            if number == cancelled:
                task.cancel()
        await asyncio.sleep(0)
        self.go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)


async def test_what_comes_during_a_write_is_written_together_and_in_order() -> None:
    lots = Lots()
    assert await lots.all_of(1, 2, 3, 4, 5) == [10, 20, 30, 40, 50]
    assert lots.lots in ([[1], [2, 3, 4], [5]], [[1, 2, 3], [4, 5]])


async def test_one_that_is_refused_does_not_keep_the_others_from_being_written() -> None:
    lots = Lots()
    one, thirteen, three, four, five = await lots.all_of(1, 13, 3, 4, 5)
    assert (one, three, four, five) == (10, 30, 40, 50)
    assert isinstance(thirteen, DatabaseError)


async def test_a_busy_database_is_not_asked_for_each() -> None:
    lots = Lots(OperationalError)
    results = await lots.all_of(1, 13, 3, 4, 5)
    assert sum(isinstance(result, OperationalError) for result in results) > 1
    assert len(lots.lots) < 5


async def test_who_no_longer_waits_is_left_out() -> None:
    lots = Lots()
    results = await lots.all_of(1, 2, 3, 4, 5, cancelled=5)
    assert results[:4] == [10, 20, 30, 40]
    assert not any(5 in lot for lot in lots.lots)


def test_the_texts_of_several_are_stored_at_once_each_under_its_lease(ask: Say) -> None:
    rows = ask("continue n:4")
    for row in rows[:3]:
        generation_lifecycle.take(row.uid, lease="mine", seconds=60)
    Generation.objects.filter(pk=rows[1].pk).update(stop_asked=True)
    Generation.objects.filter(pk=rows[2].pk).update(lease="another's")
    grown = [Grown(row.uid, "mine", f"text {place}", 3) for place, row in enumerate(rows)]
    answers = generation_lifecycle.progress([*grown, Grown("gone", "mine", "", 1)], seconds=60)
    assert answers == ["go", "stop", "lost", "lost", "lost"]
    assert [(again(row).text, again(row).chunk) for row in rows] == [
        ("text 0", 3),
        ("text 1", 3),
        ("", 0),
        ("", 0),
    ]
