"""The worker's side: trees are indexed soon after they changed."""

from celery import shared_task
from django.core.cache import cache

from loom.engine import jobs, optional_cache
from loom.engine.sweeps import sweeps
from loom.meaning import indexing
from loom.meaning.embedder_settings import has_embedder, waiting_key

PATIENCE_S = 600  # seconds; a tree that was enqueued is not enqueued again before it is done


@shared_task(name="loom.meaning.tasks.index_tree")
def index_tree(uid: str) -> None:
    """Makes the vectors that a tree lacks. A tree without an embedder is not enqueued again for
    PATIENCE_S, one whose embedder failed not until it may be asked."""
    try:
        if indexing.index_tree(uid) is not None:
            optional_cache.forget([waiting_key(uid)])
            indexing.was_indexed(uid)
    except indexing.NotIndexed as refused:
        optional_cache.keep(waiting_key(uid), 1, max(1, refused.retry_s))


@sweeps
def want_indexes() -> int:
    """Enqueues the trees that changed since they were indexed, and returns how many. A broker that
    lost a task, an import and a new text all come to the same: a tree that was changed after it
    was indexed."""
    if not has_embedder():
        return 0
    uids = [uid for uid in indexing.waiting() if cache.add(waiting_key(uid), 1, PATIENCE_S)]
    for uid in uids:
        jobs.enqueue("loom.meaning.tasks.index_tree", [uid], queue="transfer")
    return len(uids)
