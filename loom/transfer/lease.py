"""Whose an import is: taken with a lease that is its own key, kept by a beat, lost, stopped."""

import time
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from loom.models import Import

LEASE = timedelta(seconds=30)
TRIES = 3
_EVERY_S = 1.0


class Stopped(Exception):
    """Somebody asked for the import to stop."""


class Lost(Exception):
    """Another worker has taken the import over."""


def take(uid: str) -> Import | None:
    """The import, now running; None where somebody else has it or it has ended."""
    now = timezone.now()
    free = Q(status="queued") | Q(status="running", leased_until__lt=now)
    until = now + LEASE
    if not Import.objects.filter(free, uid=uid).update(
        status="running", leased_until=until, done=0
    ):
        return None
    return Import.objects.select_related("grove", "participant__user", "tree").get(uid=uid)


class Beat:
    """Keeps the lease and tells how far the work is, in bytes of the file: reading it is a
    quarter, writing the tree the rest. Raises Stopped or Lost."""

    def __init__(self, row: Import) -> None:
        self._row = row
        # The last two ends of the lease: the newer may have gone with a transaction.
        self._until = [row.leased_until]
        self._next = 0.0
        self._done = 0

    def read(self, at: int) -> None:
        """So much of the file was read; tells it once a second."""
        self._done = max(self._done, at // 4)
        if time.monotonic() >= self._next:
            self.keep()

    def written(self, nodes: int, of: int) -> None:
        """So many nodes are written, or will be with the transaction in which this is said."""
        quarter = self._row.total // 4
        self._done = quarter + (self._row.total - quarter) * nodes // max(of, 1)
        self.keep()

    def keep(self) -> None:
        """Extends the lease, if it still is this worker's: its end is what it is known by."""
        until = timezone.now() + LEASE
        if not self._own().update(leased_until=until, done=min(self._done, self._row.total)):
            raise Lost
        self._until = [until, self._until[0]]
        self._next = time.monotonic() + _EVERY_S
        if Import.objects.filter(pk=self._row.pk, stop_asked=True).exists():
            raise Stopped

    def let_go(self) -> bool:
        """Whether the import still was this worker's; nobody else may take it any more."""
        return bool(self._own().update(leased_until=None))

    def _own(self) -> "QuerySet[Import]":
        rows = Import.objects.filter(pk=self._row.pk, status="running")
        return rows.filter(leased_until__in=self._until)
