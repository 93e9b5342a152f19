"""What was forgotten: generations whose worker is gone, and those the broker never delivered."""

import logging
import threading
import time
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import DatabaseError, close_old_connections, transaction
from django.utils import timezone

from agents import persistence as leases
from agents.persistence import EVERY_S, bury
from loom.commands import document_log, step_records, turn_lifecycle, web_search
from loom.events import streams
from loom.models import Generation
from loom.transfer import importing

log = logging.getLogger("heddle.sweeper")

DELETE_EVERY_S = 3600  # how often old receipts and ended sessions are looked for
BATCH = 1000
FORGOTTEN_S = 10  # a generation that is still queued after this long is sent again


def sweep() -> int:
    """Hands the lanes of forgotten generations over again, and ends those whose worker went
    away in the middle of their text. Returns how many it found. Safe to run anywhere, at any
    time."""
    now = timezone.now()
    lost = Generation.objects.filter(ended_at__isnull=True, status="running", leased_until__lt=now)
    found, lanes = 0, set()
    for uid, text, lane, lease in lost.values_list("uid", "text", "lane", "lease"):
        if not leases.proves_loss(lease):
            continue
        found += 1
        if text:
            bury(uid)  # it has text that no worker goes on with
        else:
            lanes.add(lane)
    waiting = Generation.objects.filter(
        ended_at__isnull=True,
        status="queued",
        stop_asked=False,
        created_at__lt=now - timedelta(seconds=FORGOTTEN_S),
    )
    for lane in waiting.values_list("lane", flat=True):
        found += 1
        lanes.add(lane)
    for lane in sorted(lanes):
        streams.hand_over(lane)
    for uid in turn_lifecycle.waiting():
        found += 1
        streams.enqueue("agents.tasks.run_turn", [uid], queue="continue")
    return found


def delete_old() -> int:
    """Deletes receipts that are older than RECEIPT_DAYS, and sessions that ended more than
    ENDED_SESSION_DAYS ago, in batches with a transaction each; how many rows."""
    now = timezone.now()
    deleted = step_records.delete_before(now - timedelta(days=settings.RECEIPT_DAYS), batch=BATCH)
    ended = now - timedelta(days=settings.ENDED_SESSION_DAYS)
    rows = Session.objects.filter(expire_date__lt=ended).order_by("expire_date")
    while keys := list(rows.values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            deleted += Session.objects.filter(pk__in=keys).delete()[0]
    return deleted


class Sweeper(threading.Thread):
    """Sweeps every few seconds until asked to stop; survives a database or broker that is down."""

    def __init__(self) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stopping = threading.Event()
        self._deleted_at = -float(DELETE_EVERY_S)

    def run(self) -> None:
        """Sweeps at once, then every EVERY_S seconds."""
        while True:
            close_old_connections()
            try:
                leases.watch.look(leases.try_to_write)
                sweep()
                importing.sweep()
                web_search.sweep()
                document_log.settle_resting(timezone.now() - timedelta(seconds=FORGOTTEN_S))
                self._delete_old()
            except DatabaseError:
                log.warning("could not sweep", exc_info=True)
            finally:
                close_old_connections()
            if self.stopping.wait(EVERY_S):
                return

    def _delete_old(self) -> None:
        if time.monotonic() - self._deleted_at >= DELETE_EVERY_S:
            delete_old()
            self._deleted_at = time.monotonic()
