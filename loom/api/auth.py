"""Who asks: a bearer of an API key or a signed-in browser, and how many requests a minute."""

import contextlib
import logging
import time
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from loom.models import ApiKey, User, UserSession
from loom.models.base import Given, Prepared
from loom.rules.errors import CommandError
from loom.rules.identity import digest
from loom.rules.permissions import SCOPES, Scope

if TYPE_CHECKING:
    from rest_framework.views import APIView


# How exact "last used" is: one write a minute for a key that is used all the time.
FRESH = timedelta(minutes=1)

_KEY = Prepared(
    lambda: ApiKey.objects.select_related("user").filter(
        digest=Given("digest"), revoked_at__isnull=True, user__is_active=True
    )
)


class Bearer(BaseAuthentication):
    """`Authorization: Bearer KEY`. Needs no CSRF token: no browser sends it by itself."""

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        """The key's user, and the key; None without the header."""
        given = request.META.get("HTTP_AUTHORIZATION", "")
        if not given:
            return None
        scheme, _, secret = given.partition(" ")
        if scheme.lower() != "bearer":
            raise AuthenticationFailed("Only the scheme Bearer is known.")
        key = _KEY.first(digest=digest(secret.strip()))
        if key is None:
            raise AuthenticationFailed("This key is unknown or was revoked.")
        if key.is_over:
            raise AuthenticationFailed("This key has expired.")
        _demand_method(request, key)
        _note_use(key)
        key.user.scope = cast(Scope, key.scope)
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        """What a 401 answers in `WWW-Authenticate`."""
        return 'Bearer realm="Heddle"'


def _demand_method(request: Request, key: ApiKey) -> None:
    """Refuses requests that change something to a key that is read-only. Lines are let
    through: which of them change something, `execute` decides."""
    is_line = request.path.endswith("/commands")
    if key.scope == "read" and request.method not in SAFE_METHODS and not is_line:
        raise CommandError(
            "PERMISSION_DENIED",
            "This API key is read-only.",
            hint="use a key with the scope write",
        )


def demand_scope(request: Request, scope: Scope) -> None:
    """Refuses an API key whose scope is smaller; browsers may do all that their person may."""
    if SCOPES.index(user_of(request).scope) < SCOPES.index(scope):
        raise CommandError(
            "PERMISSION_DENIED",
            f"This needs an API key with the scope {scope}.",
            hint="create one under Settings, Access",
        )


def demand_browser(request: Request, what: str) -> None:
    """Refuses an API key: a stolen key must not be enough to take the account over."""
    if isinstance(request.auth, ApiKey):
        raise CommandError(
            "PERMISSION_DENIED",
            f"An API key {what}.",
            hint="sign in with a browser and open Settings, Access",
        )


def _note_use(key: ApiKey) -> None:
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > FRESH:
        _note(ApiKey.objects.filter(pk=key.pk), last_used_at=now)


class Cookie(SessionAuthentication):
    """A signed-in browser. What changes something needs the CSRF token in `X-CSRFToken`."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """The browser's user; None where nobody is signed in."""
        found = super().authenticate(request)
        if found is None or not isinstance(found[0], User):
            return None
        _note_sight(request)
        return found[0], None

    def enforce_csrf(self, request: Request) -> None:
        """Refuses a request that another site may have made the browser send."""
        try:
            super().enforce_csrf(request)
        except CommandError:
            raise  # Looking for the token, Django reads the body, which may not be readable.
        except Exception as error:
            raise CommandError(
                "PERMISSION_DENIED",
                "The CSRF token is missing or wrong.",
                hint="send the cookie csrftoken as X-CSRFToken, or use an API key",
            ) from error


_SEEN = Prepared(
    lambda: UserSession.objects.filter(session_key=Given("key")).values_list("seen_at")
)


def _note_sight(request: Request) -> None:
    now = timezone.now()
    key = request._request.session.session_key or ""
    # Looked for first: an UPDATE takes SQLite's write lock also where it changes no row.
    if any(seen < now - FRESH for (seen,) in _SEEN.all(key=key)):
        _note(UserSession.objects.filter(session_key=key), seen_at=now)


def _note(rows: QuerySet[Any], **seen: datetime) -> None:
    """Writes when something was last used, in a transaction of its own. Reading does not fail
    because the database is busy with writing: the next request notes it."""
    with contextlib.suppress(OperationalError), transaction.atomic():
        rows.update(**seen)


def user_of(request: Request) -> User:
    """Who asks. UNAUTHENTICATED where nobody does."""
    if not isinstance(request.user, User):
        raise CommandError("UNAUTHENTICATED", "You are not signed in.", hint="send a key")
    return request.user


# Requests a minute, for each key or signed-in person, counted in the broker.


# which asks for this module while it loads

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
