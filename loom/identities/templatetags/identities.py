"""What the settings show of somebody's account at an organisation."""

from django import template

from loom.identities.commands import account_of
from loom.identities.issuers import Issuer
from loom.identities.models import Identity
from loom.people.models import User

register = template.Library()


@register.simple_tag
def linked_account(issuer: Issuer, user: User) -> Identity | None:
    """The account of a user there."""
    return account_of(issuer, user)
