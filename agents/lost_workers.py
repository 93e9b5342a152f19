"""Whether a generation was lost with its worker, and how often it is tried again."""

from typing import Any

from agents.leases import end, is_paid_for
from loom.errors import CommandError
from loom.money import spending
from loom.turns.generation_lifecycle import LOST
from loom.turns.models import Generation

# Ending a generation whose worker was lost.


MAX_TRIES = 3


def was_lost(taken: Generation, lease: str) -> bool:
    """Ends a generation whose worker was lost in the middle of its text, or three times, or when
    another attempt would cost too much."""
    error: dict[str, Any] | None = None
    if not taken.text and taken.tries > MAX_TRIES:
        message = "The worker was lost each time this was tried."
        error = CommandError("UNAVAILABLE", message, hint="Try again.").body
    elif not taken.text:
        if taken.tries == 1 or is_paid_for(taken):
            return False
        error = spending.used_up(taken.tree.grove).body
    end(taken, lease, finish=LOST, error=error)
    return True
