"""What the templates know of the organisation."""

from django import template

from loom.identities.issuers import Issuer
from loom.saml.asked import saml

register = template.Library()


@register.simple_tag
def saml_issuer() -> Issuer | None:
    """The organisation at which people sign in; None where there is none."""
    return saml()
