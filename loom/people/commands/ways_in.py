"""The ways in which somebody can sign in by themselves: a password, and what features add. The last
one is not taken away."""

from collections.abc import Callable

from loom.errors import CommandError
from loom.people.models import User

CountsWays = Callable[[User], int]
_counting: list[CountsWays] = []


def way_in(counts: CountsWays) -> CountsWays:
    """Registers what counts the ways of one kind that a user has."""
    if counts not in _counting:
        _counting.append(counts)
    return counts


def demand_another(user: User) -> None:
    """Refuses to take one of the user's ways away if it is the last one. A one-time link is none:
    somebody else has to make it."""
    ways = int(user.has_usable_password()) + sum(counts(user) for counts in _counting)
    if ways <= 1:
        raise CommandError(
            "REJECTED",
            "Without it you could not sign in any more.",
            hint="Set a password first, or add another way to sign in.",
        )
