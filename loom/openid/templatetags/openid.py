"""What the templates know of the organisation."""

from django import template

from loom.identities.issuers import Issuer
from loom.openid.asked import openid

register = template.Library()


@register.simple_tag
def openid_issuer() -> Issuer | None:
    """The organisation at which people sign in; None where there is none."""
    return openid()
