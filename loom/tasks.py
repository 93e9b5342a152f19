"""Celery tasks around commands that take long; each may be run twice."""

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import DatabaseError, close_old_connections

from loom.commands import trees as tree_commands
from loom.events import streams
from loom.transfer import importing

log = logging.getLogger("heddle.tasks")


@shared_task(name="loom.tasks.erase_tree")
def erase_tree(uid: str) -> None:
    """Deletes the rows of an erased tree."""
    tree_commands.erase_rows(uid)


@shared_task(name="loom.tasks.run_import")
def run_import(uid: str) -> None:
    """Reads a file into a tree."""
    importing.run(uid)


@worker_ready.connect
def begin_again(**_: Any) -> None:
    """Enqueues again what an earlier worker left half done, or a broker forgot."""
    try:
        for uid in tree_commands.waiting():
            streams.enqueue("loom.tasks.erase_tree", [uid], queue="transfer")
        importing.sweep()
    except DatabaseError:
        log.warning("could not look for what was left half done", exc_info=True)
    finally:
        close_old_connections()
