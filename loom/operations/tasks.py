"""What the worker does for operators: it measures once a day and when one of them asks, and trims
once an hour."""

from datetime import timedelta

from celery import shared_task
from django.core.cache import cache
from django.utils import timezone

from loom.engine import jobs
from loom.engine.sweeps import sweeps
from loom.operations import measuring, trim

TASK = "loom.operations.tasks.measure"
TRIM = "loom.operations.tasks.trim_old"
TRIM_EVERY_S, TRIM_S = 3600, 600  # how often, and for how long at most
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


@shared_task(name=TRIM)
def trim_old() -> None:
    """Trims by the operators' rules."""
    trim.trim(seconds=TRIM_S)


@sweeps
def trim_hourly() -> int:
    """Has one worker of all trim once an hour; 1 if it does."""
    if not cache.add("operations:trimmed", 1, TRIM_EVERY_S):
        return 0
    jobs.enqueue(TRIM, [], queue="transfer")
    return 1
