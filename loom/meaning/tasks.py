"""The worker's side: trees are indexed soon after they changed."""

import logging
import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.core.cache import cache
from django.db import close_old_connections

from loom.engine import jobs
from loom.meaning import indexing
from loom.meaning.embedders import embedded

log = logging.getLogger("heddle.meaning")
EVERY_S = 5.0
PATIENCE_S = 600  # seconds; a tree that was enqueued is not enqueued again before it is done
_ending = threading.Event()


@shared_task(name="loom.meaning.tasks.index_tree")
def index_tree(uid: str) -> None:
    """Makes the vectors that a tree lacks."""
    indexing.index_tree(uid)
    cache.delete(_key(uid))


def _key(uid: str) -> str:
    return f"meaning:{uid}"


def want_indexes() -> int:
    """Enqueues the trees that changed since they were indexed, and returns how many."""
    found = [one for one in indexing.waiting() if cache.add(_key(one), 1, PATIENCE_S)]
    for uid in found:
        jobs.enqueue("loom.meaning.tasks.index_tree", [uid], queue="transfer")
    return len(found)


def _look() -> None:
    while not _ending.wait(EVERY_S):
        try:
            want_indexes()
        except Exception:  # any error: the next round looks again
            log.warning("could not look for texts without vectors", exc_info=True)
        finally:
            close_old_connections()


@worker_ready.connect
def begin_looking(**_: Any) -> None:
    """Looks for trees without vectors until the worker ends. A broker that lost a task, an import
    and a new text all come to the same: a tree that was changed after it was indexed."""
    if embedded() is None:
        log.info("no embedder is installed: texts are found by their words alone")
    threading.Thread(target=_look, name="meaning", daemon=True).start()


@worker_shutting_down.connect
def end_looking(**_: Any) -> None:
    """Ends the looking with the worker."""
    _ending.set()
