"""What an operator takes from an account whose owner has lost it, such as a second factor: each way
of signing in registers its own, so that the pages of operators know none of them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from loom.people.models import User


@dataclass(frozen=True)
class LostWay:
    """One kind of what people lose. `name` is that of its form, `held_by` finds who has it among
    these users, by their keys, and `reset` takes it away and returns whether there was any. The
    texts are msgids, with `%(name)s` for the account where they are about one."""

    name: str
    button: str
    label: str
    done: str
    none: str
    held_by: Callable[[Collection[int]], set[int]]
    reset: Callable[[User], bool]


_known: dict[str, LostWay] = {}


def can_be_lost(way: LostWay) -> LostWay:
    """Registers what operators can take away."""
    _known[way.name] = way
    return way


def lost_ways() -> list[LostWay]:
    """All that was registered, in the order in which it was."""
    return list(_known.values())


def lost_way(name: str) -> LostWay | None:
    """The one of this name."""
    return _known.get(name)
