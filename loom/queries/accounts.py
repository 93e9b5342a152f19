"""What somebody may see of his own account and of his groves."""

from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from loom.access import Actor
from loom.models import Grove, Membership, Stream, User, UserSession
from loom.rules.hashes import instant


def browsers_of(user: User) -> "QuerySet[UserSession]":
    """The browsers in which the user is signed in now, the latest seen first."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return UserSession.objects.filter(user=user, session_key__in=alive).order_by("-seen_at", "-id")


def grove_body(actor: Actor, grove: Grove) -> dict[str, Any]:
    """A grove as the API shows it to a member."""
    heads = Stream.objects.filter(name=f"grove:{grove.uid}").values_list("head", flat=True)
    return {
        "id": grove.uid,
        "name": grove.name,
        "settings": grove.settings,
        "role": actor.role,
        "participant": actor.participant.uid,
        "members": Membership.objects.filter(grove=grove).count(),
        "seq": heads.first() or 0,
        "created_at": instant(grove.created_at),
    }
