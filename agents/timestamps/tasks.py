"""The worker's side: trees get their time stamps soon after they changed."""

from celery import shared_task
from django.conf import settings
from django.core.cache import cache

from loom.engine import jobs, optional_cache
from loom.engine.sweeps import sweeps

NAME = "agents.timestamps.tasks.stamp_tree"
PATIENCE_S = 600  # seconds; a tree that was enqueued is not enqueued again before it is done
YOUNG_S = 30  # seconds until a tree is looked at again whose texts were too young


@shared_task(name=NAME)
def stamp_tree(uid: str) -> None:
    """Has the texts of a tree stamped."""
    # Loads the library that reads certificates: only once there is something to stamp.
    from agents.timestamps import authorities, stamping

    try:
        stamped = stamping.stamp_tree(uid)
    except authorities.NotStamped as refused:
        optional_cache.keep(_key(uid), 1, max(1, refused.retry_s))
    else:
        if stamped is None:
            optional_cache.keep(_key(uid), 1, YOUNG_S)
        else:
            optional_cache.forget([_key(uid)])


@sweeps
def want_stamps() -> int:
    """Enqueues the trees with texts that may need a time stamp, and returns how many."""
    if not settings.TIMESTAMPS:
        return 0
    from agents.timestamps import stamping

    uids = [uid for uid in stamping.waiting() if cache.add(_key(uid), 1, PATIENCE_S)]
    for uid in uids:
        jobs.enqueue(NAME, [uid], queue="transfer")
    return len(uids)


def _key(uid: str) -> str:
    return f"timestamps:waiting:{uid}"
