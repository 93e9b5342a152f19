"""Signing in at the organisation and coming back; linking that account to one's own, and removing
the link; signing out there as well.

The organisation has the browser send a form from its own page, with which browsers send no cookie
of ours. So the form is only checked; what it says waits under a random word for two minutes, and
the browser is sent on to an address that it opens with its cookies. There it is known whether this
browser has asked.
"""

import secrets
import time
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from loom.identities import coming_back
from loom.identities.issuers import Account
from loom.people.pages.accounts import next_address
from loom.saml import leaving, once, provider
from loom.saml.asked import saml
from loom.site.forms import PageForm, Word
from loom.site.page_requests import anybody

ASKED, ASKED_S = "saml_request", 1800  # in the session: the request, and where to go afterwards
WAITS_S = 120


class ResponseForm(PageForm):
    """What the organisation sends."""

    SAMLResponse = Word()


@never_cache
@require_GET
@anybody
def start(request: HttpRequest) -> HttpResponse:
    """Sends the browser to the organisation; `?next=` is where it goes afterwards."""
    coming_back.demand(saml)
    address, asked = provider.ask()
    until = time.time() + ASKED_S
    request.session[ASKED] = {"id": asked, "next": next_address(request), "until": until}
    return HttpResponseRedirect(address)


@never_cache
@csrf_exempt
@require_POST
@anybody
def back(request: HttpRequest) -> HttpResponse:
    """Checks what the organisation says, and sends the browser on to say which one it is."""
    coming_back.demand(saml)
    confirmed = provider.confirmed_in(ResponseForm.read(request)["SAMLResponse"])
    left = max(1, int(confirmed.until - time.time()))
    word = secrets.token_urlsafe(32)
    kept = {**asdict(confirmed.account), "groups": sorted(confirmed.account.groups)}
    answer = {
        "request": confirmed.request,
        "account": kept,
        "signed_in": asdict(confirmed.signed_in),
    }
    if not once.is_first(confirmed.id, seconds=left):
        raise provider.refused("its answer was used before.")
    with once.kept():
        cache.set(f"saml:{word}", answer, WAITS_S)
    sent_on = HttpResponseRedirect(f"/saml/finish?answer={word}")
    sent_on.status_code = 303
    return sent_on


@never_cache
@require_GET
@anybody
def finish(request: HttpRequest) -> HttpResponse:
    """Signs in whom the organisation has named to this browser, or links that account to the person
    who asked for it."""
    issuer = coming_back.demand(saml)
    asked = request.session.pop(ASKED, None)
    wanted = str(asked["next"]) if asked else "/"
    known: dict[str, Any] = {}

    def account() -> Account:
        known.update(_kept(request.GET.get("answer", "")[:100], asked))
        given = known["account"]
        return Account(**{**given, "groups": frozenset(given["groups"])})

    return coming_back.let_in(
        request,
        issuer,
        account,
        wanted=wanted,
        then=lambda: leaving.remember(request, provider.SamlSignIn(**known["signed_in"])),
    )


def _kept(word: str, asked: dict[str, Any] | None) -> dict[str, Any]:
    """What waits under this word, if it answers what this browser has asked."""
    key = f"saml:{word}"
    with once.kept():
        kept: dict[str, Any] | None = cache.get(key) if word else None
        is_first = kept is not None and cache.delete(key)
    if kept is None or not is_first:
        raise provider.refused("its answer is over, or was used before.")
    if asked is None or asked["until"] < time.time() or asked["id"] != kept["request"]:
        raise provider.refused("this browser has not asked. Begin at the page for signing in.")
    return kept


@never_cache
@require_GET
@anybody
def leave(request: HttpRequest) -> HttpResponse:
    """Shown after signing out here: leads to the organisation, to sign out there as well. By a
    link, as browsers follow no form to another site (our security policy)."""
    issuer = coming_back.demand(saml)
    address = leaving.address_in(request)
    if not address:
        return HttpResponseRedirect("/signin")
    return render(request, "saml/leave.html", {"issuer": issuer, "address": address})


@never_cache
@require_GET
@anybody
def logout(request: HttpRequest) -> HttpResponse:
    """What the organisation says about signing out: that somebody has done it there, whose sessions
    end here then, or that it has done what this browser asked. Everything in it is signed."""
    issuer = coming_back.demand(saml)
    if "SAMLRequest" in request.GET:
        return HttpResponseRedirect(leaving.end_where_asked(request))
    leaving.has_left(request)
    done = gettext("You are signed out here and at %(name)s.") % {"name": issuer.name}
    messages.success(request, done)
    return HttpResponseRedirect("/signin")


@require_GET
@anybody
def metadata(request: HttpRequest) -> HttpResponse:
    """What the organisation needs to know of this installation."""
    coming_back.demand(saml)
    return HttpResponse(provider.metadata(), content_type="application/samlmetadata+xml")


PATHS = [
    path("saml/start", start),
    path("saml/back", back),
    path("saml/finish", finish),
    path("saml/metadata", metadata),
    path("saml/leave", leave),
    path("saml/logout", logout),
    *coming_back.link_paths(saml, "saml"),
]
