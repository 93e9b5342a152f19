"""The lease under which a worker runs a generation: how it is extended and given up, who is
alive, and whether one that has run out says that its worker is gone."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from agents.providers.transport import persistently
from loom.commands import generation_lifecycle, money
from loom.models import Generation

log = logging.getLogger("heddle.run")
LEASE_S = 12
EVERY_S = 3  # how often the sweeper looks
STALL_S = 2.0  # a write that waits longer, or a pause so much longer, is a stall
held: Counter[str] = Counter()  # leases of this process, by how many runs have each


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


def proves_loss(lease: str) -> bool:
    """Whether a lease that has run out says that its worker is gone."""
    return lease not in held and watch.is_clear


def tell_wait(uid: str, lease: str, why: str) -> None:
    """Stores with a generation why nothing comes yet."""
    try:
        generation_lifecycle.set_note(uid, lease=lease, note=why)
    except (InterfaceError, OperationalError):  # a busy database is no reason to end a generation
        log.warning("could not say why %s waits", uid, exc_info=True)


def keep_alive(uid: str, lease: str, text: str, chunk: int) -> str:
    """Writes what came and extends the lease: "go", "stop" or "lost". A database that is busy
    is asked again at the next beat; the lease is longer than several."""
    try:
        return generation_lifecycle.progress(
            uid, lease=lease, text=text, chunk=chunk, seconds=LEASE_S
        )
    except (InterfaceError, DatabaseError):
        log.warning("could not write generation %s", uid, exc_info=True)
        return "go"


def more_money(uid: str, lease: str, needed: int) -> int | None:
    """What a stream may cost, at least `needed`; None where it is to be cut."""
    return persistently(lambda: money.more(uid, lease=lease, needed=needed))


def put_back(uid: str, lease: str) -> None:
    """Gives the lease up at once, so that another worker may begin again."""
    persistently(
        lambda: generation_lifecycle.progress(uid, lease=lease, text="", chunk=0, seconds=0)
    )


@dataclass(frozen=True)
class Ending:
    """How a generation ended."""

    text: str
    chunk: int
    finish: str
    error: dict[str, Any] | None = None
    usage: dict[str, int] = field(default_factory=dict)
    wrote: int = 0
    note: str = ""


def end(
    generation: Generation,
    lease: str,
    *,
    finish: str = "",
    error: dict[str, Any] | None = None,
) -> None:
    """Lands a generation that does not run (any more), with the text its row holds. Without
    a `finish` the error's reason is one."""
    reason = (error or {}).get("reason") or str((error or {}).get("code", "error")).lower()
    generation_lifecycle.end_generation(
        generation.uid,
        lease=lease,
        text=generation.text,
        chunk=generation.chunk,
        finish=finish or f"interrupted:{reason}",
        error=error,
    )


def is_paid_for(taken: Generation) -> bool:
    """Counts the call of a lost worker. Whether the day's money is enough to ask again."""
    with transaction.atomic():
        return money.lose(taken)
