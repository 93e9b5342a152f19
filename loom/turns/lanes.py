"""The lanes in which generations wait for a worker, and the list that wakes one."""

from functools import cache

import redis
from django.conf import settings
from django.db import transaction

from loom.engine.announcements import SEND_S
from loom.engine.jobs import jobs_log

# The list of lanes in which generations wait for a worker. The first word waits for it: a Celery
# task takes 2.5 ms from commit until a thread of the worker runs it, this 0.5 ms (measured).
LANES = "heddle:lanes"


def hand_over(lane: str) -> None:
    """After commit, notifies one worker to begin what may begin in a lane. The rows are
    authoritative: if the notification is lost, the sweeper repeats it."""
    transaction.on_commit(lambda: _push(lane))


def _push(lane: str) -> None:
    try:
        _list(settings.REDIS_URL).lpush(LANES, lane)
    except redis.RedisError as error:
        jobs_log.warning("could not hand %s over, the sweeper will: %s", lane, error)


@cache
def _list(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=SEND_S, socket_connect_timeout=SEND_S)
