"""Writers of an SQLite database take turns, threads and processes alike."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction

from loom.people.models import User
from loom.platform.sqlite3 import base
from loom.platform.sqlite3.base import Queue
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.sqlite]


def test_threads_enter_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    queue = Queue(str(tmp_path / "db"))
    order: list[int] = []
    assert queue.enter(600)

    def write(number: int) -> None:
        assert queue.enter(600)
        order.append(number)
        queue.leave()

    threads = []
    for number in range(20):
        threads.append(threading.Thread(target=write, args=(number,)))
        threads[-1].start()
        while len(queue._line) < number + 2:
            pass
    queue.leave()
    for thread in threads:
        thread.join()
    assert order == list(range(20))


def _number_in(file: Path) -> int:
    """What the file holds, once it is written."""
    while not (text := file.read_text()):
        pass
    return int(text)


HOG = """
import sys, time
from loom.platform.sqlite3.base import Queue
queue, turns = Queue(sys.argv[1]), 0
while True:
    assert queue.enter(600)
    turns += 1
    open(sys.argv[2], "w").write(str(turns))
    time.sleep(0.002)
    queue.leave()
"""


def test_a_process_that_writes_without_end_lets_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds the place of the next one enters after the turn that goes on, whatever the time
    between."""
    path, count = str(tmp_path / "db"), tmp_path / "count"
    locked = base._locked
    root = Path(__file__).parents[2]
    hog = subprocess.Popen([sys.executable, "-c", HOG, path, str(count)], cwd=root)
    try:
        while not (count.exists() and count.read_text()):
            assert hog.poll() is None
        queue, turns = Queue(path), []

        def noted(file: int, until: float) -> bool:
            is_locked = locked(file, until)
            turns.append(_number_in(count))
            return is_locked

        monkeypatch.setattr(base, "_locked", noted)
        for _ in range(20):
            assert queue.enter(PATIENCE_S)
            queue.leave()
        assert len(turns) == 40
        for next_one, writer in zip(turns[::2], turns[1::2], strict=True):
            assert writer - next_one <= 1
    finally:
        hog.kill()
        hog.wait()
    monkeypatch.undo()
    # What a process held that died is free.
    assert queue.enter(600)


def test_who_gives_up_leaves_the_line(tmp_path: Path) -> None:
    queue = Queue(str(tmp_path / "db"))
    assert queue.enter(PATIENCE_S)
    late = threading.Thread(target=lambda: queue.enter(0.05))
    late.start()
    late.join()
    queue.leave()
    assert queue.enter(PATIENCE_S)
    assert len(queue._line) == 1
    other = Queue(str(tmp_path / "db"))
    assert not other.enter(0.05)
    assert not other._line


def _entered() -> object:
    return connection._entered  # type: ignore[attr-defined]


@pytest.mark.django_db(transaction=True)
def test_a_transaction_and_a_single_statement_enter_and_leave() -> None:
    assert _entered() is None
    with transaction.atomic():
        assert _entered() is not None
        with transaction.atomic():
            User.objects.update(username="x")
        assert _entered() is not None
    assert _entered() is None
    with pytest.raises(ValueError), transaction.atomic():
        raise ValueError
    assert _entered() is None
    User.objects.create(username="y")
    assert _entered() is None
    with transaction.atomic():
        connection.close()
        assert _entered() is None


@pytest.mark.django_db(transaction=True)
def test_a_writer_waits_for_another_and_says_when_it_was_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    User.objects.create(username="x")
    heard: list[object] = []

    def write(name: str) -> None:
        try:
            heard.append(User.objects.update(username=name))
        except OperationalError as error:
            heard.append(str(error))
        finally:
            connection.close()

    queue = connection.settings_dict["OPTIONS"]
    with transaction.atomic():
        User.objects.update(username="first")
        patient = threading.Thread(target=write, args=("second",))
        patient.start()
        while not heard and patient.is_alive() and _line() < 2:
            pass
        assert heard == []
    patient.join()
    assert (heard, User.objects.get().username) == ([1], "second")
    monkeypatch.setitem(queue, "timeout", 0.05)
    with transaction.atomic():
        hurried = threading.Thread(target=write, args=("third",))
        hurried.start()
        hurried.join()
    assert heard[1:] == ["database is locked"]


def _line() -> int:
    return len(connection._entered._line)  # type: ignore[attr-defined]
