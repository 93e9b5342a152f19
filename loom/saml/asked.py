"""The organisation of the environment, read from its metadata, without the library of the protocol:
most processes never sign anybody in."""

from functools import cache

from django.conf import settings
from lxml import etree

from loom.errors import CommandError
from loom.identities.issuers import Issuer, offers_accounts

_ENTITY = "{urn:oasis:names:tc:SAML:2.0:metadata}EntityDescriptor"
_PROVIDER = "{urn:oasis:names:tc:SAML:2.0:metadata}IDPSSODescriptor"


@offers_accounts
def saml() -> Issuer | None:
    """Where people sign in by SAML; None if the operator has set nothing up."""
    given = settings.SAML
    if not given.metadata:
        return None
    return Issuer("saml", entity_in(given.metadata), given.name, given.new, given.groups)


@cache
def entity_in(metadata: str) -> str:
    """The id of the first provider in the metadata. UNAVAILABLE if there is none."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(metadata.encode(), parser)
    except etree.XMLSyntaxError:
        root = None
    for entity in () if root is None else root.iter(_ENTITY):
        if entity.find(_PROVIDER) is not None and entity.get("entityID"):
            return str(entity.get("entityID"))
    raise CommandError(
        "UNAVAILABLE",
        "The metadata of the organisation names no provider.",
        hint="The operator sets it with HEDDLE_SAML_METADATA.",
    )
