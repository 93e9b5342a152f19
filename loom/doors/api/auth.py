"""Who asks: a bearer of an API key, or somebody whose browser is signed in."""

import contextlib
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from loom.models import ApiKey, User, UserSession
from loom.models.prepared import Given, Prepared
from loom.rules.hashes import digest
from loom.rules.permissions import SCOPES, Scope
from loom.rules.refusals import Refused

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
    """Refuses requests that change something to a key that may only read. Lines are let
    through: which of them change something, `execute` decides."""
    is_line = request.path.endswith("/commands")
    if key.scope == "read" and request.method not in SAFE_METHODS and not is_line:
        raise Refused(
            "PERMISSION_DENIED",
            "This API key may only read.",
            hint="use a key with the scope write",
        )


def demand_scope(request: Request, scope: Scope) -> None:
    """Refuses an API key whose scope is smaller; browsers may do all that their person may."""
    if SCOPES.index(user_of(request).scope) < SCOPES.index(scope):
        raise Refused(
            "PERMISSION_DENIED",
            f"This needs an API key with the scope {scope}.",
            hint="make one on the page Settings, Access",
        )


def demand_browser(request: Request, what: str) -> None:
    """Refuses an API key: whoever finds one must not be able to take the account over."""
    if isinstance(request.auth, ApiKey):
        raise Refused(
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
        except Exception as error:
            raise Refused(
                "PERMISSION_DENIED",
                "The CSRF token is missing or wrong.",
                hint="send the cookie csrftoken as X-CSRFToken, or use an API key",
            ) from error


def _note_sight(request: Request) -> None:
    now = timezone.now()
    stale = UserSession.objects.filter(
        session_key=request._request.session.session_key or "", seen_at__lt=now - FRESH
    )
    # Looked for first: an UPDATE takes SQLite's write lock also where it changes no row.
    if stale.exists():
        _note(stale, seen_at=now)


def _note(rows: QuerySet[Any], **seen: datetime) -> None:
    """Writes when something was last used, in a transaction of its own. Reading does not fail
    because the database is busy with writing: the next request notes it."""
    with contextlib.suppress(OperationalError), transaction.atomic():
        rows.update(**seen)


def user_of(request: Request) -> User:
    """Who asks. UNAUTHENTICATED where nobody does."""
    if not isinstance(request.user, User):
        raise Refused("UNAUTHENTICATED", "Nobody is signed in.", hint="send a key")
    return request.user
