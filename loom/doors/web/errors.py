"""Pages for what goes wrong outside a view: unknown addresses, bad requests, faults.

Addresses under /api/ get the error body of docs/model.md §14.3 instead.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from loom.doors.web.gate import refusal
from loom.rules.refusals import Refused


def _answer(request: HttpRequest, refused: Refused) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse(refused.body, status=refused.status)
    return refusal(request, refused)


def bad_request(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """400: a body or header that Django itself could not take."""
    return _answer(
        request,
        Refused("INVALID_SYNTAX", "The request could not be read.", hint="Go back and try again."),
    )


def forbidden(request: HttpRequest, exception: Any = None, reason: str = "") -> HttpResponse:
    """403: usually a form whose page was opened before signing in or out."""
    return _answer(
        request,
        Refused(
            "PERMISSION_DENIED",
            "This form was opened before you signed in or out, or comes from another site.",
            hint="Reload the page and send it again.",
        ),
    )


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """404."""
    return _answer(
        request,
        Refused("NOT_FOUND", "There is no page at this address.", hint="Go back to your trees."),
    )


def fault(request: HttpRequest) -> HttpResponse:
    """500: says so without leaning on anything that may be broken itself."""
    refused = Refused(
        "UNAVAILABLE",
        "Something went wrong inside Heddle; nothing was changed.",
        hint="Try again. If it stays, tell whoever runs this Heddle.",
        status=500,
    )
    return _answer(request, refused)
