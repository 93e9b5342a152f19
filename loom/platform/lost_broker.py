"""A broker that is gone is a lost connection, and not the end of a worker.

Celery 5.7 lets go of a lost connection twice. If the first time fails half-way, kombu's channel
has no connection any more when it gives back what is not acknowledged, and asks `None` for an
address: an AttributeError, which ends the worker with all its generations. Seen in a test that
kills the broker while a generation runs; most times the first time succeeds. Here the channel says
what is true, and Celery connects again.

Uses `Channel._connparams` of kombu 5.7; the share of a request is none. It can go once a channel
without a connection raises an error of connections by itself.
"""

from typing import Any

from kombu.transport import redis as kombu_redis
from redis.exceptions import ConnectionError as LostError


class Channel(kombu_redis.Channel):
    """Kombu's own, which notices that its connection was given up."""

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise LostError("the connection to the broker was given up")
        params: dict[str, Any] = super()._connparams(asynchronous=asynchronous)  # type: ignore[misc]
        return params


class Transport(kombu_redis.Transport):
    """Kombu's own, with these channels."""

    Channel = Channel
