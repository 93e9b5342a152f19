"""What goes wrong becomes `{ok: false, code, message, hint, retryable}`, whatever it is."""

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from loom.rules.errors import Code, CommandError, not_found

log = logging.getLogger("heddle.api")
_LINES = re.compile(r"/api/(trees|workspaces)/[^/]+/commands\Z")


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to an error in a view; None for a fault of our own, which becomes a 500."""
    refused = refusal_of(error)
    if refused is None:
        return None
    if isinstance(error, IntegrityError | OperationalError | InterfaceError):
        log.error("the database refused", exc_info=error)
    request, view = context["request"], context["view"]
    view.headers["Allow"] = ", ".join(one for one in view.allowed_methods if one != "OPTIONS")
    # Whatever the address usually answers in: pages and files go wrong in JSON, too.
    request.accepted_renderer = JSONRenderer()
    request.accepted_media_type = JSONRenderer.media_type
    body = body_of(refused, request.path)
    return Response(body, status=refused.status, headers=_headers(error))


@extend_schema(exclude=True)
@api_view(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@permission_classes([AllowAny])
def nowhere(request: Request, path: str = "") -> Response:
    """Every other address under /api/: NOT_FOUND."""
    raise not_found("This address", "GET /api/schema/ lists all addresses")


def body_of(refused: CommandError, path: str) -> dict[str, object]:
    """The error body; for a line also `reply`, `step`, and `canonical` where it was read."""
    if not _LINES.match(path):
        return refused.body
    step, canonical = getattr(refused, "step", None), getattr(refused, "canonical", "")
    body = {**refused.body, "reply": refused.reply, "step": step}
    return {**body, "canonical": canonical} if canonical else body


def refusal_of(error: Exception) -> CommandError | None:
    """The refusal that says what an error means; None where it means nothing to a caller."""
    if isinstance(error, CommandError):
        return error
    for kind, meaning in _MEANINGS:
        if isinstance(error, kind):
            return meaning(error)
    return None


def _headers(error: Exception) -> dict[str, str]:
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = str(error.auth_header)  # type: ignore[attr-defined]
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(error.wait))  # type: ignore[attr-defined]
    return headers


def _nobody(error: Any) -> CommandError:
    return CommandError(
        "UNAUTHENTICATED",
        "You are not signed in.",
        hint="send Authorization: Bearer KEY; manage.py apikey USER NAME makes a key",
    )


def _wrong_key(error: Any) -> CommandError:
    return CommandError("UNAUTHENTICATED", str(error.detail), hint="send Authorization: Bearer KEY")


def _denied(error: Any) -> CommandError:
    return CommandError(
        "PERMISSION_DENIED", "You may not do this.", hint="ask an owner of the grove"
    )


def _nothing(error: Any) -> CommandError:
    return not_found("This", "GET /api/schema/ lists all addresses")


def _wrong_method(error: Any) -> CommandError:
    return CommandError(
        "INVALID_SYNTAX",
        str(error.detail),
        hint="the header Allow lists the methods of this address",
        status=405,
    )


def _wrong_type(error: Any) -> CommandError:
    return CommandError(
        "INVALID_SYNTAX",
        "This content type is not supported.",
        hint="send Content-Type: application/json",
        status=415,
    )


def _wrong_accept(error: Any) -> CommandError:
    return CommandError(
        "INVALID_SYNTAX",
        "The requested content type is not available.",
        hint="send Accept: application/json",
        status=406,
    )


def _too_many(error: Any) -> CommandError:
    return CommandError(
        "LIMIT_EXCEEDED",
        "Too many requests in one minute.",
        hint="wait as many seconds as Retry-After says",
    )


def _too_big(error: Any) -> CommandError:
    return CommandError("LIMIT_EXCEEDED", "The body is too large.", hint="send less", status=413)


def _unreadable(error: Any) -> CommandError:
    return CommandError("INVALID_SYNTAX", "The request could not be read.", hint="send it again")


def _no_value(error: Any) -> CommandError:
    return CommandError(
        "INVALID_SYNTAX",
        "The request contains a value that can't be stored.",
        hint="check for U+0000, lone surrogates and numbers out of range",
    )


def _too_deep(error: Any) -> CommandError:
    return CommandError("INVALID_SYNTAX", "The request is nested too deeply.", hint="flatten it")


def _lost_race(error: Any) -> CommandError:
    return CommandError(
        "CONFLICT", "Somebody else changed this first.", hint="look again and retry"
    )


def _down(error: Any) -> CommandError:
    if any(words in str(error) for words in ("disk is full", "No space left")):
        hint = "whoever runs this Heddle makes room on its disk"
        return CommandError("UNAVAILABLE", "The disk is full; nothing was written.", hint=hint)
    if "database is locked" in str(error):
        return CommandError("UNAVAILABLE", "The database is busy.", hint="send it again")
    return CommandError("UNAVAILABLE", "The database is not responding.", hint="try again")


def _otherwise(error: Any) -> CommandError:
    code: Code = "UNAVAILABLE" if error.status_code >= 500 else "INVALID_SYNTAX"
    hint = "GET /api/schema/ says what is asked for"
    return CommandError(code, str(error.detail), hint=hint, status=error.status_code)


# The first that fits; an APIException that is not named stands last of its kind.
_MEANINGS: tuple[tuple[type[Exception], Callable[[Any], CommandError]], ...] = (
    (exceptions.NotAuthenticated, _nobody),
    (exceptions.AuthenticationFailed, _wrong_key),
    (exceptions.PermissionDenied, _denied),
    (exceptions.NotFound, _nothing),
    (Http404, _nothing),
    (exceptions.MethodNotAllowed, _wrong_method),
    (exceptions.NotAcceptable, _wrong_accept),
    (exceptions.UnsupportedMediaType, _wrong_type),
    (exceptions.Throttled, _too_many),
    (exceptions.APIException, _otherwise),
    (RequestDataTooBig, _too_big),
    (SuspiciousOperation, _unreadable),
    (MultiPartParserError, _unreadable),
    (UnreadablePostError, _unreadable),
    (DataError, _no_value),
    (UnicodeError, _no_value),
    (RecursionError, _too_deep),
    (IntegrityError, _lost_race),
    (OperationalError, _down),
    (InterfaceError, _down),
)
