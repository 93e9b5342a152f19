"""Checks that somebody may read."""

from loom.access import Actor, by_uid, demand_role, of_grove
from loom.claims.models import Check
from loom.people.models import User
from loom.permissions import Role

_CHECK = by_uid(Check, "grove")


def get_check(user: User, uid: str, *, role: Role = "reader") -> tuple[Actor, Check]:
    """A check of one of the user's groves, for a member with at least `role`."""
    actor, row = of_grove(user, _CHECK, uid, "This check")
    demand_role(actor, role)
    return actor, row
