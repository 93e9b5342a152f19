"""Requests: the caller (an API key or a signed-in browser), the rate limit, and bodies, which are
read within bounds and then validated by one frozen model each."""

import contextlib
import logging
import re
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from math import isfinite
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeVar, cast

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, from_json, to_json
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from loom.errors import CommandError
from loom.people.models import ApiKey, User, UserSession
from loom.permissions import SCOPE_REMEDY, SCOPES, Scope
from loom.platform.networks import network_of
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.hashes import digest

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module while it loads


# Precision of "last used": one write per minute for a key that is in constant use.
FRESH = timedelta(minutes=1)
_KEY = PreparedQuery(
    lambda: ApiKey.objects.select_related("user").filter(
        digest=Given("digest"), revoked_at__isnull=True, user__is_active=True
    )
)


class Bearer(BaseAuthentication):
    """`Authorization: Bearer KEY`. Needs no CSRF token, because browsers do not send it
    automatically."""

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
        _note_use(key)
        key.user.scope = cast(Scope, key.scope)
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        """The value of `WWW-Authenticate` in a 401 response."""
        return bearer_challenge(f"{request.scheme}://{request.get_host()}", "api")


def bearer_challenge(base_url: str, resource: str) -> str:
    """The value of `WWW-Authenticate` in a 401 response; with OAuth, it says where a program reads
    who gives access to `resource`, `api` or `mcp` (RFC 9728)."""
    if not settings.OAUTH:
        return 'Bearer realm="Heddle"'
    where = f"{base_url}/.well-known/oauth-protected-resource/{resource}"
    return f'Bearer realm="Heddle", resource_metadata="{where}", scope="read write"'


class KeyMayChange(BasePermission):
    """Refuses requests that change something if the key is read-only. Endpoints that run lines
    do without it: `execute` decides which of them change something."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Whether the method fits the scope of the key, if there is one; else PERMISSION_DENIED."""
        is_look = request.method in SAFE_METHODS
        if isinstance(request.auth, ApiKey) and request.auth.scope == "read" and not is_look:
            raise CommandError(
                "PERMISSION_DENIED",
                "This API key is read-only.",
                hint=SCOPE_REMEDY,
            )
        return True


def demand_scope(request: Request, scope: Scope) -> None:
    """Refuses an API key with a smaller scope; browsers may do everything that their person may."""
    if SCOPES.index(user_of(request).scope) < SCOPES.index(scope):
        raise CommandError(
            "PERMISSION_DENIED",
            f"This needs an API key with the scope {scope}.",
            hint="create one under Settings, Access",
        )


def demand_browser(request: Request, what: str, *, page: str = "Access") -> None:
    """Refuses an API key: a stolen key must not be enough to take over the account. `page` is that
    of the settings on which a person does it."""
    if isinstance(request.auth, ApiKey):
        raise CommandError(
            "PERMISSION_DENIED",
            f"An API key {what}.",
            hint=f"sign in with a browser and open Settings, {page}",
        )


def _note_use(key: ApiKey) -> None:
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > FRESH:
        _note(ApiKey.objects.filter(pk=key.pk), last_used_at=now)


class Cookie(SessionAuthentication):
    """A signed-in browser. Requests that change something need the CSRF token in `X-CSRFToken`."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """The browser's user; None if nobody is signed in."""
        signed_in = super().authenticate(request)
        if signed_in is None or not isinstance(signed_in[0], User):
            return None
        _note_sight(request)
        return signed_in[0], None

    def enforce_csrf(self, request: Request) -> None:
        """Refuses a request that another site may have made the browser send."""
        try:
            super().enforce_csrf(request)
        except CommandError:
            raise  # Django reads the body to find the token, and the body may not be readable.
        except Exception as error:
            raise CommandError(
                "PERMISSION_DENIED",
                "The CSRF token is missing or wrong.",
                hint="send the cookie csrftoken as X-CSRFToken, or use an API key",
            ) from error


_SEEN = PreparedQuery(
    lambda: UserSession.objects.filter(session_key=Given("key")).values_list("seen_at")
)


def _note_sight(request: Request) -> None:
    now = timezone.now()
    key = request._request.session.session_key or ""
    # Read first: an UPDATE takes SQLite's write lock even if it changes no row.
    if any(seen < now - FRESH for (seen,) in _SEEN.all(key=key)):
        _note(UserSession.objects.filter(session_key=key), seen_at=now)


def _note(rows: QuerySet[Any], **seen: datetime) -> None:
    """Stores when something was last used, in its own transaction. A busy database does not make
    reading fail: the next request stores it."""
    with contextlib.suppress(OperationalError), transaction.atomic():
        rows.update(**seen)


def user_of(request: Request) -> User:
    """The caller. UNAUTHENTICATED if nobody is signed in."""
    if not isinstance(request.user, User):
        raise CommandError("UNAUTHENTICATED", "You are not signed in.", hint="send a key")
    return request.user


# Requests per minute, for each key or signed-in person, counted in the broker.

log = logging.getLogger("heddle.limits")

PATIENCE_S = 0.25  # seconds; a broker that hangs must not delay every request

PAUSE_S = 5.0  # seconds until it is asked again


@cache
def _limiter(url: str) -> SlidingWindowCounterRateLimiter:
    # Two counters for each key, updated by one script: small, and exact enough.
    known = url.replace("unix://", "redis+unix://", 1) if url.startswith("unix://") else url
    storage = RedisStorage(known, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
    return SlidingWindowCounterRateLimiter(storage)


class _Away:
    """Until when the broker is not asked because it did not answer."""

    until = 0.0


class PerKey(BaseThrottle):
    """`settings.REQUESTS_A_MINUTE` for each API key, else for each person or address."""

    _wait_s: float | None = None

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Whether the request is within the limit; if the broker is down, all are."""
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
        """Seconds until the next request is allowed."""
        return self._wait_s


def _who(request: Request) -> str:
    if isinstance(request.auth, ApiKey):
        return f"key:{request.auth.pk}"
    if request.user.is_authenticated:
        return f"user:{request.user.pk}"
    return f"at:{network_of(request.META.get('REMOTE_ADDR', ''))}"


# Bodies.

MAX_BYTES = 8 * 1024 * 1024

MAX_DEPTH = 64
MAX_VALUES = 100_000


class BoundedJSON(BaseParser):
    """JSON in UTF-8 with at most 8 MiB, 64 levels, 100,000 values, finite numbers and no lone
    surrogates."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value. LIMIT_EXCEEDED (413) over the bounds, INVALID_SYNTAX for the rest."""
        raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"A body has at most {MAX_BYTES:,} bytes.",
                hint="send less at once",
                is_size=True,
            )
        return read_json(raw)


def read_json(raw: bytes) -> Any:
    """The value of JSON bytes within the bounds. The parser itself refuses invalid UTF-8, lone
    surrogates, constants such as NaN, and more than 200 levels."""
    demand_few_values(raw)
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        if _is_deep(raw):
            raise _too_deep() from None
        raise CommandError(
            "INVALID_SYNTAX", f"The body is not JSON: {error}.", hint="send JSON in UTF-8"
        ) from None
    is_deep = raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
    if is_deep or b"\\u0000" in raw or b"Infinity" in to_json(value, inf_nan_mode="constants"):
        _demand_storable(value)
    return value


_BRACKETS = re.compile(rb'\\.|["\[{\]}]', re.DOTALL)  # and what begins, ends or stands in a text
MOST_LOOKED_AT = 1 << 20  # bytes, of which the signs take a tenth of a second


def _is_deep(raw: bytes) -> bool:
    """Whether JSON has more levels than a body may have within its first MiB, also where it is not
    well formed. The parser refuses such a body by a sentence of its own, without a code."""
    depth, is_text = 0, False
    for match in _BRACKETS.finditer(raw, 0, MOST_LOOKED_AT):
        sign = match[0]
        if sign == b'"':
            is_text = not is_text
        elif not is_text and len(sign) == 1:
            depth += 1 if sign in b"[{" else -1
            if depth > MAX_DEPTH:
                return True
    return False


def demand_few_values(raw: bytes) -> None:
    """Refuses JSON with many more than MAX_VALUES values before it is parsed: the parser lets
    nothing else run meanwhile, half a second for 8 MiB of empty lists."""
    if _marks(raw) + raw.count(b'"') // 2 <= MAX_VALUES:
        return
    # Most of a large body is text. Without escapes, every second piece between quotes is none.
    bare = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 2 * MAX_VALUES or _marks(b"".join(bare.split(b'"')[::2])) > MAX_VALUES:
        sentence = f"A body has at most {MAX_VALUES:,} values."
        raise CommandError("LIMIT_EXCEEDED", sentence, hint="send less at once", is_size=True)


def _marks(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{") + raw.count(b",")


def _too_deep() -> CommandError:
    sentence = f"A body has at most {MAX_DEPTH} levels."
    return CommandError("LIMIT_EXCEEDED", sentence, hint="flatten it", is_size=True)


def _demand_storable(value: Any) -> None:
    """Refuses U+0000, also in keys, infinite numbers, and more than MAX_DEPTH levels."""
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for part in level:
            if isinstance(part, list | dict):
                if depth == MAX_DEPTH:
                    raise _too_deep()
                below.extend(part)
                if isinstance(part, dict):
                    below.extend(part.values())
            elif isinstance(part, str) and "\0" in part:
                raise CommandError("INVALID_SYNTAX", "A text contains U+0000.", hint="remove it")
            elif isinstance(part, float) and not isfinite(part):
                raise CommandError(
                    "INVALID_SYNTAX", "A number is too large.", hint="send a smaller one"
                )
        level, depth = below, depth + 1


class Body(BaseModel):
    """Base class of all bodies: nothing is converted, stripped or ignored. The schema describes
    them as they are read: a field with a default is optional."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        json_schema_mode_override="validation",
        defer_build=True,  # as of `Returned`
    )


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class PartialBody(Body):
    """Base class of bodies in which every field is optional; fields that are not sent stay as they
    are. Defaults only make fields optional and are never used: `sent` has the values.
    """

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    @property
    def sent(self) -> dict[str, Any]:
        """The fields that were sent, by name."""
        return self.model_dump(exclude_unset=True)


B = TypeVar("B", bound=Body)


def read(request: Request, model: type[B]) -> B:
    """The request's body as `model`. INVALID_SYNTAX with a plain sentence if it is not valid."""
    given = request.data
    if not isinstance(given, dict):
        raise CommandError(
            "INVALID_SYNTAX", "The body must be an object.", hint='such as {"name": …}'
        )
    try:
        return model.model_validate(_with_whole_numbers(given))
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], model) from None


def _with_whole_numbers(value: Any) -> Any:
    """The value with 2.0 as 2: to JSON, and to JSON schemas, both are the same whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    return [_with_whole_numbers(item) for item in value] if isinstance(value, list) else value


# pydantic's error → the sentence returned. {field} is the place, the rest comes from its context.
_SAID = {
    "missing": "{field} is missing",
    "extra_forbidden": "there is no field {field} here",
    "string_type": "{field} must be a text",
    "int_type": "{field} must be a whole number",
    "float_type": "{field} must be a number",
    "bool_type": "{field} must be true or false",
    "list_type": "{field} must be a list",
    "dict_type": "{field} must be an object",
    "literal_error": "{field} must be {expected}",
    "string_too_short": "{field} must not be empty",
    "string_too_long": "{field} has at most {max_length} characters",
    "too_long": "{field} has at most {max_length} entries",
    "greater_than_equal": "{field} must be at least {ge:g}",
    "less_than_equal": "{field} must be at most {le:g}",
}

_OVER = {"string_too_long": 413, "too_long": 413, "less_than_equal": 429}


def _refusal(error: ErrorDetails, model: type[Body]) -> CommandError:
    kind = error["type"]
    field = ".".join(str(part) for part in error["loc"]) or "the body"
    words = _SAID.get(kind, "{field}: " + _plain(error["msg"])).format(
        field=field, **error.get("ctx", {})
    )
    sentence = words[0].upper() + words[1:] + "."
    names = (field_info.alias or name for name, field_info in model.model_fields.items())
    hint = f"fields: {', '.join(names)}"
    if kind in _OVER:
        return CommandError("LIMIT_EXCEEDED", sentence, hint=hint, status=_OVER[kind])
    return CommandError("INVALID_SYNTAX", sentence, hint=hint)


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("{", "(").replace("}", ")")


# Parts of several bodies. A body that only one view reads is defined beside it.

MAX_TEXT = 1_000_000

# The schema of a name: one line with something to read in it (loom.people.names).
ONE_LINE = r"^ *[^\x00-\x20\x7f-\xa0][^\x00-\x1f\x7f-\x9f]*$"
Word = Annotated[str, Field(min_length=1, max_length=80)]


def _instant(value: Any) -> datetime:
    instant = parse_datetime(value) if isinstance(value, str) else None
    if instant is None or instant.tzinfo is None:
        raise ValueError("must be a time with its zone, such as 2026-11-21T02:07:00Z")
    return instant


Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class LinkNamed(Body):
    """The id of an invitation or public link."""

    id: str = Field(min_length=1, max_length=32)
