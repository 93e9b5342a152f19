"""A database that takes no writes for a while, or a machine that stands still, ends nothing."""

import asyncio
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from agents import leases, runs, tasks
from agents.leases import EVERY_S, LEASE_S, STALL_S, LeaseWatch
from agents.providers import transport
from agents.runs import begin_lane
from agents.tasks import sweep
from loom.engine import sweeps
from loom.platform.broker import BrokerAwayError
from loom.turns import generation_lifecycle
from loom.turns.generation_lifecycle import Grown
from loom.turns.models import Generation
from tests.agents.conftest import Running, Say, again
from tests.heartbeats import beat
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, holds


class Clock:
    """A time that goes on when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """The time of the watch, which has seen one write go through."""
    own_clock = Clock()
    monkeypatch.setattr(leases, "watch", LeaseWatch(own_clock))
    leases.watch.look(lambda: None)
    yield own_clock


def _running(generation: Generation) -> Generation:
    """The generation with text, under a lease that has run out."""
    assert generation_lifecycle.take(generation.uid, lease="gone", seconds=60) is not None
    beat(generation.uid, "gone", "Half a s", seconds=-1)
    return again(generation)


def test_a_lease_says_nothing_while_writes_wait(clock: Clock) -> None:
    assert leases.proves_loss("gone")
    leases.watch.look(lambda: clock.passes(30))
    assert not leases.proves_loss("gone")
    for _ in range(LEASE_S // EVERY_S):
        clock.passes(EVERY_S)
        assert not leases.proves_loss("gone")
        leases.watch.look(lambda: None)
    clock.passes(1)
    assert leases.proves_loss("gone")


def test_nor_while_a_write_is_being_tried(clock: Clock) -> None:
    def held() -> None:
        clock.passes(STALL_S + 1)
        assert not leases.proves_loss("gone")

    leases.watch.look(held)


def test_nor_where_writes_fail_or_nobody_could_try(clock: Clock) -> None:
    def fails() -> None:
        raise OperationalError("database is locked")

    with pytest.raises(OperationalError):
        leases.watch.look(fails)
    assert not leases.proves_loss("gone")
    clock.passes(EVERY_S + STALL_S + LEASE_S)
    assert not leases.proves_loss("gone")
    leases.watch.look(lambda: None)
    assert not leases.proves_loss("gone")


@pytest.mark.django_db
def test_after_a_stall_nothing_that_may_be_alive_is_ended(ask: Say, clock: Clock) -> None:
    row = _running(ask()[0])
    leases.watch.look(lambda: clock.passes(30))
    sweep()
    assert begin_lane(row.lane) == []
    assert again(row).status == "running"
    # Its worker comes back and holds it again.
    assert beat(row.uid, "gone", "Half a sent", chunk=2, seconds=9) == "go"


@pytest.mark.django_db
def test_what_this_process_runs_is_not_lost(ask: Say) -> None:
    row = _running(ask()[0])
    with runs.hold("gone"):
        sweep()
        assert begin_lane(row.lane) == []
        assert again(row).status == "running"
    sweep()
    assert again(row).finish == "interrupted:worker lost"


@pytest.mark.django_db
def test_a_call_is_begun_though_the_database_is_busy(
    monkeypatch: pytest.MonkeyPatch, ask: Say
) -> None:
    tries: list[int] = []

    def busy() -> str:
        tries.append(1)
        if len(tries) < 6:
            raise OperationalError("database is locked")
        return "written"

    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    assert transport.persistently(busy) == "written"


@pytest.mark.django_db
def test_a_word_about_a_pause_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*args: object, **named: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(generation_lifecycle, "set_note", busy)
    leases.tell_wait("x", "y", "tried again after 3 s")
    monkeypatch.setattr(generation_lifecycle, "progress", busy)
    assert leases.keep_alive([Grown("x", "y", "text", 1)]) == ["go"]


HELD_S = float(os.environ.get("HEDDLE_TEST_STALL_S", "4"))


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_held_ends_no_running_generation(
    ask: Say, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CallGroup by a stranger for several leases, while the sweeper looks and a text grows."""
    if HELD_S < 30:
        monkeypatch.setattr(leases, "LEASE_S", 1)
        monkeypatch.setattr(leases, "STALL_S", 0.5)
        monkeypatch.setattr(tasks, "EVERY_S", 0.5)
    provider.script(holds("It was ", HOLD, "night."))
    row = ask()[0]
    running = Running(row)
    sweeping = tasks.Sweeper()
    sweeping.start()
    while not again(row).shown:
        time.sleep(0.05)
    name = connection.settings_dict["NAME"]
    stranger = sqlite3.connect(name, isolation_level=None, timeout=PATIENCE_S)
    stranger.execute("BEGIN IMMEDIATE")
    time.sleep(HELD_S)
    until = again(row).leased_until
    assert until is not None and until < timezone.now()
    stranger.execute("ROLLBACK")
    stranger.close()
    sweep()  # the sweeper of another moment, as soon as writes go through
    assert begin_lane(row.lane) == []
    assert again(row).status == "running"
    provider.release()
    ended = running.ended()
    sweeping.stopping.set()
    sweeping.join()
    assert (ended.finish, ended.shown) == ("complete", "It was night.")


class OneLane:
    """A broker of which one answer breaks off as no library says; the next names a lane, and
    then there is none."""

    def __init__(self) -> None:
        self.asked = 0

    async def blpop(self, names: list[str], **_: float) -> tuple[str, str] | None:
        self.asked += 1
        await asyncio.sleep(0)
        if self.asked == 1:
            raise RuntimeError("unable to perform operation; the handler is closed")
        return (names[0], "lane") if self.asked == 2 else None


def test_no_error_ends_the_wait_for_what_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing that is asked would begin until somebody starts the worker again."""
    begun: list[str] = []

    async def begin(lane: str) -> None:
        begun.append(lane)

    broker = OneLane()
    monkeypatch.setattr(tasks, "AGAIN_S", 0)
    monkeypatch.setattr("agents.tasks.Redis.from_url", lambda *_, **__: broker)
    monkeypatch.setattr(runs, "begin", begin)
    monkeypatch.setattr(runs, "ending", begun)  # the worker ends with the first lane
    asyncio.run(tasks._receive())
    assert begun == ["lane"]


@pytest.mark.django_db(transaction=True)
def test_no_error_ends_the_sweeper(monkeypatch: pytest.MonkeyPatch) -> None:
    swept = threading.Semaphore(0)

    def sweep() -> int:
        swept.release()
        raise KeyError("a fault that nobody thought of")

    monkeypatch.setattr(tasks, "EVERY_S", 0.01)
    monkeypatch.setattr(tasks, "sweep", sweep)
    sweeper = tasks.Sweeper()
    sweeper.start()
    assert all(swept.acquire(timeout=60) for _ in range(3))
    sweeper.stopping.set()
    sweeper.join()


@pytest.mark.django_db(transaction=True)
def test_a_round_without_the_broker_is_one_line_of_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sweeper = tasks.Sweeper()

    def refuse() -> int:
        raise BrokerAwayError("the broker did not answer a moment ago")

    monkeypatch.setattr(tasks, "sweep", refuse)
    monkeypatch.setattr(sweeps, "every", lambda: (refuse, refuse))
    sweeper.stopping.set()  # after one round
    sweeper.run()
    lines = [line for line in caplog.records if line.name == "heddle.sweeper"]
    (line,) = lines
    assert re.fullmatch(
        r"could not sweep, in 3 parts of a round \(\S+refuse(, \S+refuse){2}\): "
        "the broker did not answer a moment ago",
        line.getMessage(),
    )
    assert line.exc_info is None


@pytest.mark.django_db(transaction=True)
def test_a_fault_of_a_part_is_found_in_the_log_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sweeper = tasks.Sweeper()

    def faulty() -> int:
        raise OperationalError("no such table: trees_nothing")

    monkeypatch.setattr(tasks, "sweep", faulty)
    monkeypatch.setattr(sweeps, "every", lambda: ())
    sweeper.stopping.set()
    sweeper.run()
    sweeper.run()
    lines = [line for line in caplog.records if line.name == "heddle.sweeper"]
    traced = [line for line in lines if line.exc_info]
    assert len(traced) == 1 and len(lines) == 3
    assert all("faulty" in line.getMessage() for line in lines if line not in traced)
