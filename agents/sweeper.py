"""What was forgotten: generations whose worker is gone, and those the broker never handed on."""

import logging
import threading
from datetime import timedelta

from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from agents.taking import bury
from loom.commands import turning
from loom.log import jobs
from loom.models import Generation
from loom.transfer import importing

log = logging.getLogger("heddle.sweeper")

EVERY_S = 3
FORGOTTEN_S = 10  # a generation that is still queued after this long is sent again


def sweep() -> int:
    """Sends forgotten generations again, one for each lane, and ends those whose worker went
    away in the middle of their text. Returns how many it found. Safe to run anywhere, at any
    time."""
    now = timezone.now()
    lost = Generation.objects.filter(ended_at__isnull=True, status="running", leased_until__lt=now)
    found, lanes = 0, {}
    for uid, text, lane in lost.values_list("uid", "text", "lane"):
        found += 1
        if text:
            bury(uid)  # it has text that no worker goes on with
        else:
            lanes[lane] = uid
    waiting = Generation.objects.filter(
        ended_at__isnull=True,
        status="queued",
        stop_asked=False,
        created_at__lt=now - timedelta(seconds=FORGOTTEN_S),
    )
    for uid, lane in waiting.order_by("rank", "id").values_list("uid", "lane"):
        found += 1
        lanes.setdefault(lane, uid)
    for uid in lanes.values():
        _send(uid)
    for uid in turning.waiting():
        found += 1
        jobs.enqueue("agents.tasks.run_turn", [uid], queue="continue")
    return found


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
