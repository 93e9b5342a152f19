"""What the settings show of passkeys."""

from typing import Any
from urllib.parse import urlsplit

from django.template import Library

from loom.passkeys.commands import MOST, is_asked
from loom.passkeys.models import Passkey
from loom.people.models import User

register = Library()


@register.simple_tag
def passkeys_of(user: User, host: str) -> dict[str, Any]:
    """`{rows, asked, full, here}`: the passkeys of a user, whether one is asked for after their
    password, whether they may have no more, and the site of this host. One query, two for who has a
    passkey."""
    rows = list(Passkey.objects.filter(user=user))
    return {
        "rows": rows,
        "asked": bool(rows) and is_asked(user),
        "full": len(rows) >= MOST,
        "here": urlsplit(f"//{host}").hostname,
    }
