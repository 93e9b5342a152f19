"""Who may write next in an SQLite file: first come, first served.

SQLite lets writers try again after pauses that grow, so under load the one who has waited
longest has the worst chance. Here threads of a process wait in line; the first of each line
takes two locks on files beside the database, which the kernel drops when a process dies. It
waits for the second, `-writer`, while it holds the first, `-next`: so no process that has just
written goes past one that waits.
"""

import fcntl
import os
import threading
import time
from collections import deque
from functools import cache

SHORTEST_S, LONGEST_S = 0.0002, 0.002  # pauses between looks at what other processes hold


class Queue:
    """The line of this process before one database."""

    def __init__(self, path: str) -> None:
        self._next = os.open(f"{path}-next", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._writer = os.open(f"{path}-writer", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._guard = threading.Lock()
        self._line: deque[threading.Event] = deque()

    def enter(self, seconds: float) -> bool:
        """Waits for its turn to write, at most so long; False where it did not come. Who has
        entered must leave."""
        until = time.monotonic() + seconds
        place = threading.Event()
        with self._guard:
            self._line.append(place)
            if self._line[0] is place:
                place.set()
        if place.wait(seconds) and self._lock_files(until):
            return True
        self._step_out(place)
        return False

    def leave(self) -> None:
        """Lets the next one write."""
        fcntl.flock(self._writer, fcntl.LOCK_UN)
        self._step_out(self._line[0])

    def _step_out(self, place: threading.Event) -> None:
        with self._guard:
            self._line.remove(place)
            if self._line:
                self._line[0].set()

    def _lock_files(self, until: float) -> bool:
        if not _locked(self._next, until):
            return False
        try:
            return _locked(self._writer, until)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)


def _locked(file: int, until: float) -> bool:
    pause_s = SHORTEST_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
        else:
            return True
        time.sleep(pause_s)
        pause_s = min(LONGEST_S, pause_s * 2)


@cache
def queue_of(path: str) -> Queue:
    """The queue before the database in a file."""
    return Queue(path)
