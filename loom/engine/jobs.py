"""Tasks for the worker, sent by name after commit, so that a rollback sends none."""

import logging
from collections.abc import Sequence
from typing import Any

from celery import current_app
from django.db import transaction

# Tasks for the worker, sent by name after commit, so that a rollback sends none.


jobs_log = logging.getLogger("heddle.jobs")


def enqueue(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends the task after commit. For work of which a row says that it waits: if the broker or a
    worker loses it, a sweep of the feature sends it again. Others are kept (kept_jobs)."""
    transaction.on_commit(lambda: _send(task, args, queue))


def _send(task: str, args: Sequence[Any], queue: str) -> None:
    try:
        current_app.send_task(task, args=list(args), queue=queue, retry=False, ignore_result=True)
    except Exception as error:
        jobs_log.warning("could not enqueue %s, the sweeper will: %s", task, error)
