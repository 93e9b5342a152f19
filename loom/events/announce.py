"""What happens after commit: the doorbell, work for the worker, and who has a stream open."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import redis
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.cache import cache as django_cache
from django.db import transaction
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.celery import app

log = logging.getLogger("heddle.announce")


def group_of(stream: str) -> str:
    """The channel layer's group for a stream; group names allow no colon."""
    return stream.replace(":", ".")


def ring(stream: str, seq: int) -> None:
    """Announces `seq` after the transaction has committed; never if it is rolled back."""
    transaction.on_commit(lambda: send(stream, {"type": "bell", "stream": stream, "seq": seq}))


def access_changed(grove_uid: str, user_id: int) -> None:
    """After commit: what a user may do in a grove has changed, and his sockets are looked at."""
    message = {"type": "access", "grove": grove_uid, "user": user_id}
    transaction.on_commit(lambda: send(f"grove:{grove_uid}", message))


def send(stream: str, message: dict[str, Any]) -> None:
    """Sends a message that is not stored (bell, delta) to the stream's listeners, now.

    Straight over a connection that stays open, in the layer's own wording: through
    async_to_sync each message would begin a loop and a connection (measured: 4 to 5 ms
    instead of 0.2). tests/events/test_announce.py holds it to what the layer hears.
    """
    config: Any = settings.CHANNEL_LAYERS["default"]["CONFIG"]
    layer: Any = get_channel_layer()
    group = f"{config['prefix']}__group__{group_of(stream)}"
    try:
        _line(config["hosts"][0]).publish(group, layer.serialize(message))
    except Exception as error:  # the broker may be down: the log is the memory, heartbeats tell
        log.warning("could not ring %s: %s", stream, error)


@cache
def _line(url: str) -> "redis.Redis":
    """A pool of connections to the broker, shared by all threads. It does not wait long:
    what is lost is noticed by looking."""
    return redis.Redis.from_url(
        url, socket_timeout=2, socket_connect_timeout=2, retry=Retry(NoBackoff(), 1)
    )


async def send_async(stream: str, message: dict[str, Any]) -> None:
    """The same for callers on an event loop."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        await layer.group_send(group_of(stream), message)
    except Exception as error:
        log.warning("could not ring %s: %s", stream, error)


# Work for the worker: asked for by name after commit, so that a rollback asks for nothing.


jobs_log = logging.getLogger("heddle.jobs")


def enqueue(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends the task after commit. A broker that is down loses nothing: the row says
    queued, and the sweeper sends it again."""
    transaction.on_commit(lambda: _send(task, args, queue))


def _send(task: str, args: Sequence[Any], queue: str) -> None:
    try:
        app.send_task(task, args=list(args), queue=queue, retry=False, ignore_result=True)
    except Exception as error:
        jobs_log.warning("could not enqueue %s, the sweeper will: %s", task, error)


# Who has which stream open now, for lists of trees: told by each live feed, kept in the cache,
# soon forgotten. No right hangs on it, and without the broker nobody is seen.


present_log = logging.getLogger("heddle.present")

KEPT_S = 50  # a feed tells again sooner than that


def tell(stream: str, participants: Iterable[str]) -> None:
    """Notes the uids of all participants who have the stream open, in whatever process."""
    here = sorted(set(participants))
    try:
        if here:
            django_cache.set(_key(stream), here, KEPT_S)
        else:
            django_cache.delete(_key(stream))
    except Exception as error:  # the broker may be down: a list without faces is no harm
        present_log.warning("could not tell who is in %s: %s", stream, error)


def present(streams: Iterable[str]) -> dict[str, list[str]]:
    """The uids of those who have each stream open; a stream of nobody is left out."""
    keys = {_key(stream): stream for stream in streams}
    try:
        found = django_cache.get_many(list(keys))
    except Exception as error:
        present_log.warning("could not see who is here: %s", error)
        return {}
    return {keys[key]: list(here) for key, here in found.items()}


def _key(stream: str) -> str:
    return f"present:{stream}"


LEFT_S = 60.0  # for so long it is kept who went away


def tell_places(stream: str, places: Mapping[str, str]) -> None:
    """Stores at which node (local id) the pages of each participant are, by uid, and when
    those who are missing now were last seen. Replaces what was stored before."""
    try:
        before, left = _places(stream)
        now = time.time()
        left = {uid: at for uid, at in left.items() if now - at < LEFT_S and uid not in places}
        left |= {uid: now for uid in before if uid not in places}
        django_cache.set(f"places:{stream}", [dict(places), left], LEFT_S)
    except Exception as error:  # without the broker nobody is seen, which is no harm
        present_log.warning("could not store who is where in %s: %s", stream, error)


def places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    """(the node of each participant who has a page open, by uid; when those who went away in
    the last minute did, in seconds since 1970)."""
    try:
        return _places(stream)
    except Exception as error:
        present_log.warning("could not see who is where: %s", error)
        return {}, {}


def _places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    here, left = django_cache.get(f"places:{stream}") or ({}, {})
    return here, left
