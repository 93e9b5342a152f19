"""How soon a process is started again: at once if it had been up, later and later if it never
came up."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.supervisor.processes import UP_WAIT_S, WAITS_S, Child, ChildProcesses
from tests.patience import PATIENCE_S


class World:
    """A child that can be made to crash, with a clock that is set."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.is_up = 1_000.0, False
        clock = "config.supervisor.processes.time.monotonic"
        monkeypatch.setattr(clock, lambda: self.now)
        self.children = ChildProcesses(lambda _: None)
        sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]
        self.child = Child("web", sleeps, {}, folder / "web.log", answers=lambda: self.is_up)
        self.children.start(self.child)

    def crashed(self) -> float:
        """Ends the child and starts it again; after how many seconds it was due."""
        assert self.child.process is not None
        self.child.process.kill()
        self.child.process.wait(PATIENCE_S)
        self.children.tend()
        assert self.child.due_at is not None
        wait_s = self.child.due_at - self.now
        self.now = self.child.due_at
        self.children.tend()
        assert self.child.is_running
        return round(wait_s, 6)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    own_world = World(tmp_path, monkeypatch)
    yield own_world
    monkeypatch.undo()
    own_world.children.stop_all()


def test_a_process_that_never_comes_up_is_started_later_and_later(world: World) -> None:
    assert [world.crashed() for _ in range(8)] == [*WAITS_S, WAITS_S[-1], WAITS_S[-1]]


def test_a_process_that_was_up_is_started_again_at_once_however_often(world: World) -> None:
    world.is_up = True
    for _ in range(12):
        world.children.tend()  # it is seen that it is up
        assert world.crashed() == UP_WAIT_S


def test_a_fault_at_the_start_counts_from_the_last_time_it_was_up(world: World) -> None:
    assert [world.crashed() for _ in range(3)] == list(WAITS_S[:3])
    world.is_up = True
    world.children.tend()
    assert world.crashed() == UP_WAIT_S
    world.is_up = False
    assert [world.crashed() for _ in range(2)] == list(WAITS_S[:2])
    assert world.child.crashes == 2  # the start gives up on a process after three of these
