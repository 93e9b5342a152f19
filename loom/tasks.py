"""Celery shells around verbs that take long; each may be run twice."""

from celery import shared_task

from loom.commands import forest


@shared_task(name="loom.tasks.erase_tree")
def erase_tree(uid: str) -> None:
    """Deletes the rows of an erased tree."""
    forest.erase_rows(uid)
