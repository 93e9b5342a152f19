"""Checks and pipes that somebody may read."""

from loom.access import Actor, by_uid, demand_role, of_grove
from loom.claims.models import Check, Pipe
from loom.errors import not_found
from loom.people.models import User
from loom.permissions import Role

_CHECK = by_uid(Check, "grove")
_PIPE = by_uid(Pipe, "grove", "by")


def get_check(user: User, uid: str, *, role: Role = "reader") -> tuple[Actor, Check]:
    """A check of one of the user's groves, for a member with at least `role`."""
    actor, row = of_grove(user, _CHECK, uid, "This check")
    demand_role(actor, role)
    return actor, row


def get_pipe(user: User, uid: str) -> tuple[Actor, Pipe]:
    """A pipe of one of the user's groves that is not archived."""
    actor, row = of_grove(user, _PIPE, uid, "This pipe")
    if row.archived_at is not None:
        raise not_found("This pipe")
    return actor, row
