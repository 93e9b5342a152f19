"""Imports that somebody may see."""

from loom.access import Actor, by_uid, of_grove
from loom.people.models import User
from loom.transfer.models import Import

_IMPORT = by_uid(Import, "grove", "tree")


def get_import(user: User, uid: str) -> tuple[Actor, Import]:
    """An import into one of the user's groves."""
    return of_grove(user, _IMPORT, uid, "This import")
