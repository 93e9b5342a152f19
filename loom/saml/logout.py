"""Signing out in both places: the messages of single logout, by HTTP-Redirect. Both directions need
a key of this installation, with which its messages are signed.

The library lets messages pass that are unsigned, old, or name no sender and no address. All of that
is demanded here, and each message counts once.
"""

import time
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from django.conf import settings
from django.http import HttpRequest, QueryDict

from loom.errors import CommandError
from loom.saml import provider
from loom.saml.asked import entity_in

ADDRESS = "/saml/logout"
MAX_MESSAGE = 16 * 1024  # characters of an address
MAX_RELAY = 1024
MOST_AGE_S = 300  # of a message


@dataclass(frozen=True)
class AskedToLeave:
    """Whom the organisation has signed out: in the sessions with these indexes, else in all."""

    id: str
    subject: str
    indexes: frozenset[str]
    relay: str


def is_offered() -> bool:
    """Whether this installation has a key, and the organisation an address for signing out."""
    return bool(settings.SAML.key and provider.current().get_idp_slo_url())


def ask(who: provider.SamlSignIn) -> tuple[str, str]:
    """The address at the organisation that signs somebody out there, and the id of that request."""
    auth = _auth()
    address = auth.logout(
        return_to=provider.home(),
        name_id=who.subject,
        session_index=escape(who.index) or None,
        nq=who.qualifier or None,
        name_id_format=who.format or None,
        spnq=who.qualifier_here or None,
    )
    return str(address), str(auth.get_last_request_id())


def asked_in(request: HttpRequest) -> AskedToLeave:
    """What the organisation asks, from the query of its address. UNAUTHENTICATED if anything about
    it is wrong."""
    try:
        query = _signed_query(request, "SAMLRequest")
        given = provider.library("logout_request").OneLogin_Saml2_Logout_Request(
            provider.current(), query["SAMLRequest"]
        )
        given.is_valid(provider.asked_at(ADDRESS, request), raise_exceptions=True)
        document = _document(given.get_xml())
        name = given.get_nameid_data(document, provider.current().get_sp_key())
        indexes = frozenset(given.get_session_indexes(document))
        asked = AskedToLeave(
            _id_of(document), str(name["Value"]), indexes, query.get("RelayState", "")
        )
    except CommandError:
        raise
    except Exception as error:  # of a parser that is given a stranger's bytes
        raise refused(str(error)[:200] or "its message cannot be read.") from None
    return asked


def answer(asked: AskedToLeave) -> str:
    """The address at the organisation that says that this was done."""
    auth = _auth()
    built = provider.library("logout_response").OneLogin_Saml2_Logout_Response(provider.current())
    built.build(asked.id)
    parameters = {"SAMLResponse": built.get_response()}
    if asked.relay:
        parameters["RelayState"] = asked.relay
    auth.add_response_signature(parameters)
    return str(auth.redirect_to(auth.get_slo_response_url(), parameters))


def demand_left(request: HttpRequest, asked: str) -> None:
    """Raises UNAUTHENTICATED unless the organisation says that it has done what was asked by the
    request with this id."""
    try:
        query = _signed_query(request, "SAMLResponse")
        given = provider.library("logout_response").OneLogin_Saml2_Logout_Response(
            provider.current(), query["SAMLResponse"]
        )
        address = provider.asked_at(ADDRESS, request)
        given.is_valid(address, request_id=asked, raise_exceptions=True)
        _id_of(_document(given.get_xml()))
        status, answers = str(given.get_status()), given.get_in_response_to()
    except CommandError:
        raise
    except Exception as error:  # as above
        raise refused(str(error)[:200] or "its message cannot be read.") from None
    if answers != asked:
        raise refused("its answer is for another request.")
    if not status.endswith(":Success"):
        raise refused(f"it says {status.rpartition(':')[2][:60]}.")


def refused(why: str) -> CommandError:
    """The refusal of a message about signing out."""
    return CommandError(
        "UNAUTHENTICATED",
        f"{settings.SAML.name} did not confirm that somebody was signed out: {why}",
        hint="Sign out there too.",
    )


def _auth(request: HttpRequest | None = None) -> Any:
    at = provider.asked_at(ADDRESS, request)
    return provider.library("auth").OneLogin_Saml2_Auth(at, old_settings=provider.current())


def _signed_query(request: HttpRequest, name: str) -> QueryDict:
    """The query, if the organisation has signed it. The signature is about the query as it was
    sent, so nothing of that may come twice: of two, one would be checked and the other be read."""
    query = request.GET
    needed, relay = (name, "SigAlg", "Signature"), query.getlist("RelayState")
    if any(len(query.getlist(key)) != 1 for key in needed) or len(relay) > 1:
        raise refused("its message is not signed.")
    if sum(len(query[key]) for key in needed) > MAX_MESSAGE or len("".join(relay)) > MAX_RELAY:
        raise refused("its message is too long.")
    auth = _auth(request)
    check = auth.validate_request_signature
    if name == "SAMLResponse":
        check = auth.validate_response_signature
    if not check(query.dict()):
        raise refused(str(auth.get_last_error_reason())[:200])
    return query


def _document(xml: str | bytes) -> Any:
    return provider.library("xml_utils").OneLogin_Saml2_XML.to_etree(xml)


def _id_of(document: Any) -> str:
    """The id of a message from the organisation to this installation that was written just now."""
    issuers = document.findall("saml:Issuer", namespaces=provider.NAMES)
    senders = ["".join(issuer.itertext()).strip() for issuer in issuers]
    if senders != [entity_in(settings.SAML.metadata)]:
        raise refused("its message names no sender, or another one.")
    if document.get("Destination") != f"{provider.home()}{ADDRESS}":
        raise refused("its message is for another address.")
    times = provider.library("utils").OneLogin_Saml2_Utils
    age = time.time() - times.parse_SAML_to_time(document.get("IssueInstant", ""))
    if abs(age) > MOST_AGE_S:
        raise refused("its message is old, or a clock is wrong.")
    return str(document.get("ID"))
