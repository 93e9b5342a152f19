"""Signing in at the organisation and coming back; linking that account to one's own, and removing
the link."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from loom.errors import CommandError, not_found
from loom.openid import commands, provider
from loom.people.commands import accounts as people
from loom.people.models import User
from loom.people.pages.accounts import next_address
from loom.site.page_requests import PersonRequest, anybody, as_shown, in_one_line, person

NEXT, LINKS = "openid_next", "openid_links"  # in the session, between going there and coming back
ACCESS = "/settings/access"


def _demand_set_up() -> None:
    if not provider.is_set_up():
        raise not_found("Signing in at an organisation", "The operator has not set it up.")


@never_cache
@require_GET
@anybody
def start(request: HttpRequest) -> HttpResponse:
    """Sends the browser to the organisation; `?next=` is where it goes afterwards."""
    _demand_set_up()
    request.session[NEXT] = next_address(request)
    return provider.send_there(request)


@never_cache
@require_GET
@anybody
def back(request: HttpRequest) -> HttpResponse:
    """Where the organisation sends the browser: signs in whom it names, or links that account to
    the person who asked for it."""
    _demand_set_up()
    wanted = str(request.session.pop(NEXT, "/"))
    links = request.session.pop(LINKS, None)
    try:
        claims = provider.claims_of(request)
        # Only for the person who pressed the button, in this browser.
        if isinstance(request.user, User) and links == request.user.pk:
            commands.link(request.user, claims)
            messages.success(request, gettext("You can sign in with this account from now on."))
            return HttpResponseRedirect(ACCESS)
        people.sign_in(request, commands.user_of(claims))
    except CommandError as refused:
        if request.user.is_authenticated:
            messages.error(request, in_one_line(refused))
            return HttpResponseRedirect(ACCESS)
        context = {"next": wanted, "refused": as_shown(refused)}
        return render(request, "pages/signin.html", context, status=400)
    return HttpResponseRedirect(wanted)


@never_cache
@require_POST
@person
def link(request: PersonRequest) -> HttpResponse:
    """Asks to link the account at the organisation. The page leads there by a link, as browsers
    follow no form to another site (our security policy)."""
    _demand_set_up()
    request.session[LINKS] = request.user.pk
    return render(request, "openid/link.html", {"user": request.user})


@never_cache
@require_POST
@person
def unlink(request: PersonRequest) -> HttpResponse:
    """Removes the link."""
    try:
        commands.unlink(request.user)
        messages.success(request, gettext("The link has been removed."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(ACCESS)


PATHS = [
    path("openid/start", start),
    path("openid/back", back),
    path("openid/link", link),
    path("openid/unlink", unlink),
]
