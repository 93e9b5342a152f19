"""Which leases prove that a worker is gone, and which only that everybody stood still.

A worker extends the leases of what it runs at least once a second. A database that takes no
writes, or a machine that stands still, lets them all run out although every worker is alive.
So a lease that has run out counts only where

* no run of this process holds it, and
* this process could write for a whole lease before: whoever was alive has had the time to
  extend it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import transaction

from loom.models import Generation

LEASE_S = 12
EVERY_S = 3  # how often the sweeper looks
STALL_S = 2.0  # a write that waits longer, or a pause so much longer, is a stall


class Watch:
    """Whether writes have gone through, as one who tries every few seconds saw it. Until
    somebody tries, every lease that has run out counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._ended: float | None = None
        self._stalled = float("-inf")

    def look(self, write: Callable[[], object]) -> None:
        """Tries a write and notes whether it, or the time since the last one, was long.
        Raises what `write` raises."""
        self._began = began = self._clock()
        is_late = self._ended is not None and began - self._ended > EVERY_S + STALL_S
        failed = True
        try:
            write()
            failed = False
        finally:
            self._ended, self._began = self._clock(), None
            if failed or is_late or self._ended - began > STALL_S:
                self._stalled = self._ended

    @property
    def is_clear(self) -> bool:
        """Whether whoever is alive could have extended its leases."""
        now = self._clock()
        if self._began is not None:
            if now - self._began > STALL_S:
                return False
        elif self._ended is not None and now - self._ended > EVERY_S + STALL_S:
            return False
        return now - self._stalled > LEASE_S


watch = Watch()
_held: Counter[str] = Counter()


@contextmanager
def held(lease: str) -> Iterator[None]:
    """Says that a run of this process is alive under the lease."""
    _held[lease] += 1
    try:
        yield
    finally:
        _held[lease] -= 1
        if not _held[lease]:
            del _held[lease]


def proves_loss(lease: str) -> bool:
    """Whether a lease that has run out says that its worker is gone."""
    return lease not in _held and watch.is_clear


def try_to_write() -> None:
    """Takes and gives back what every write needs; changes nothing."""
    with transaction.atomic():
        Generation.objects.filter(pk=-1).update(chunk=0)
