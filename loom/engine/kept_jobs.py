"""Tasks that are stored until they are done, so that neither a broker nor a worker can lose them:
for work of which no row of its own says that it waits."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from loom.engine import jobs
from loom.engine.models import KeptJob
from loom.engine.sweeps import sweeps
from loom.platform.broker import broker

SENT_AGAIN = timedelta(seconds=60)  # after which a worker should have begun it
AWAY_AGAIN = timedelta(seconds=5)  # while the broker is away
LEASE = timedelta(minutes=5)  # after which a worker that has begun it is taken to be gone
MOST_TRIES = 5
AT_ONCE = 100  # jobs that one round of the sweeper sends again

LATER = object()  # what a task returns that goes on by itself, until `ended`

log = logging.getLogger("heddle.jobs")


def enqueue_kept(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends a task that is `kept` after commit, and again until it is done; with the transaction,
    or not at all."""
    due = _due(timezone.now())
    row = KeptJob.objects.create(task=task, args=list(args), queue=queue, due_at=due)
    _send(row)


def is_kept(task: str, args: Sequence[Any]) -> bool:
    """Whether a task with these arguments waits already."""
    return KeptJob.objects.filter(task=task, args=list(args)).exists()


def _due(now: datetime) -> datetime:
    """When a job that is sent now is sent again; soon, if it is known that nobody takes it now."""
    return now + (AWAY_AGAIN if broker.is_away else SENT_AGAIN)


def _send(row: KeptJob) -> None:
    jobs.enqueue(row.task, [*row.args, row.pk], queue=row.queue)


def kept(work: Callable[..., object]) -> Callable[..., None]:
    """A task whose last argument is its KeptJob: that is deleted once `work` has returned, unless
    LATER, and tried again if it failed."""

    @wraps(work)
    def run(*args: Any) -> None:
        *given, key = args
        row = KeptJob.objects.filter(pk=key).first()
        if row is None or not _take(row, timezone.now()):
            return  # it was done, or another worker does it
        try:
            answer = work(*given)
        except Exception:
            _put_off(row)
            raise
        if answer is not LATER:
            KeptJob.objects.filter(pk=row.pk).delete()

    return run


def goes_on(task: str, *args: Any) -> None:
    """What a task began that returned LATER is still at work: no other worker begins it."""
    until = timezone.now() + LEASE
    rows = KeptJob.objects.filter(task=task, args=list(args), taken_until__isnull=False)
    rows.update(taken_until=until, due_at=until)


def ended(task: str, *args: Any) -> None:
    """What a task began that returned LATER has ended."""
    KeptJob.objects.filter(task=task, args=list(args), taken_until__isnull=False).delete()


def _take(row: KeptJob, now: datetime) -> bool:
    """Whether this worker does the job now."""
    free = Q(taken_until__isnull=True) | Q(taken_until__lt=now)
    until = now + LEASE
    mine = KeptJob.objects.filter(free, pk=row.pk)
    return bool(mine.update(taken_until=until, due_at=until, tries=F("tries") + 1))


def _put_off(row: KeptJob) -> None:
    """Has a failed job tried again later."""
    due = timezone.now() + SENT_AGAIN * 2**row.tries
    KeptJob.objects.filter(pk=row.pk).update(taken_until=None, due_at=due)


@sweeps
def send_again() -> int:
    """Sends again what no worker has done, and gives up what MOST_TRIES have begun; returns how
    many were sent."""
    now = timezone.now()
    sent = 0
    for row in KeptJob.objects.filter(due_at__lt=now).order_by("due_at")[:AT_ONCE]:
        with transaction.atomic():
            mine = KeptJob.objects.filter(pk=row.pk, due_at=row.due_at)
            if row.tries >= MOST_TRIES:  # it failed, or ended its worker, each time
                log.error("gave up %s after %s tries", row.task, row.tries)
                mine.delete()
            elif mine.update(due_at=_due(now)):
                _send(row)
                sent += 1
    return sent
