"""Work for the worker: asked for by name after commit, so that a rollback asks for nothing."""

import logging
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from config.celery import app

log = logging.getLogger("heddle.jobs")


def enqueue(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends the task after commit. A broker that is down loses nothing: the row says
    queued, and the sweeper sends it again."""
    transaction.on_commit(lambda: _send(task, args, queue))


def _send(task: str, args: Sequence[Any], queue: str) -> None:
    try:
        app.send_task(task, args=list(args), queue=queue, retry=False, ignore_result=True)
    except Exception as error:
        log.warning("could not enqueue %s, the sweeper will: %s", task, error)
