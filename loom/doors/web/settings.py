"""A person's own settings: profile, theme, password, API keys, browsers signed in."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from loom.commands import groves, people
from loom.doors.web.fields import text_of, word_of
from loom.doors.web.gate import PersonRequest, person
from loom.rules.refusals import Refused

THEMES = ("system", "light", "dark")


@never_cache
@require_GET
@person
def page(request: PersonRequest) -> HttpResponse:
    """All settings on one page."""
    return render(request, "pages/settings.html", _context(request))


def _context(request: PersonRequest) -> dict[str, object]:
    return {
        "user": request.user,
        "themes": THEMES,
        "keys": request.user.api_keys.filter(revoked_at__isnull=True),
        "browsers": request.user.browsers.all(),
        "this_browser": request.session.session_key,
        "has_password": request.user.has_usable_password(),
    }


def _profile(request: PersonRequest) -> str:
    user = request.user
    theme = request.POST.get("theme", "system")
    name = word_of(request, "display_name")
    if theme not in THEMES or len(name) > 80:
        raise Refused(
            "INVALID_SYNTAX",
            "There is no such theme, or the name is too long.",
            hint="Choose a theme of the list, and at most 80 characters.",
        )
    user.display_name, user.theme = name, theme
    user.save(update_fields=["display_name", "theme"])
    return "Saved."


def _password(request: PersonRequest) -> str:
    old, new = text_of(request, "old"), text_of(request, "new")
    people.change_password(request, request.user, old=old, new=new)
    return "The password is changed, and your other browsers are signed out."


def _end_session(request: PersonRequest) -> str:
    people.end_session(request.user, word_of(request, "session"))
    return "That browser is signed out."


def _revoke(request: PersonRequest) -> str:
    people.revoke_key(request.user, word_of(request, "key"))
    return "The key is revoked."


def _make_grove(request: PersonRequest) -> str:
    made = groves.make_grove(request.user, text_of(request, "name"))
    return f"The grove {made.name} is made."


_DEEDS: dict[str, Callable[[PersonRequest], str]] = {
    "profile": _profile,
    "password": _password,
    "end-session": _end_session,
    "revoke-key": _revoke,
    "grove": _make_grove,
}


@never_cache
@sensitive_post_parameters("old", "new")
@require_POST
@person
def change(request: PersonRequest, deed: str) -> HttpResponse:
    """Does one of the forms of the page, and shows the page again."""
    if deed == "key":
        return _new_key(request)
    run = _DEEDS.get(deed)
    if run is None:
        raise Refused("NOT_FOUND", "There is no such form.", hint="Open the page again.")
    try:
        messages.success(request, run(request))
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
    return HttpResponseRedirect("/settings")


def _new_key(request: PersonRequest) -> HttpResponse:
    """The page with a fresh key on it, shown this once: it is never stored or redirected."""
    try:
        key, secret = people.make_key(request.user, word_of(request, "name"))
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
        return HttpResponseRedirect("/settings")
    context = {**_context(request), "fresh_key": key, "fresh_secret": secret}
    return render(request, "pages/settings.html", context)
