"""The doorbell: after commit, tells every web process how far a stream has come.

A lost, doubled or late bell does no harm: who hears one reads the log from his cursor.
"""

import logging
from functools import cache
from typing import Any

import redis
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction
from redis.backoff import NoBackoff
from redis.retry import Retry

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
    instead of 0.2). tests/log/test_announce.py holds it to what the layer hears.
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
