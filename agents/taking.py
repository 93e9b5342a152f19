"""Taking generations from the queue under a lease, and what becomes of those a worker lost."""

import threading
from dataclasses import dataclass
from typing import Any

from agents.providers.failures import Broken
from agents.reading import Order, order_of, whom
from loom.commands import landing
from loom.models import Generation
from loom.models.base import new_uid
from loom.rules.refusals import Refused

LEASE_S = 12
MAX_TRIES = 3
LOST = "interrupted:worker lost"

# Candidates of one line come as tasks of their own at one moment; the first of them takes
# all that may share a call.
_taking = threading.Lock()


@dataclass(frozen=True)
class Held:
    """Generations that this worker runs by one call, under one lease."""

    lease: str
    generations: tuple[Generation, ...]
    order: Order


def take(uid: str) -> Held | None:
    """The generation, with those it shares its call with, and what to ask; None where it is
    held, has ended, or cannot be run: then it has been landed with the reason."""
    lease = new_uid()
    with _taking:
        taken = landing.take(uid, lease=lease, seconds=LEASE_S)
        if taken is None:
            return None
        if _was_lost(taken, lease):
            return None
        try:
            mates = _mates(taken, lease) if whom(taken.participant)[0].shares else []
        except Broken as broken:
            end(taken, lease, error=broken.failure.error)
            return None
    return _with_order(lease, (taken, *mates))


def _was_lost(taken: Generation, lease: str) -> bool:
    """Ends a generation whose worker went away in the middle of its text, or three times."""
    if taken.text:
        end(taken, lease, finish=LOST)
    elif taken.tries > MAX_TRIES:
        said = "The worker was lost each time this was tried."
        refused = Refused("UNAVAILABLE", said, hint="Try again.")
        end(taken, lease, finish=LOST, error=refused.body)
    else:
        return False
    return True


def _mates(taken: Generation, lease: str) -> list[Generation]:
    """The other candidates of the same line that nobody has begun, taken too."""
    waiting = Generation.objects.filter(
        batch=taken.batch,
        participant=taken.participant,
        point=taken.point,
        tokens=taken.tokens,
        temperature=taken.temperature,
        status="queued",
        stop_asked=False,
    )
    found = [
        landing.take(uid, lease=lease, seconds=LEASE_S)
        for uid in waiting.order_by("index").values_list("uid", flat=True)
    ]
    return [one for one in found if one is not None]


def _with_order(lease: str, taken: tuple[Generation, ...]) -> Held | None:
    try:
        return Held(lease, taken, order_of(taken[0], many=len(taken)))
    except Refused as refused:
        error = refused.body
    except Broken as broken:
        error = broken.failure.error
    for one in taken:
        end(one, lease, error=error)
    return None


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
    landing.land(
        generation.uid,
        lease=lease,
        text=generation.text,
        chunk=generation.chunk,
        finish=finish or f"interrupted:{reason}",
        error=error,
    )
