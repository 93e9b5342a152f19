"""A broker that is away or hangs keeps no request waiting: whoever asks it by one of these clients
waits for `settings.BROKER_S` at most, and once it has not answered it is not asked again for
PAUSE_S. Then one tries again, while the others still go on without it.

What is sent to the worker (`send_task`), handed over to it (`loom.turns.lanes`) and kept in the
cache (`Cache`, of `config.settings`) goes through `broker.asked`. A worker that waits for its next
task waits on purpose, and uses a connection of its own.

`send_task` is written for Celery and kombu 5.7: `retry=False` concerns the sending alone, and a
connection that is not there is tried again by kombu for 6 s, whatever it says (measured). It can go
once Celery sends a task within a given time.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from celery import current_app
from django.conf import settings
from django.core.cache.backends.redis import RedisCache
from kombu import Connection
from kombu.exceptions import OperationalError
from kombu.pools import producers
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as LateError

PAUSE_S = 2.0  # seconds until a broker that did not answer is asked again

log = logging.getLogger("heddle.broker")

P = ParamSpec("P")
R = TypeVar("R")


class BrokerAwayError(LostError):
    """The broker has not answered a moment ago, and is not asked."""


class Broker:
    """Whether the broker answers, as far as this process knows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_away = False
        self._until = 0.0

    @property
    def is_away(self) -> bool:
        """Whether it did not answer when it was asked last."""
        return self._is_away

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Notes whether the broker answers inside. BrokerAwayError if it is not to be asked."""
        self._demand()
        try:
            yield
        except (LostError, LateError, OperationalError, OSError) as error:
            if not self._is_away:
                log.warning("the broker does not answer: %s", error)
            self._is_away, self._until = True, time.monotonic() + PAUSE_S
            raise
        except (ResponseError, ValueError):  # it refuses: such as a key that is not there
            self.answered()
            raise
        self.answered()

    def answered(self) -> None:
        """Notes that the broker is there."""
        if self._is_away:
            log.warning("the broker answers again")
        self._is_away = False

    def _demand(self) -> None:
        if not self._is_away:
            return
        with self._lock:
            now = time.monotonic()
            if self._is_away and now < self._until:
                raise BrokerAwayError("the broker did not answer a moment ago")
            # The others go on while this one asks.
            self._until = now + 2 * settings.BROKER_S + PAUSE_S


broker = Broker()


def send_task(task: str, args: Sequence[Any], *, queue: str) -> None:
    """Sends a task to the worker. Raises what is wrong with the broker."""
    with broker.asked():
        producing = producers[hurried()]
        with producing.acquire(block=True, timeout=settings.BROKER_S) as producer:
            current_app.send_task(
                task,
                args=list(args),
                queue=queue,
                retry=False,
                ignore_result=True,
                producer=producer,
            )


def ping_worker(*, wait_s: float) -> bool:
    """Whether a worker answers in so many seconds. Raises what is wrong with the broker."""
    # None of those by which tasks are sent: these would wait for a worker that does not answer.
    with hurried() as connection:
        return bool(current_app.control.ping(timeout=wait_s, limit=1, connection=connection))


def hurried() -> Connection:
    """A connection to the broker, not opened yet, that waits for no longer than others may."""
    options = {
        **current_app.conf.broker_transport_options,
        "socket_timeout": settings.BROKER_S,
        "socket_connect_timeout": settings.BROKER_S,
        "max_retries": 0,
    }
    return current_app.connection_for_write(transport_options=options)


def _asking(method: Callable[P, R]) -> Callable[P, R]:
    def ask(*args: P.args, **kwargs: P.kwargs) -> R:
        with broker.asked():
            return method(*args, **kwargs)

    return ask


class Cache(RedisCache):
    """Django's own, which does not ask a broker that was away a moment ago."""

    add = _asking(RedisCache.add)
    get = _asking(RedisCache.get)
    set = _asking(RedisCache.set)
    touch = _asking(RedisCache.touch)
    delete = _asking(RedisCache.delete)
    get_many = _asking(RedisCache.get_many)
    has_key = _asking(RedisCache.has_key)
    incr = _asking(RedisCache.incr)
    set_many = _asking(RedisCache.set_many)
    delete_many = _asking(RedisCache.delete_many)
    clear = _asking(RedisCache.clear)
