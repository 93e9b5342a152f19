"""What the worker does for operators: it measures once a day, and when one of them asks."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from loom.engine import jobs
from loom.engine.sweeps import sweeps
from loom.operations import measuring

TASK = "loom.operations.tasks.measure"
EVERY = timedelta(days=1)


@shared_task(name=TASK)
def measure() -> None:
    """Measures the installation."""
    measuring.measure()


@sweeps
def measure_daily() -> int:
    """Measures if the last measure is a day old; 1 if it did."""
    last = measuring.newest()
    if last is not None and last.at > timezone.now() - EVERY:
        return 0
    measuring.measure()
    return 1


def ask() -> None:
    """Has the worker measure now."""
    jobs.enqueue(TASK, [], queue="transfer")
