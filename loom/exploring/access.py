"""Explorations that somebody may see, and for whom they run."""

from django.contrib.auth.models import AnonymousUser

from loom.access import Actor, by_uid, demand, get_actor_in, limited_to, of_grove
from loom.exploring.models import Exploration
from loom.people.models import User
from loom.permissions import GENERATE, LOOM, WRITE

WITH = "tree__grove point asked_by__user asked_by__grove agent judge begun_by note".split()
EXPLORATION = by_uid(Exploration, *WITH)


def get_exploration(user: User, uid: str) -> tuple[Actor, Exploration]:
    """An exploration in a tree that the user may see."""
    return of_grove(user, EXPLORATION, uid, "This exploration")


def demand_begun(actor: Actor, row: Exploration) -> None:
    """CommandError if the agent that began an exploration may do so no longer."""
    if row.begun_by is not None:
        own = limited_to(actor, row.begun_by)
        demand(own, {LOOM, WRITE, GENERATE}, "exploring")


def acting_for(row: Exploration) -> Actor:
    """The person who started an exploration, with the permissions of this moment.
    CommandError if they may not see the tree any longer."""
    user = row.asked_by.user
    if user is not None:
        user.scope = row.scope  # type: ignore[assignment]  # it was asked for with such a key
    return get_actor_in(user if user is not None else AnonymousUser(), row.tree_id)
