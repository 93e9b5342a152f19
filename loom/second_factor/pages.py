"""The page that asks for a code when somebody signs in, and those on which they set it up."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from loom.errors import CommandError, not_found
from loom.people.commands import accounts as people
from loom.people.models import User
from loom.second_factor import codes, commands
from loom.site.forms import PageForm, Word
from loom.site.page_requests import (
    PersonRequest,
    anybody,
    as_shown,
    in_one_line,
    person,
    shown_once,
)

SET_UP, ACCESS = "/second-factor/set-up", "/settings/access"


class CodeForm(PageForm):
    """A code of the app, or a recovery code."""

    code = Word()


def _checked(request: HttpRequest, user: User, run: Callable[[User, str], object]) -> object:
    """What `run` returns for the code of the form; attempts are counted, as with passwords."""
    # A one-time link asks for a code as well.
    help_ = "ask an operator to reset your second factor"
    attempt = people.PasswordAttempt(request, user.username, at="second factor", or_else=help_)
    outcome = run(user, CodeForm.read(request)["code"])
    attempt.succeeded()
    return outcome


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@anybody
def ask(request: HttpRequest) -> HttpResponse:
    """Asks who has entered their password for a code, and signs them in."""
    waits = people.who_waits(request)
    if waits is None:
        return HttpResponseRedirect("/signin")
    user, wanted = waits
    if not commands.asked_of(user):
        # It was removed meanwhile, or this user is asked for something else: that page says so.
        return HttpResponseRedirect("/signin")
    context: dict[str, object] = {"waits": user}
    status = 200
    if request.method == "POST":
        try:
            _checked(request, user, commands.check)
            people.sign_in(request, user)
            return HttpResponseRedirect(wanted)
        except CommandError as refused:
            context["refused"] = as_shown(refused)
            status = 429 if refused.code == "LIMIT_EXCEEDED" else 400
    return render(request, "second_factor/ask.html", context, status=status)


@never_cache
@require_GET
@person
def set_up(request: PersonRequest) -> HttpResponse:
    """The secret that was begun, as a QR code and to type, until it is confirmed."""
    return _set_up(request)


def _set_up(request: PersonRequest, refused: CommandError | None = None) -> HttpResponse:
    row = commands.waiting_for(request.user)
    if row is None:
        return HttpResponseRedirect(ACCESS)
    secret = codes.open_sealed(row.sealed)
    address = codes.app_address(secret, request.user.username, request.get_host())
    context = {
        "current": "access",
        "qr": codes.qr_code(address, gettext("QR code for your authenticator app")),
        "secret": codes.shown_secret(secret),
        "refused": refused and as_shown(refused),
    }
    return render(request, "second_factor/set_up.html", context, status=400 if refused else 200)


def _with_codes(request: PersonRequest, recovery_codes: object) -> HttpResponse:
    """The recovery codes, shown only this once."""
    context = {"current": "access", "recovery_codes": recovery_codes}
    return render(request, "second_factor/recovery_codes.html", context)


@never_cache
@sensitive_post_parameters("code")
@require_POST
@person
def change(request: PersonRequest, action: str) -> HttpResponse:
    """Begins, confirms or removes the second factor, or makes other recovery codes."""
    if action == "begin":
        return _begin(request)
    if action == "confirm":
        try:
            return _with_codes(request, _checked(request, request.user, commands.confirm))
        except CommandError as refused:
            return _set_up(request, refused)
    if action == "codes":
        return shown_once(
            request,
            lambda: _checked(request, request.user, commands.renew_codes),
            lambda recovery_codes: _with_codes(request, recovery_codes),
            back=ACCESS,
        )
    if action == "remove":
        return _remove(request)
    raise not_found("This form")


def _begin(request: PersonRequest) -> HttpResponse:
    try:
        commands.begin(request.user)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(ACCESS)
    return HttpResponseRedirect(SET_UP)


def _remove(request: PersonRequest) -> HttpResponse:
    try:
        _checked(request, request.user, commands.remove)
        messages.success(request, gettext("Your second factor has been removed."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(ACCESS)


PATHS = [
    path("second-factor", ask),
    path("second-factor/set-up", set_up),
    path("second-factor/do/<slug:action>", change),
]
