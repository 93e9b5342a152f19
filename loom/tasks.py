"""Celery tasks for commands that take long; each is safe to run twice."""

import logging
from datetime import timedelta
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.core.cache import cache
from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from loom.engine import jobs, optional_cache
from loom.engine.kept_jobs import enqueue_kept, is_kept, kept
from loom.engine.sweeps import sweeps
from loom.errors import CommandError
from loom.notes import mention_mails
from loom.people import mail
from loom.transfer import importing
from loom.trees import erasing, images
from loom.trees.commands import node_writer

log = logging.getLogger("heddle.tasks")

LOOK_S = 300  # seconds between two looks for trees that nobody erases
MOST_BACKOFF_S = 3600
TRIED_S = 2 * MOST_BACKOFF_S


@shared_task(
    name="loom.tasks.erase_tree",
    autoretry_for=(CommandError,),  # the storage of its images is away
    retry_backoff=30,
    retry_backoff_max=MOST_BACKOFF_S,
    max_retries=None,
)
def erase_tree(uid: str) -> None:
    """Deletes the images and the rows of an erased tree."""
    optional_cache.keep(_tried(uid), 1, TRIED_S)
    images.remove_files(uid)
    erasing.erase_rows(uid)
    erasing.empty_log_soon()


@sweeps
def erase_forgotten() -> int:
    """Enqueues again the trees that nobody has begun to erase: a broker has lost them. Looks every
    few minutes; returns how many it has found."""
    if not cache.add("tasks:erase_forgotten", 1, LOOK_S):
        return 0
    old = erasing.waiting(before=timezone.now() - timedelta(seconds=LOOK_S))
    lost = [uid for uid in old if cache.get(_tried(uid)) is None]
    for uid in lost:
        jobs.enqueue("loom.tasks.erase_tree", [uid], queue="transfer")
    return len(lost)


def _tried(uid: str) -> str:
    """Where the cache keeps that a worker has begun to erase a tree, and tries it again itself."""
    return f"tasks:erase:{uid}"


@shared_task(name="loom.tasks.remove_unnamed_images")
def remove_unnamed_images() -> None:
    """Removes files of images that no tree has any more."""
    images.remove_unnamed_files()


@shared_task(name="loom.tasks.run_import")
def run_import(uid: str) -> None:
    """Reads a file into a tree."""
    importing.run(uid)


@shared_task(name="loom.tasks.measure_tree")
@kept
def measure_tree(uid: str) -> None:
    """Measures a tree of which a large part was pruned or restored."""
    node_writer.measure(uid)


@shared_task(name="loom.tasks.mail_mentions")
@kept
def mail_mentions(user: int, keys: list[int]) -> None:
    """Writes to somebody about mentions that they have not seen."""
    mention_mails.send(user, keys)


@shared_task(name="loom.tasks.confirm_address")
@kept
def confirm_address(user: int, address: str) -> None:
    """Sends the link that confirms an address."""
    mail.send_link(user, address)


@worker_ready.connect
def begin_again(**_: Any) -> None:
    """Enqueues what an earlier worker left unfinished, or a broker lost."""
    try:
        for uid in erasing.waiting():
            jobs.enqueue("loom.tasks.erase_tree", [uid], queue="transfer")
        for uid in node_writer.unmeasured():
            if not is_kept("loom.tasks.measure_tree", [uid]):
                enqueue_kept("loom.tasks.measure_tree", [uid], queue="transfer")
        importing.sweep()
        jobs.enqueue("loom.tasks.remove_unnamed_images", [], queue="transfer")
    except DatabaseError:
        log.warning("could not look for what was left half done", exc_info=True)
    finally:
        close_old_connections()
