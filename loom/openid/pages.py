"""Signing in at the organisation and coming back; linking that account to one's own, and removing
the link. The provider's side is loaded by the first who goes there: with Authlib it took 80 ms of
every start of the web process (measured)."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from loom.identities import coming_back
from loom.openid.asked import account_in, openid
from loom.people.pages.accounts import next_address
from loom.site.page_requests import anybody

NEXT = "openid_next"  # in the session, between going there and coming back


@never_cache
@require_GET
@anybody
def start(request: HttpRequest) -> HttpResponse:
    """Sends the browser to the organisation; `?next=` is where it goes afterwards."""
    coming_back.demand(openid)
    request.session[NEXT] = next_address(request)
    from loom.openid import provider

    return provider.send_there(request)


@never_cache
@require_GET
@anybody
def back(request: HttpRequest) -> HttpResponse:
    """Where the organisation sends the browser: signs in whom it names, or links that account to
    the person who asked for it."""
    issuer = coming_back.demand(openid)
    wanted = str(request.session.pop(NEXT, "/"))
    from loom.openid import provider

    return coming_back.let_in(
        request, issuer, lambda: account_in(provider.claims_of(request)), wanted=wanted
    )


PATHS = [
    path("openid/start", start),
    path("openid/back", back),
    *coming_back.link_paths(openid, "openid"),
]
