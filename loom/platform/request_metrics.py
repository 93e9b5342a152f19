"""What is counted of requests, for Prometheus (config/metrics.py)."""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field

from prometheus_client import Counter, Histogram

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_ANSWERED = Counter("heddle_http_requests", "Requests answered", ["method", "status"])
_SECONDS = Histogram(
    "heddle_http_request_seconds",
    "From the last byte of a request to the first of its answer",
    ["method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)


@dataclass
class RequestBegun:
    """A request that is being answered."""

    method: str
    began: float = field(default_factory=time.perf_counter)

    def answered(self, status: int) -> None:
        """Counts the request, once its answer begins."""
        _SECONDS.labels(self.method).observe(time.perf_counter() - self.began)
        _ANSWERED.labels(self.method, status).inc()


current: ContextVar[RequestBegun | None] = ContextVar("running request", default=None)


def begin(method: str) -> None:
    """Starts the time of the request of this task."""
    current.set(RequestBegun(method if method in METHODS else "other"))
