"""Invitations: links by which somebody new chooses a name and becomes a member."""

import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from loom.access import Actor
from loom.commands import groves, people
from loom.log import streams
from loom.models import Invitation, Membership, User
from loom.rules.hashes import digest, instant
from loom.rules.refusals import Refused, not_found

MAX_DAYS = 365
MAX_USES = 1000


def make_invitation(actor: Actor, *, role: str, days: float, uses: int) -> tuple[Invitation, str]:
    """A new invitation and its secret, which is shown this once."""
    kind = groves.demand_role_name(role)
    _demand_bounds(days, uses)
    secret = secrets.token_urlsafe(32)
    with groves.owned(actor) as writer:
        made = Invitation.objects.create(
            grove=actor.grove,
            role=kind,
            digest=digest(secret),
            made_by=actor.participant,
            expires_at=timezone.now() + timedelta(days=days),
            uses_left=uses,
        )
        writer.append("invitation.added", {"invitation": invitation_body(made)})
    return made, secret


def _demand_bounds(days: float, uses: int) -> None:
    if not days > 0 or uses < 1:
        raise Refused(
            "INVALID_SYNTAX",
            "An invitation lasts longer than now and has at least one use.",
            hint="7 days and 1 use are usual",
        )
    if days > MAX_DAYS or uses > MAX_USES:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"An invitation lasts at most {MAX_DAYS} days and has at most {MAX_USES} uses.",
            hint="7 days and 1 use are usual",
        )


def invitation_body(one: Invitation) -> dict[str, object]:
    """An invitation as API and events show it; never its secret."""
    return {
        "id": one.uid,
        "role": one.role,
        "expires_at": instant(one.expires_at),
        "uses_left": one.uses_left,
        "revoked_at": instant(one.revoked_at) if one.revoked_at else None,
    }


def revoke_invitation(actor: Actor, uid: str) -> Invitation:
    """Ends an invitation at once; NOT_FOUND where it is not the grove's or was ended."""
    with groves.owned(actor) as writer:
        found = actor.grove.invitations.filter(uid=uid, revoked_at__isnull=True).first()
        if found is None:
            raise not_found("This invitation")
        found.revoked_at = timezone.now()
        found.save(update_fields=["revoked_at"])
        writer.append("invitation.removed", {"invitation": invitation_body(found)})
    return found


def find_invitation(secret: str) -> Invitation | None:
    """The invitation, if it can still be used."""
    return (
        Invitation.objects.select_related("grove")
        .filter(
            digest=digest(secret),
            revoked_at__isnull=True,
            expires_at__gt=timezone.now(),
            uses_left__gt=0,
        )
        .first()
    )


def accept(
    secret: str, *, username: str = "", password: str = "", user: User | None = None
) -> Membership:
    """Makes somebody new, or a user who is signed in, a member; one use goes.

    Under the grove's lock, so that no invitation is used more often than it may be.
    NOT_FOUND where it is used up, CONFLICT where the name is taken or he is a member.
    """
    grove = _found(secret).grove
    with transaction.atomic():
        writer = streams.lock(grove)
        found = _found(secret)
        who = user or people.make_user(username, people.demand_some(password))
        role = groves.demand_role_name(found.role)
        member = groves.enter(writer, grove, who, role, invitation=found.uid)
        found.uses_left -= 1
        found.save(update_fields=["uses_left"])
        writer.flush()
    return member


def _found(secret: str) -> Invitation:
    found = find_invitation(secret)
    if found is None:
        raise not_found("This invitation", "it was used, revoked or is over; ask for a new one")
    return found
