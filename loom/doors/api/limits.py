"""Requests a minute, for each key or signed-in person, counted in the broker."""

import logging
import time
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from loom.models import ApiKey

if TYPE_CHECKING:  # rest_framework.views reads this class while it is being imported
    from rest_framework.views import APIView

log = logging.getLogger("heddle.limits")


@cache
def _limiter() -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(RedisStorage(settings.REDIS_URL))


class PerKey(BaseThrottle):
    """`settings.REQUESTS_A_MINUTE` for each API key, else for each person or address."""

    _wait_s: float | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Whether there is room; with the broker down everything is let through."""
        item = RateLimitItemPerMinute(settings.REQUESTS_A_MINUTE)
        who = self._who(request)
        try:
            if _limiter().hit(item, "api", who):
                return True
            reset = _limiter().get_window_stats(item, "api", who).reset_time
        except Exception:
            log.warning("requests are not counted: the broker is away", exc_info=True)
            return True
        self._wait_s = max(1.0, reset - time.time())
        return False

    def wait(self) -> float | None:
        """Seconds until there is room again."""
        return self._wait_s

    def _who(self, request: Request) -> str:
        if isinstance(request.auth, ApiKey):
            return f"key:{request.auth.pk}"
        if request.user.is_authenticated:
            return f"user:{request.user.pk}"
        return f"at:{request.META.get('REMOTE_ADDR', '')}"
