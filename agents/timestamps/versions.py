"""Versions with what their hashes cover: what a time stamp of one of them speaks for."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from loom.trees.models import Node

AT_ONCE = 500  # versions among which those are found that others were built upon


class Version(NamedTuple):
    """A version with what its hash depends on."""

    id: int
    slot_id: int
    parent_slot_id: int | None
    parent_hash: str
    hash: str
    edited_from_id: int | None
    created_at: datetime


def versions_between(first: int, last: int) -> list[Version]:
    """The first `AT_ONCE` versions with these ids."""
    columns = "slot_id", "parent_slot_id", "parent_hash", "hash", "edited_from_id", "created_at"
    rows = Node.objects.filter(pk__range=(first, last)).order_by("pk")
    return [Version(*row) for row in rows.values_list("pk", *columns)[:AT_ONCE]]


def built_upon(versions: Sequence[Version]) -> dict[int, list[int]]:
    """For each of the versions those of the others that are in its hash: the one above that it was
    built upon, and the one that it was edited from."""
    by_place = {(version.slot_id, version.hash): version.id for version in versions}
    known = set(by_place.values())
    upon = {}
    for version in versions:
        above = by_place.get((version.parent_slot_id or 0, version.parent_hash))
        upon[version.id] = [key for key in (above, version.edited_from_id) if key in known]
    return upon
