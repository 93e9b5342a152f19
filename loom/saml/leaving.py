"""Which browsers have signed in at the organisation, and what follows when one of them signs out
here, or when the organisation signs somebody out."""

import logging
import time
from dataclasses import asdict
from typing import Any

from django.contrib.sessions.models import Session
from django.http import HttpRequest

from loom.errors import CommandError
from loom.identities.models import Identity
from loom.people.commands import accounts
from loom.saml import logout, once, provider
from loom.saml.asked import saml

SIGNED_IN = "saml_signed_in"  # in the session: `provider.SamlSignIn`
LEAVING, LEAVING_S = "saml_leaving", 1800  # in the session: the request and its address
PAGE = "/saml/leave"

log = logging.getLogger("heddle.people")


@accounts.asks_on_leaving
def leaves(request: HttpRequest) -> accounts.Farewell | None:
    """Where somebody who signs out here is asked to sign out at the organisation too; None for who
    did not sign in there, and where it offers nothing like that."""
    signed = request.session.get(SIGNED_IN)
    if signed is None or saml() is None:
        return None
    try:
        if not logout.is_offered():
            return None
        address, asked = logout.ask(provider.SamlSignIn(**signed))
    except CommandError:
        return None
    kept = {"id": asked, "address": address, "until": time.time() + LEAVING_S}
    return accounts.Farewell(PAGE, {LEAVING: kept})


def remember(request: HttpRequest, who: provider.SamlSignIn) -> None:
    """Notes that this browser has signed in at the organisation."""
    request.session[SIGNED_IN] = asdict(who)


def address_in(request: HttpRequest) -> str:
    """The address at the organisation at which this browser may sign out; "" for none."""
    kept = request.session.get(LEAVING)
    return str(kept["address"]) if kept and kept["until"] > time.time() else ""


def has_left(request: HttpRequest) -> None:
    """The organisation says that this browser was signed out there. UNAUTHENTICATED unless this
    browser has asked for that."""
    kept: dict[str, Any] | None = request.session.pop(LEAVING, None)
    if kept is None or kept["until"] < time.time():
        raise logout.refused("this browser has not asked.")
    logout.demand_left(request, kept["id"])


def end_where_asked(request: HttpRequest) -> str:
    """Ends the sessions that the organisation has signed out; the address at which it is answered.
    They are found by what it says, as browsers send no cookie from a page inside of another."""
    asked = logout.asked_in(request)
    if not once.is_first(asked.id, seconds=3 * logout.MOST_AGE_S):
        raise logout.refused("its message was used before.")
    ended = _end(asked)
    log.info("%s sessions ended, as their organisation asked", ended)
    return logout.answer(asked)


def _end(asked: logout.AskedToLeave) -> int:
    issuer = provider.entity()
    rows = Identity.objects.select_related("user").filter(issuer=issuer, subject=asked.subject)
    identity = rows.first()
    if identity is None:
        return 0
    browsers = {browser.session_key: browser.uid for browser in identity.user.browsers.all()}
    ended = 0
    for session in Session.objects.filter(session_key__in=browsers):
        signed = session.get_decoded().get(SIGNED_IN)
        if signed is None or signed["subject"] != asked.subject:
            continue
        if not asked.indexes or signed["index"] in asked.indexes:
            accounts.end_session(identity.user, browsers[session.session_key])
            ended += 1
    return ended
