"""Signing in with a passkey, alone or after a password, and the forms on which somebody adds, names
and removes theirs. A script fetches what the browser needs and sends its answer as a form."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from loom.errors import CommandError, not_found
from loom.passkeys import commands
from loom.people.commands import accounts as people
from loom.people.pages.accounts import next_address
from loom.site.display import browser
from loom.site.forms import PageForm, Word
from loom.site.page_requests import PersonRequest, anybody, as_shown, in_one_line, person

ACCESS = "/settings/access"


class AnswerForm(PageForm):
    """What the browser answers, as JSON."""

    answer = Word()


def _as_json(make: Callable[[], dict[str, Any]]) -> HttpResponse:
    try:
        return JsonResponse(make())
    except CommandError as refused:
        return JsonResponse(as_shown(refused).body, status=refused.status)


@never_cache
@require_POST
@anybody
def options(request: HttpRequest) -> HttpResponse:
    """The options of `navigator.credentials.get`."""
    return _as_json(lambda: commands.ask(request))


@never_cache
@require_POST
@anybody
def sign_in(request: HttpRequest) -> HttpResponse:
    """Signs in whose passkey the browser used, and goes to where they wanted."""
    waits = people.who_waits(request)
    wanted = waits[1] if waits else next_address(request)
    try:
        people.sign_in(request, commands.user_of(request, **AnswerForm.read(request)))
    except CommandError as refused:
        context = {"next": wanted, "refused": as_shown(refused)}
        page = "passkeys/ask.html" if waits else "pages/signin.html"
        status = 429 if refused.code == "LIMIT_EXCEEDED" else 400
        return render(request, page, context, status=status)
    return HttpResponseRedirect(wanted)


@never_cache
@require_GET
@anybody
def ask(request: HttpRequest) -> HttpResponse:
    """Asks who has entered their password for a passkey."""
    if people.who_waits(request) is None:
        return HttpResponseRedirect("/signin")
    return render(request, "passkeys/ask.html")


@never_cache
@require_POST
@person
def new_options(request: PersonRequest) -> HttpResponse:
    """The options of `navigator.credentials.create`."""
    return _as_json(lambda: commands.begin(request, request.user))


class NewPasskeyForm(AnswerForm):
    """A new passkey; without a name it is called as its browser."""

    name = Word()


class PasskeyForm(PageForm):
    """A passkey, and another name for it."""

    passkey = Word()
    name = Word()


class AfterPasswordForm(PageForm):
    """Whether a passkey is asked for after a password."""

    is_asked = Word()


def _add(request: PersonRequest) -> str:
    given = NewPasskeyForm.read(request)
    name = given["name"] or browser(request.headers.get("User-Agent", ""))
    passkey = commands.add(request, request.user, name=name, answer=given["answer"])
    return gettext("You can sign in with the passkey %(name)s from now on.") % {"name": passkey}


def _rename(request: PersonRequest) -> str:
    given = PasskeyForm.read(request)
    commands.rename(request.user, given["passkey"], name=given["name"])
    return gettext("Saved.")


def _remove(request: PersonRequest) -> str:
    passkey = commands.remove(request.user, PasskeyForm.read(request)["passkey"])
    return gettext("The passkey %(name)s has been removed. Delete it on your device as well.") % {
        "name": passkey
    }


def _asked(request: PersonRequest) -> str:
    commands.ask_after_password(
        request.user, really=AfterPasswordForm.read(request)["is_asked"] == "1"
    )
    return gettext("Saved.")


_ACTIONS = {"add": _add, "rename": _rename, "remove": _remove, "asked": _asked}


@never_cache
@require_POST
@person
def change(request: PersonRequest, action: str) -> HttpResponse:
    """Handles one of the forms, and shows the page again."""
    if action not in _ACTIONS:
        raise not_found("This form")
    try:
        messages.success(request, _ACTIONS[action](request))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(ACCESS)


PATHS = [
    path("passkeys/options", options),
    path("passkeys/signin", sign_in),
    path("passkeys/ask", ask),
    path("passkeys/new", new_options),
    path("passkeys/do/<slug:action>", change),
]
