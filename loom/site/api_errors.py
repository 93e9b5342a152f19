"""Every error becomes `{ok: false, code, message, hint, retryable}`."""

import logging
import math
import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, DataError, IntegrityError, InterfaceError
from django.http import Http404, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from loom.engine import busy
from loom.errors import Code, CommandError, not_found
from loom.platform.deadlines import OverTimeError
from loom.site.page_requests import activate_language, refusal

log = logging.getLogger("heddle.api")
_LINES = re.compile(r"/api/(trees|workspaces)/[^/]+/commands\Z")


def answer(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """The response to an error in a view; None for an internal error, which becomes a 500."""
    refused = refusal_of(error)
    if refused is None:
        return None
    if isinstance(error, exceptions.NotAuthenticated) and _is_browser(context["request"]):
        refused = CommandError("UNAUTHENTICATED", "You are signed out.", hint=_SIGN_IN)
    request, view = context["request"], context["view"]
    if isinstance(error, DataError) and any("\0" in value for value in _in_query(request)):
        # PostgreSQL takes no such text, not even to look for it; SQLite finds nothing.
        refused = CommandError("INVALID_SYNTAX", "The address has U+0000 in it.", hint="remove it")
    elif isinstance(error, DatabaseError | InterfaceError):
        log.error("the database refused", exc_info=error)
    if _shows_pages(request):
        activate_language(request._request)
        shown = refusal(request._request, refused)
        for name, value in _headers(error).items():
            shown[name] = value
        return shown
    view.headers["Allow"] = ", ".join(
        method for method in view.allowed_methods if method != "OPTIONS"
    )
    # Errors are JSON also at addresses that usually return pages and files.
    request.accepted_renderer = JSONRenderer()
    request.accepted_media_type = JSONRenderer.media_type
    body = body_of(refused, request.path)
    return Response(body, status=refused.status, headers=_headers(error))


def _in_query(request: Request) -> Iterator[str]:
    """The values of the query."""
    for _, values in request.query_params.lists():
        yield from values


def _is_browser(request: Request) -> bool:
    """Whether a page sent the request: signing out leaves the CSRF cookie, which programs with a
    key never have."""
    return settings.CSRF_COOKIE_NAME in request.COOKIES


def _shows_pages(request: Request) -> bool:
    """Whether a browser shows the response: somebody has followed a link, such as of a file."""
    is_page = "text/html" in request.headers.get("Accept", "")
    return is_page and request.method in ("GET", "HEAD") and _is_browser(request)


@extend_schema(exclude=True)
@api_view(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@permission_classes([AllowAny])
def nowhere(request: Request, path: str = "") -> Response:
    """Every other address under /api/: NOT_FOUND."""
    raise not_found("This address", "GET /api/schema/ lists all addresses")


def body_of(refused: CommandError, path: str) -> dict[str, object]:
    """The error body; for a line also `reply`, `step`, and `canonical` if it could be parsed."""
    if not _LINES.match(path):
        return refused.body
    body = {**refused.body, "reply": refused.reply, "step": refused.step}
    return {**body, "canonical": refused.canonical} if refused.canonical else body


def refusal_of(error: Exception) -> CommandError | None:
    """The error that a caller gets for an exception; None for an internal error."""
    if isinstance(error, CommandError):
        return error
    if isinstance(error, Http404 | exceptions.NotFound):
        return not_found("This", "GET /api/schema/ lists all addresses")
    if isinstance(error, DatabaseError) and busy.is_read_only(error):
        return CommandError(
            "UNAVAILABLE",
            "The database can only be read now; nothing was written.",
            hint="ask the operator of this Heddle which database it writes to",
        )
    if isinstance(error, DatabaseError) and busy.is_incomplete(error):
        return CommandError(
            "UNAVAILABLE",
            "The database does not fit this version of Heddle; nothing was written.",
            hint="ask the operator of this Heddle to read its log; a start updates the database",
            retryable=False,
        )
    if isinstance(error, busy.NOT_REACHED):
        return _down(error)
    for kind in type(error).__mro__:
        if kind in _MEANINGS:
            code, message, hint, status = _MEANINGS[kind]
            sentence = message or str(getattr(error, "detail", ""))
            return CommandError(code, sentence, hint=hint, status=status)
    if isinstance(error, exceptions.APIException):
        code = "UNAVAILABLE" if error.status_code >= 500 else "INVALID_SYNTAX"
        hint = "see GET /api/schema/ for the expected fields"
        return CommandError(code, str(error.detail), hint=hint, status=error.status_code)
    return None


def _headers(error: Exception) -> dict[str, str]:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = str(error.auth_header)  # type: ignore[attr-defined]
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(error.wait))  # type: ignore[attr-defined]
    return headers


def _down(error: Exception) -> CommandError:
    if busy.is_full(error):
        hint = "ask the operator of this Heddle to free disk space"
        return CommandError("UNAVAILABLE", "The disk is full; nothing was written.", hint=hint)
    if busy.is_interrupted(error):
        return OverTimeError()
    if busy.is_busy(error):
        return CommandError("UNAVAILABLE", "The database is busy.", hint="send it again")
    return CommandError("UNAVAILABLE", "The database is not responding.", hint="try again")


_Meaning = tuple[Code, str, str, int | None]  # code, message ("": the error's own), hint, status
_KEY = "send Authorization: Bearer KEY"
_SIGN_IN = "sign in at /signin, then send it again"
_UNREADABLE: _Meaning = ("INVALID_SYNTAX", "The request could not be read.", "send it again", None)
_UNSTORABLE: _Meaning = (
    "INVALID_SYNTAX",
    "The request contains a value that can't be stored.",
    "check for U+0000, lone surrogates and numbers out of range",
    None,
)
# By kind, the most specific first; other APIExceptions come last (see refusal_of).
_MEANINGS: dict[type, _Meaning] = {
    exceptions.NotAuthenticated: (
        "UNAUTHENTICATED",
        "You are not signed in.",
        f"{_KEY}; manage.py apikey USER NAME makes a key",
        None,
    ),
    exceptions.AuthenticationFailed: ("UNAUTHENTICATED", "", _KEY, None),
    exceptions.PermissionDenied: (
        "PERMISSION_DENIED",
        "You may not do this.",
        "ask an owner of the grove",
        None,
    ),
    exceptions.MethodNotAllowed: (
        "INVALID_SYNTAX",
        "",
        "the header Allow lists the methods of this address",
        405,
    ),
    exceptions.NotAcceptable: (
        "INVALID_SYNTAX",
        "The requested content type is not available.",
        "send Accept: application/json",
        406,
    ),
    exceptions.UnsupportedMediaType: (
        "INVALID_SYNTAX",
        "This content type is not supported.",
        "send Content-Type: application/json",
        415,
    ),
    exceptions.Throttled: (
        "LIMIT_EXCEEDED",
        "Too many requests in one minute.",
        "wait as many seconds as Retry-After says",
        None,
    ),
    RequestDataTooBig: ("LIMIT_EXCEEDED", "The body is too large.", "send less", 413),
    SuspiciousOperation: _UNREADABLE,
    MultiPartParserError: _UNREADABLE,
    UnreadablePostError: _UNREADABLE,
    DataError: _UNSTORABLE,
    UnicodeError: _UNSTORABLE,
    RecursionError: ("INVALID_SYNTAX", "The request is nested too deeply.", "flatten it", None),
    IntegrityError: ("CONFLICT", "Somebody else changed this first.", "look again and retry", None),
}
