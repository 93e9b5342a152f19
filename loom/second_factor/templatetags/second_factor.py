"""What the settings show of a second factor."""

from typing import Any

from django.template import Library

from loom.people.models import User
from loom.second_factor.models import RecoveryCode, SecondFactor

register = Library()


@register.simple_tag
def second_factor_of(user: User) -> dict[str, Any]:
    """`{since, codes}`: from when on it is asked for (None: not at all), and how many recovery
    codes are left. One query, two for who has one."""
    row = SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()
    if row is None:
        return {"since": None, "codes": 0}
    return {"since": row.confirmed_at, "codes": RecoveryCode.objects.filter(user=user).count()}
