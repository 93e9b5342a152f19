"""Access checks for views, error pages, and form fields as text."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from loom.models import User
from loom.rules.errors import CommandError


def text_of(request: HttpRequest, name: str) -> str:
    """The field's text, with the CRLF that a form sends turned back into LF."""
    value = request.POST.get(name, "").replace("\r\n", "\n")
    if "\0" in value:
        raise CommandError(
            "INVALID_SYNTAX", f"The field {name} contains U+0000.", hint="Remove it."
        )
    return value


def word_of(request: HttpRequest, name: str) -> str:
    """A one-line field, such as a name or a setting, stripped of surrounding whitespace."""
    return text_of(request, name).strip()


def number_of(request: HttpRequest, name: str) -> float | None:
    """A number, or None where the field is empty."""
    value = word_of(request, name)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CommandError(
            "INVALID_SYNTAX", f"{name}: {value!r} is not a number.", hint="Write digits."
        )
    return number


def whole_of(request: HttpRequest, name: str) -> int | None:
    """A whole number, or None where the field is empty."""
    number = number_of(request, name)
    if number is not None and number != int(number):
        raise CommandError(
            "INVALID_SYNTAX", f"{name}: {number} is not a whole number.", hint="Round it."
        )
    return None if number is None else int(number)


# Access checks for views, and error pages.


P = ParamSpec("P")


class PersonRequest(HttpRequest):
    """A request whose sender has signed in."""

    user: User


PersonView = Callable[Concatenate[PersonRequest, P], HttpResponse]
OpenView = Callable[Concatenate[HttpRequest, P], HttpResponse]


def person(view: PersonView[P]) -> OpenView[P]:
    """A view for people who have signed in; errors become pages, or plain parts where a script
    asked (`X-Part`, htmx)."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            if is_part(request):
                return HttpResponse(gettext("Sign in again to continue."), status=401)
            return HttpResponseRedirect(f"/signin?next={quote(request.get_full_path())}")
        _activate_language(request)
        try:
            return view(request, *args, **kwargs)  # type: ignore[arg-type]
        except CommandError as refused:
            return refusal(request, refused)

    return gated


def _activate_language(request: HttpRequest) -> None:
    """Activates the language that the person chose, if it still has a catalogue. Django resets the
    language after the request."""
    chosen = request.user.likes.language if isinstance(request.user, User) else ""
    if chosen and chosen in dict(settings.LANGUAGES):
        translation.activate(chosen)
        request.LANGUAGE_CODE = chosen


def anybody(view: OpenView[P]) -> OpenView[P]:
    """A view for everybody; errors become pages."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except CommandError as refused:
            return refusal(request, refused)

    return gated


def is_part(request: HttpRequest) -> bool:
    """Whether a script asked for a part of a page."""
    return "X-Part" in request.headers or "HX-Request" in request.headers


HEADINGS = {
    400: gettext_noop("The request could not be read"),
    401: gettext_noop("Please sign in"),
    403: gettext_noop("You don't have permission to do this"),
    404: gettext_noop("Page not found"),
    409: gettext_noop("This can't be done"),
    413: gettext_noop("This is too large"),
    429: gettext_noop("Too many requests"),
    503: gettext_noop("Not available at the moment"),
}


def refusal(request: HttpRequest, refused: CommandError) -> HttpResponse:
    """The page that says what happened, why, and what to do."""
    context = {
        "heading": gettext(HEADINGS.get(refused.status, gettext_noop("That did not work"))),
        "message": refused.message,
        "hint": refused.hint,
        "code": refused.code,
    }
    template = "parts/refusal.html" if is_part(request) else "pages/refusal.html"
    return render(request, template, context, status=refused.status)
