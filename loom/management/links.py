"""Links that management commands print."""

from django.conf import settings

from loom.commands import people
from loom.models import User


def signin_link(user: User) -> str:
    """A fresh one-time sign-in link at the first of the accepted origins."""
    return f"{settings.ORIGINS[0]}/signin/{people.make_signin_link(user)}"
