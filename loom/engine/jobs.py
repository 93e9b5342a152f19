"""Tasks for the worker, sent by name after commit, so that a rollback sends none."""

import logging
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from loom.platform.broker import send_task

jobs_log = logging.getLogger("heddle.jobs")


def enqueue(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends the task after commit. For work of which a row says that it waits: if the broker or a
    worker loses it, a sweep of the feature sends it again. Others are kept (kept_jobs). What was
    stored is acknowledged whatever the broker does: it has a few seconds to take the task."""
    transaction.on_commit(lambda: _send(task, args, queue))


def _send(task: str, args: Sequence[Any], queue: str) -> None:
    try:
        send_task(task, args, queue=queue)
    except Exception as error:
        jobs_log.warning("could not send %s to a worker, which gets it later: %s", task, error)
