"""Requests a minute, for each key or signed-in person, counted in the broker."""

import logging
import time
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from loom.models import ApiKey

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which asks for this module while it loads

log = logging.getLogger("heddle.limits")

PATIENCE_S = 0.25  # a broker that hangs must not hold up every request
PAUSE_S = 5.0  # and is not asked again for a while


@cache
def _limiter(url: str) -> SlidingWindowCounterRateLimiter:
    # Two counters a key, moved by one script: as exact as is useful, and small.
    known = url.replace("unix://", "redis+unix://", 1) if url.startswith("unix://") else url
    storage = RedisStorage(known, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
    return SlidingWindowCounterRateLimiter(storage)


class _Away:
    """Until when the broker is not asked, since it did not answer."""

    until = 0.0


class PerKey(BaseThrottle):
    """`settings.REQUESTS_A_MINUTE` for each API key, else for each person or address."""

    _wait_s: float | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Whether there is room; with the broker down everything is let through."""
        if time.monotonic() < _Away.until:
            return True
        item = RateLimitItemPerMinute(settings.REQUESTS_A_MINUTE)
        who = _who(request)
        limiter = _limiter(settings.REDIS_URL)
        try:
            if limiter.hit(item, "api", who):
                return True
            reset = limiter.get_window_stats(item, "api", who).reset_time
        except Exception:
            _Away.until = time.monotonic() + PAUSE_S
            log.warning("requests are not counted: the broker is away", exc_info=True)
            return True
        self._wait_s = max(1.0, reset - time.time())
        return False

    def wait(self) -> float | None:
        """Seconds until there is room again."""
        return self._wait_s


def _who(request: Request) -> str:
    if isinstance(request.auth, ApiKey):
        return f"key:{request.auth.pk}"
    if request.user.is_authenticated:
        return f"user:{request.user.pk}"
    return f"at:{request.META.get('REMOTE_ADDR', '')}"
