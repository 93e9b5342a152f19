"""What the templates know of the organisation."""

from django import template
from django.conf import settings

from loom.openid.models import OpenIdentity
from loom.openid.provider import is_set_up
from loom.people.models import User

register = template.Library()


@register.simple_tag
def openid_name() -> str:
    """The name of the organisation at which people sign in; "" where there is none."""
    return str(settings.OPENID.name) if is_set_up() else ""


@register.simple_tag
def linked_account(user: User) -> OpenIdentity | None:
    """The account of a user there."""
    return OpenIdentity.objects.filter(user=user, issuer=settings.OPENID.issuer).first()
