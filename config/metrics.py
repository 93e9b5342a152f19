"""`GET /metrics`: the figures of this web process and of the whole installation, for Prometheus, by
its own client library. Only with the key in HEDDLE_METRICS_KEY; without one there is no such
address.

Plain ASGI beside Django: it is answered by any name of the host, such as that of a container, and
also while all threads are busy. No figure names a person, a grove or a text.
"""

import logging
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import Error
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from loom.engine import put_aside
from loom.live.capacity import capacity
from loom.platform.request_threads import pools
from loom.turns.models import Generation

log = logging.getLogger("heddle.metrics")

PATH = "/metrics"
_OPEN = ("queued", "running")


class Figures(Collector):
    """What is read when it is asked for."""

    def describe(self) -> Iterable[Metric]:
        """Nothing: the database is not read at the start."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The figures of this process, and those of the installation from the database."""
        yield _gauge("sockets", "Sockets and streams of events of this process", capacity.held)
        yield _gauge("sockets_most", "How many it holds at most", settings.SOCKETS)
        refused = CounterMetricFamily("heddle_sockets_refused", "Sockets that found no place")
        refused.add_metric([], capacity.refused)
        yield refused
        threads = GaugeMetricFamily(
            "heddle_request_threads", "Threads for requests", labels=["state"]
        )
        idle = sum(len(pool.idle) for pool in pools)
        threads.add_metric(["idle"], idle)
        threads.add_metric(["busy"], sum(pool.count for pool in pools) - idle)
        yield threads
        waiting = sum(pool.waiting for pool in pools)
        yield _gauge("requests_waiting", "Requests that wait for a thread", waiting)
        try:
            metrics = list(_of_installation())
        except Error:
            log.warning("could not read the figures of the installation", exc_info=True)
            metrics = []
        yield _gauge("database_up", "Whether the database answered this request", bool(metrics))
        yield from metrics


def _gauge(name: str, says: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"heddle_{name}", says, value=value)


def _of_installation() -> Iterator[Metric]:
    """Figures that every web process reads alike: they are not to be added up."""
    rows = Generation.objects.filter(status__in=_OPEN).values_list("status").order_by()
    by_status = {status: (count, first) for status, count, first in rows.annotate(
        count=Count("pk"), first=Min("created_at")
    )}  # fmt: skip
    counts = GaugeMetricFamily(
        "heddle_generations", "Generations that have not ended", labels=["status"]
    )
    ages = GaugeMetricFamily(
        "heddle_generations_oldest_seconds", "Since the oldest was asked for", labels=["status"]
    )
    now = timezone.now()
    for status in _OPEN:
        count, first = by_status.get(status, (0, None))
        counts.add_metric([status], count)
        ages.add_metric([status], (now - first).total_seconds() if first else 0.0)
    yield counts
    yield ages
    yield _gauge("put_aside", "Units of work that failed again and again", put_aside.count())


REGISTRY.register(Figures())


async def handle(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers one request."""
    if scope["method"] not in ("GET", "HEAD"):
        await _answer(send, 405, b"", (b"allow", b"GET"))
    elif not _has_key(scope):
        await _answer(send, 401, b"", (b"www-authenticate", b'Bearer realm="Heddle metrics"'))
    else:
        text = await database_sync_to_async(generate_latest, thread_sensitive=False)()
        await _answer(send, 200, text, (b"content-type", CONTENT_TYPE_LATEST.encode()))


def _has_key(scope: dict[str, Any]) -> bool:
    given = dict(scope["headers"]).get(b"authorization", b"")
    kind, _, key = given.partition(b" ")
    wanted = settings.METRICS_KEY.encode()
    return kind.lower() == b"bearer" and secrets.compare_digest(key.strip(), wanted)


async def _answer(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status, "headers": [length, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
