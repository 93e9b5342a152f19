"""Celery tasks for commands that take long; each is safe to run twice."""

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.db import DatabaseError, close_old_connections

from loom.engine import jobs
from loom.errors import CommandError
from loom.notes import mention_mails
from loom.people import mail
from loom.transfer import importing
from loom.trees import erasing, images
from loom.trees.commands import node_writer

log = logging.getLogger("heddle.tasks")


@shared_task(
    name="loom.tasks.erase_tree",
    autoretry_for=(CommandError,),  # the storage of its images is away
    retry_backoff=30,
    retry_backoff_max=3600,
    max_retries=None,
)
def erase_tree(uid: str) -> None:
    """Deletes the images and the rows of an erased tree."""
    images.remove_files(uid)
    erasing.erase_rows(uid)


@shared_task(name="loom.tasks.remove_unnamed_images")
def remove_unnamed_images() -> None:
    """Removes files of images that no tree has any more."""
    images.remove_unnamed_files()


@shared_task(name="loom.tasks.run_import")
def run_import(uid: str) -> None:
    """Reads a file into a tree."""
    importing.run(uid)


@shared_task(name="loom.tasks.measure_tree")
def measure_tree(uid: str) -> None:
    """Measures a tree of which a large part was pruned or restored."""
    node_writer.measure(uid)


@shared_task(name="loom.tasks.mail_mentions")
def mail_mentions(keys: list[int]) -> None:
    """Writes to people about mentions that they have not seen."""
    mention_mails.send(keys)


@shared_task(name="loom.tasks.confirm_address")
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
            jobs.enqueue("loom.tasks.measure_tree", [uid], queue="transfer")
        importing.sweep()
        jobs.enqueue("loom.tasks.remove_unnamed_images", [], queue="transfer")
    except DatabaseError:
        log.warning("could not look for what was left half done", exc_info=True)
    finally:
        close_old_connections()
