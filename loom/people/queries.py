"""Groves as the API shows them, and the browsers in which somebody is signed in."""

from collections.abc import Sequence
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Count, QuerySet
from django.utils import timezone

from loom.access import Actor
from loom.engine.models import Stream
from loom.people.models import Membership, User, UserSession
from loom.text.hashes import instant


def browsers_of(user: User) -> "QuerySet[UserSession]":
    """The browsers in which the user is signed in now, the most recently used first."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return UserSession.objects.filter(user=user, session_key__in=alive).order_by("-seen_at", "-id")


def grove_body(actor: Actor) -> dict[str, Any]:
    """The actor's grove as the API shows it to a member."""
    return grove_bodies([actor])[0]


def grove_bodies(actors: Sequence[Actor]) -> list[dict[str, Any]]:
    """The groves of the actors, each as the API shows it to a member. Two queries."""
    groves = [actor.grove for actor in actors]
    names = [f"grove:{grove.uid}" for grove in groves]
    heads = dict(Stream.objects.filter(name__in=names).values_list("name", "head"))
    members = Membership.objects.filter(grove__in=groves).order_by().values_list("grove")
    many = dict(members.annotate(Count("id")))
    return [
        {
            "id": actor.grove.uid,
            "name": actor.grove.name,
            "settings": actor.grove.settings,
            "role": actor.role,
            "participant": actor.participant.uid,
            "members": many[actor.grove.pk],
            "seq": heads.get(name, 0),
            "created_at": instant(actor.grove.created_at),
        }
        for actor, name in zip(actors, names, strict=True)
    ]
