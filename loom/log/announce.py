"""The doorbell: after commit, tells every web process how far a stream has come.

A lost, doubled or late bell does no harm: who hears one reads the log from his cursor.
"""

import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

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
    """Sends a message that is not stored (bell, delta) to the stream's listeners, now."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(group_of(stream), message)
    except Exception as error:  # the broker may be down: the log is the memory, heartbeats tell
        log.warning("could not ring %s: %s", stream, error)


async def send_async(stream: str, message: dict[str, Any]) -> None:
    """The same for callers on an event loop."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        await layer.group_send(group_of(stream), message)
    except Exception as error:
        log.warning("could not ring %s: %s", stream, error)
