"""What was forgotten: generations whose worker is gone, and those the broker never handed on."""

import logging
import threading
import time
from datetime import timedelta

from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from agents.taking import take
from loom.log import jobs
from loom.models import Generation
from loom.transfer import importing

log = logging.getLogger("heddle.sweeper")

EVERY_S = 3
FORGOTTEN_S = 10  # a generation that is still queued after this long is sent again

# When each queued generation may be sent again: the wait doubles, so that a long queue is not
# made longer by being swept.
_again: dict[str, tuple[float, float]] = {}


def sweep() -> int:
    """Sends forgotten generations again, and ends those whose worker went away in the middle
    of their text. Returns how many it found. Safe to run anywhere, at any time."""
    now = timezone.now()
    lost = Generation.objects.filter(status="running", leased_until__lt=now)
    found = 0
    for uid, text in lost.values_list("uid", "text"):
        found += 1
        if text:
            take(uid)  # lands it: it has text that no worker goes on with
        else:
            _send(uid)
    waiting = Generation.objects.filter(
        status="queued", created_at__lt=now - timedelta(seconds=FORGOTTEN_S)
    )
    uids = set(waiting.values_list("uid", flat=True))
    for uid in uids:
        found += _is_due(uid)
    for gone in _again.keys() - uids:
        del _again[gone]
    return found


def _is_due(uid: str) -> bool:
    """Sends a queued generation, if its wait is over."""
    now = time.monotonic()
    at, wait = _again.get(uid, (now, float(FORGOTTEN_S)))
    if now < at:
        return False
    _again[uid] = (now + wait, wait * 2)
    _send(uid)
    return True


def _send(uid: str) -> None:
    jobs.enqueue("agents.tasks.run_generation", [uid], queue="continue")


class Sweeper(threading.Thread):
    """Sweeps every few seconds until told to stop; survives a database or broker that is down."""

    def __init__(self) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stopping = threading.Event()

    def run(self) -> None:
        """Sweeps at once, then every EVERY_S seconds."""
        while True:
            close_old_connections()
            try:
                sweep()
                importing.sweep()
            except DatabaseError:
                log.warning("could not sweep", exc_info=True)
            finally:
                close_old_connections()
            if self.stopping.wait(EVERY_S):
                return
