"""A worker that lives but answers no ping is ended, and so started again; a slow one is not."""

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import health
from config.supervisor.__main__ import WorkerWatch
from config.supervisor.processes import Child, ChildProcesses
from tests.patience import PATIENCE_S


class World:
    """A real child called worker, what it answers, and a clock that is set."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        self.state = "ok"
        self.children = ChildProcesses(self.said.append)
        sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]
        self.worker = Child("worker", sleeps, {}, folder / "worker.log")
        self.children.start(self.worker)
        self.watch = WorkerWatch(self.children, lambda: self.state)
        self._monkeypatch = monkeypatch
        # Whole seconds: the sum of two other floats may be a hair less than a minute.
        self._began = math.ceil(time.monotonic())

    def look_at(self, seconds: float) -> None:
        """Looks so many seconds after the start."""
        now = self._began + seconds
        self._monkeypatch.setattr("config.supervisor.__main__.time.monotonic", lambda: now)
        self.watch.look()
        self._monkeypatch.undo()

    def lives(self) -> bool:
        """Whether the worker has not been ended."""
        return not self.said and self.worker.is_running


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    own_world = World(tmp_path, monkeypatch)
    yield own_world
    own_world.children.stop_all()


def test_after_a_minute_without_an_answer_it_is_ended(world: World) -> None:
    world.state = "down"
    for seconds in (10, 30, 60):
        world.look_at(seconds)
    assert world.lives()
    world.look_at(70)
    assert world.worker.process is not None
    assert world.worker.process.wait(PATIENCE_S) == -signal.SIGKILL
    assert "answered no ping for 60 s" in world.said[0]
    world.worker.due_at = 0.0
    world.children.tend()
    assert world.worker.is_running


def test_one_answer_in_between_is_enough(world: World) -> None:
    for seconds in range(0, 300, 10):
        world.state = "ok" if seconds % 50 == 0 else "down"
        world.look_at(seconds)
    assert world.lives()


def test_nothing_is_ended_where_nobody_can_say(world: World) -> None:
    world.state = ""
    for seconds in range(0, 300, 10):
        world.look_at(seconds)
    assert world.lives()


class Slow:
    """A worker whose answer comes when it is told to, and a clock that is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.answers = 1_000.0, True
        self.may_answer = threading.Event()
        self.health = health.Worker()
        monkeypatch.setattr(health, "PATIENCE_S", 0.05)
        monkeypatch.setattr("config.health.time.monotonic", lambda: self.now)
        monkeypatch.setattr("config.health.ping_worker", self._ping)

    def _ping(self, **_: object) -> bool:
        assert self.may_answer.wait(PATIENCE_S)
        return self.answers

    def answer(self) -> None:
        """Answers the pings that were sent, after the page has given up."""
        self.may_answer.set()
        for ping in [thread for thread in threading.enumerate() if thread.name == "ping"]:
            ping.join(PATIENCE_S)
        self.may_answer.clear()


def test_a_worker_that_answers_late_is_slow_and_one_that_does_not_is_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = Slow(monkeypatch)
    assert slow.health.state() == "down"  # nothing is known of it yet
    slow.now += 5
    slow.answer()
    assert slow.health.state() == "ok"
    slow.now += 10
    assert slow.health.state() == "slow"
    slow.now += 10
    slow.answer()
    slow.now += health.REMEMBERED_S - 1
    assert slow.health.state() == "slow"
    slow.answers = False
    slow.answer()
    slow.now += 2
    assert slow.health.state() == "down"
    slow.answer()


def test_a_worker_that_is_slow_is_not_ended(world: World) -> None:
    world.state = "slow"
    for seconds in range(0, 300, 10):
        world.look_at(seconds)
    assert world.lives()
