"""The lease under which a worker runs a generation: how it is extended and given up, which workers
are alive, and whether an expired lease means that its worker is gone."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError, InterfaceError, transaction

from agents.providers.transport import persistently
from loom.engine.busy import NOT_REACHED
from loom.money import spending
from loom.turns import generation_lifecycle
from loom.turns.generation_lifecycle import Grown
from loom.turns.models import Generation
from loom.workspace.provider_results import ProviderUse

log = logging.getLogger("heddle.run")
LEASE_S = 12
EVERY_S = 3  # seconds between two runs of the sweeper
STALL_S = 2.0  # seconds; a longer write, or a pause longer by this much, is a stall
held: Counter[str] = Counter()  # leases of this process, with the number of runs of each


class LeaseWatch:
    """Whether writes have succeeded recently, as observed by trying one every few seconds. Until
    the first try, every expired lease counts as lost."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._ended: float | None = None
        self._stalled = float("-inf")

    def look(self, write: Callable[[], object]) -> None:
        """Tries a write and records whether it, or the time since the last one, took long. Raises
        what `write` raises."""
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
        """Whether a live worker could have extended its leases."""
        now = self._clock()
        if self._began is not None:
            if now - self._began > STALL_S:
                return False
        elif self._ended is not None and now - self._ended > EVERY_S + STALL_S:
            return False
        return now - self._stalled > LEASE_S


watch = LeaseWatch()


def proves_loss(lease: str) -> bool:
    """Whether an expired lease means that its worker is gone."""
    return lease not in held and watch.is_clear


def tell_wait(uid: str, lease: str, why: str) -> None:
    """Stores the reason why a generation has no text yet."""
    try:
        generation_lifecycle.set_note(uid, lease=lease, note=why)
    except NOT_REACHED:  # a busy database is no reason to end a generation
        log.warning("could not say why %s waits", uid, exc_info=True)


def keep_alive(grown: Sequence[Grown]) -> Sequence[str]:
    """Writes texts so far and extends their leases: returns "go", "stop" or "lost" for each. If the
    database is busy, the next heartbeat tries again; a lease lasts for several."""
    try:
        return generation_lifecycle.progress(grown, seconds=LEASE_S)
    except (InterfaceError, DatabaseError) as error:
        if len(grown) > 1 and not isinstance(error, NOT_REACHED):
            raise  # one of them cannot be written: each alone
        log.warning("could not write generations: %s", [text.uid for text in grown], exc_info=True)
        return ["go"] * len(grown)


def more_money(uid: str, lease: str, needed: int) -> int | None:
    """The amount that a stream may cost, at least `needed`; None if it must be cut off."""
    return persistently(lambda: spending.more(uid, lease=lease, needed=needed))


def no_money(generation: Generation) -> dict[str, Any]:
    """The error of a stream that is cut off because today's limit is used up."""
    return spending.used_up(generation.tree.grove).body


def put_back(uid: str, lease: str) -> None:
    """Gives the lease up immediately, so that another worker can begin again."""
    persistently(lambda: generation_lifecycle.put_back(uid, lease=lease))


@dataclass(frozen=True)
class Ending:
    """How a generation ended."""

    text: str
    chunk: int
    finish: str
    error: dict[str, Any] | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    wrote: int = 0
    note: str = ""
    uses: Sequence[ProviderUse] = ()


def end(
    generation: Generation,
    lease: str,
    *,
    finish: str = "",
    error: dict[str, Any] | None = None,
) -> None:
    """Ends a generation that is not running (any more), with the text in its row. Without a
    `finish` it is the reason of the error."""
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
    """Counts the call of a lost worker; returns whether the day's money allows another one."""
    with transaction.atomic():
        return spending.lose(taken)
