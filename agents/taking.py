"""Taking generations from the queue under a lease, and what becomes of those a worker lost."""

from dataclasses import dataclass
from typing import Any

from agents.providers.failures import Broken
from agents.reading import Order, order_of
from loom.commands import landing
from loom.models import Generation
from loom.models.base import new_uid
from loom.rules.refusals import Refused

LEASE_S = 12
MAX_TRIES = 3
LOST = "interrupted:worker lost"


@dataclass(frozen=True)
class Held:
    """Generations that this worker runs by one call, under one lease."""

    lease: str
    generations: tuple[Generation, ...]
    order: Order


def take(uid: str) -> list[Held]:
    """The generation and the other candidates of its line, by calls, and what to ask; none
    where it is held or has ended, or cannot be run: then it has been landed with the reason.

    They come as tasks of their own at one moment; the first takes all, so that the path is
    read once.
    """
    lease = new_uid()
    taken = landing.take_together(uid, lease=lease, seconds=LEASE_S)
    going = [one for one in taken if not _was_lost(one, lease)]
    if not going:
        return []
    try:
        order = order_of(going[0])
    except Refused as refused:
        error = refused.body
    except Broken as broken:
        error = broken.failure.error
    else:
        return _by_calls(lease, going, order)
    for one in going:
        end(one, lease, error=error)
    return []


def _by_calls(lease: str, going: list[Generation], order: Order) -> list[Held]:
    """One call for all where the provider shares them out, else a call for each."""
    if order.provider.shares and len(going) > 1:
        return [Held(lease, tuple(going), order.shared(len(going)))]
    return [Held(lease, (one,), order) for one in going]


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
