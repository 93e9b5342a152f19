"""The organisation's provider of identities (docs/operating.md), by python3-saml, which checks
signatures, schema and times. What that library lets pass when it is left out is demanded here: an
audience, a recipient, an end, and the request that is answered, all inside the one signed
assertion."""

import logging
import time
from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from loom.errors import CommandError
from loom.identities.issuers import Account, groups_in
from loom.saml.asked import entity_in

MAX_RESPONSE = 512 * 1024  # characters of Base64
MAX_SUBJECT = 255
YEARS_10 = 10 * 365 * 24 * 3600
DRIFT_S = 300  # by which clocks may differ, as the library has it
FLEETING = "transient"  # the format of a name that is another one each time
UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
NAMES = {
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
    "samlp": "urn:oasis:names:tc:SAML:2.0:protocol",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
    "xenc": "http://www.w3.org/2001/04/xmlenc#",
}
OAEP = "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p"
_TRANSFORMS = {
    "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
    "http://www.w3.org/2001/10/xml-exc-c14n#",
    "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
}
# What providers call these, as names of their own, by LDAP's numbers, and as Microsoft does.
_CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims"
USERNAME = ("username", "uid", "urn:oid:0.9.2342.19200300.100.1.1")
SHOWN = (
    *("displayName", "urn:oid:2.16.840.1.113730.3.1.241", "cn", "urn:oid:2.5.4.3"),
    *("http://schemas.microsoft.com/identity/claims/displayname", "name"),
)
MAIL = ("email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", f"{_CLAIMS}/emailaddress")

log = logging.getLogger("heddle.people")


def home() -> str:
    """The address of this installation: the first of HEDDLE_ORIGINS."""
    return str(settings.ORIGINS[0]).rstrip("/")


def back_address() -> str:
    """Where the organisation sends browsers back to."""
    return f"{home()}/saml/back"


def library(name: str) -> Any:
    """A module of the library."""
    # It takes 20 MB and half a second, which most processes never need.
    return import_module(f"onelogin.saml2.{name}")


@cache
def _settings(given: Any, origin: str) -> Any:
    """The library's settings. UNAVAILABLE where the metadata lack what is needed."""
    signs = bool(given.key)
    parser = library("idp_metadata_parser").OneLogin_Saml2_IdPMetadataParser
    try:
        provider = parser.parse(
            given.metadata.encode(),
            required_sso_binding=REDIRECT,
            required_slo_binding=REDIRECT,
            entity_id=entity_in(given.metadata),
        )
        if provider["idp"]["singleSignOnService"]["binding"] != REDIRECT:
            raise KeyError("singleSignOnService")
        return library("settings").OneLogin_Saml2_Settings(
            {
                "strict": True,
                "debug": False,
                "sp": {
                    "entityId": f"{origin}/saml/metadata",
                    "assertionConsumerService": {"url": f"{origin}/saml/back", "binding": POST},
                    "NameIDFormat": UNSPECIFIED,
                    **(_own(given, origin) if signs else {}),
                },
                "idp": provider["idp"],
                "security": {
                    "authnRequestsSigned": signs,
                    "logoutRequestSigned": signs,
                    "logoutResponseSigned": signs,
                    "wantAssertionsSigned": True,
                    "wantAssertionsEncrypted": given.encrypted,
                    "wantNameId": True,
                    "wantAttributeStatement": False,
                    "requestedAuthnContext": False,
                    "rejectDeprecatedAlgorithm": True,
                    "rejectUnsolicitedResponsesWithInResponseTo": True,
                    "allowRepeatAttributeName": True,
                    "metadataValidUntil": int(time.time()) + YEARS_10,
                },
            }
        )
    except Exception as error:  # of a parser that is given the operator's file
        raise CommandError(
            "UNAVAILABLE",
            f"The metadata of the organisation cannot be used: {str(error)[:200]}",
            hint="They need an address for sign-in by HTTP-Redirect, and a certificate.",
        ) from None


def _own(given: Any, origin: str) -> dict[str, Any]:
    """What an installation with a key of its own can do besides: sign, read what is encrypted, and
    sign out in both places."""
    return {
        "x509cert": given.certificate,
        "privateKey": given.key,
        "singleLogoutService": {"url": f"{origin}/saml/logout", "binding": REDIRECT},
    }


def current() -> Any:
    """The library's settings for what the operator has set up."""
    return _settings(settings.SAML, home())


def metadata() -> bytes:
    """What the organisation needs to know of this installation, as XML."""
    xml = current().get_sp_metadata()
    return xml if isinstance(xml, bytes) else str(xml).encode()


def entity() -> str:
    """What the organisation calls itself."""
    return entity_in(settings.SAML.metadata)


def asked_at(path: str = "/saml/back", request: HttpRequest | None = None) -> dict[str, Any]:
    """The address at which a message arrives, as the library wants it: the configured one, whatever
    a request says; with the query of a message by HTTP-Redirect, whose signature is checked as it
    was sent."""
    parts = urlsplit(home())
    return {
        "https": "on" if parts.scheme == "https" else "off",
        "http_host": parts.netloc,
        "script_name": path,
        "get_data": {} if request is None else request.GET.dict(),
        "query_string": "" if request is None else request.META["QUERY_STRING"],
        "validate_signature_from_qs": True,
        "post_data": {},
    }


def ask() -> tuple[str, str]:
    """The address at the organisation that asks who somebody is, and the id of that request."""
    auth = library("auth").OneLogin_Saml2_Auth(asked_at(), old_settings=current())
    address = str(auth.login(return_to=home()))
    return address, str(auth.get_last_request_id())


@dataclass(frozen=True)
class SamlSignIn:
    """As whom a browser has signed in, in the words of the organisation, which it is asked to sign
    out with them."""

    subject: str
    format: str = ""
    qualifier: str = ""
    qualifier_here: str = ""
    index: str = ""  # of its session there


@dataclass(frozen=True)
class Confirmed:
    """A signed assertion that was found right: whose account it is about, the id of the request
    that it answers, its own id, and how long it is good for, in seconds since 1970."""

    account: Account
    signed_in: SamlSignIn
    request: str
    id: str
    until: int


def confirmed_in(response: str) -> Confirmed:
    """What the organisation says, from the Base64 of a SAMLResponse. UNAUTHENTICATED if anything
    about it is wrong."""
    if not response or len(response) > MAX_RESPONSE:
        raise refused("its answer is empty or too long.")
    is_encrypted = False
    try:
        is_encrypted = _is_encrypted(response)
        read = library("response").OneLogin_Saml2_Response(current(), response)
        read.is_valid(asked_at(), raise_exceptions=True)
        return _confirmed(read)
    except CommandError:
        raise
    except Exception as error:  # of a parser that is given a stranger's bytes
        reason = str(error)[:200] or "its answer cannot be read."
        if is_encrypted:
            # Whoever learns why gets to know, try by try, what is encrypted.
            log.warning("an encrypted answer was refused: %s", reason)
            reason = "its encrypted answer cannot be read, or is not signed or meant for us."
        raise refused(reason) from None


def _is_encrypted(response: str) -> bool:
    """Whether the answer has something encrypted. Refuses the old way of encrypting its key, by
    which strangers can find out what is inside (Bleichenbacher's attack)."""
    document = library("xml_utils").OneLogin_Saml2_XML.to_etree(b64decode(response))
    keys = document.xpath("//xenc:EncryptedKey", namespaces=NAMES)
    ways = document.xpath("//xenc:EncryptedKey/xenc:EncryptionMethod/@Algorithm", namespaces=NAMES)
    if any(way != OAEP for way in ways) or len(ways) != len(keys):
        raise refused("its key is encrypted by another way than RSA-OAEP.")
    return bool(document.xpath("//xenc:EncryptedData", namespaces=NAMES))


def refused(why: str) -> CommandError:
    """The refusal of what an organisation sent."""
    return CommandError(
        "UNAUTHENTICATED",
        f"{settings.SAML.name} did not confirm who you are: {why}",
        hint="Try again, or sign in in another way.",
    )


def _confirmed(read: Any) -> Confirmed:
    document = read.get_xml_document()
    if document.get("Destination", back_address()) != back_address():
        raise refused("its answer is for another address.")
    assertion = _signed_assertion(document)
    restrictions = assertion.xpath("saml:Conditions/saml:AudienceRestriction", namespaces=NAMES)
    allowed = [_texts(restriction, "saml:Audience") for restriction in restrictions]
    # Each of them has to allow us (SAML 2.0 core, 2.5.1.4).
    if not allowed or any(f"{home()}/saml/metadata" not in audiences for audiences in allowed):
        raise refused("its answer names no audience, or another one.")
    request, until = _confirmation(assertion)
    name = read.get_nameid_data()
    subject = str(name.get("Value") or "")
    if not 0 < len(subject) <= MAX_SUBJECT or "\0" in subject:
        raise refused("it names nobody.")
    if str(name.get("Format", "")).endswith(f":{FLEETING}"):
        raise refused("it gives another name each time; the operator has to ask for a lasting one.")
    signed_in = SamlSignIn(
        subject=subject,
        format=str(name.get("Format") or ""),
        qualifier=str(name.get("NameQualifier") or ""),
        qualifier_here=str(name.get("SPNameQualifier") or ""),
        index=str(read.get_session_index() or ""),
    )
    return Confirmed(_account(subject, read), signed_in, request, str(assertion.get("ID")), until)


def _texts(above: Any, path: str) -> list[str]:
    elements = above.xpath(path, namespaces=NAMES)
    return ["".join(element.itertext()).strip() for element in elements]


def _signed_assertion(document: Any) -> Any:
    """The only assertion, which has the only reference of its own signature."""
    path = "/samlp:Response/saml:Assertion | /samlp:Response/saml:EncryptedAssertion"
    assertions = document.xpath(path, namespaces=NAMES)
    if len(assertions) != 1 or assertions[0].tag != f"{{{NAMES['saml']}}}Assertion":
        raise refused("its answer has no assertion, or several.")
    (assertion,) = assertions
    path = "ds:Signature/ds:SignedInfo/ds:Reference"
    references = assertion.xpath(path, namespaces=NAMES)
    if [reference.get("URI") for reference in references] != [f"#{assertion.get('ID')}"]:
        raise refused("its signature is about something else.")
    transforms = references[0].xpath("ds:Transforms/ds:Transform/@Algorithm", namespaces=NAMES)
    if not set(transforms) <= _TRANSFORMS:
        raise refused("its signature is about something else.")
    return assertion


def _confirmation(assertion: Any) -> tuple[str, int]:
    """The id of the request that is answered, and until when the answer is good: of a confirmation
    that is for this address."""
    times = library("utils").OneLogin_Saml2_Utils
    path = "saml:Subject/saml:SubjectConfirmation"
    for confirmation in assertion.xpath(path, namespaces=NAMES):
        data = confirmation.find("saml:SubjectConfirmationData", namespaces=NAMES)
        if (
            confirmation.get("Method") != BEARER
            or data is None
            or data.get("Recipient") != back_address()
        ):
            continue
        request, end = data.get("InResponseTo"), data.get("NotOnOrAfter")
        if request and end and times.parse_SAML_to_time(end) > time.time():
            return str(request), int(times.parse_SAML_to_time(end)) + DRIFT_S
    raise refused("its answer is not for a request of this installation, or is over.")


def _account(subject: str, read: Any) -> Account:
    by_name, by_friendly = read.get_attributes(), read.get_friendlyname_attributes()
    given = {**by_friendly, **by_name}

    def first(names: tuple[str, ...]) -> str:
        texts = (value for name in names for value in given.get(name, ()))
        return next((value for value in texts if isinstance(value, str)), "")

    return Account(
        subject=subject,
        username=first(USERNAME),
        name=first(SHOWN),
        email=first(MAIL),
        groups=groups_in(given.get(settings.SAML.groups_attribute, ())),
    )
