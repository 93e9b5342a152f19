"""When the worker goes on with explorations: after each of their calls, and when it looks for what
was forgotten."""

from celery import shared_task

from loom.engine import jobs
from loom.engine.sweeps import sweeps
from loom.exploring import progress
from loom.exploring.commands import TASK
from loom.exploring.queries import unfinished
from loom.turns.generation_lifecycle import when_ended


@shared_task(name=TASK)
def advance(uid: str) -> None:
    """Goes on with an exploration."""
    progress.advance(uid)


@when_ended
def go_on(uid: str) -> None:
    """A call of the exploration has ended."""
    jobs.enqueue(TASK, [uid], queue="continue")


@sweeps
def look_for_unfinished() -> int:
    """Goes on with explorations whose worker was lost, and returns how many there are. To go on
    with one that waits for a model changes nothing."""
    uids = unfinished()
    for uid in uids:
        jobs.enqueue(TASK, [uid], queue="continue")
    return len(uids)
