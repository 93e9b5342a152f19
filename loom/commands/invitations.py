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
    if not 0 < days <= MAX_DAYS or not 1 <= uses <= MAX_USES:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"An invitation lasts at most {MAX_DAYS} days and has 1 to {MAX_USES} uses.",
            hint="days:7 uses:1 is usual",
        )
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        made = Invitation.objects.create(
            grove=actor.grove,
            role=kind,
            digest=digest(secret),
            made_by=actor.participant,
            expires_at=timezone.now() + timedelta(days=days),
            uses_left=uses,
        )
        writer.append("invitation.added", {"invitation": invitation_body(made)})
        writer.flush()
    return made, secret


def invitation_body(one: Invitation) -> dict[str, object]:
    """An invitation as API and events show it; never its secret."""
    return {
        "id": one.uid,
        "role": one.role,
        "expires_at": instant(one.expires_at),
        "uses_left": one.uses_left,
        "revoked_at": instant(one.revoked_at) if one.revoked_at else None,
    }


def revoke_invitation(actor: Actor, uid: str) -> None:
    """Ends an invitation at once."""
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        found = Invitation.objects.filter(
            grove=actor.grove, uid=uid, revoked_at__isnull=True
        ).first()
        if found is None:
            raise not_found("This invitation")
        found.revoked_at = timezone.now()
        found.save(update_fields=["revoked_at"])
        writer.append("invitation.removed", {"invitation": invitation_body(found)})
        writer.flush()


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
    """
    found = find_invitation(secret)
    if found is None:
        raise _spent()
    with transaction.atomic():
        streams.lock(found.grove)
        found = find_invitation(secret)
        if found is None:
            raise _spent()
        if user is None:
            user = people.make_user(username, password or " ")
        member = groves.join(found.grove, user, groves.demand_role_name(found.role))
        Invitation.objects.filter(pk=found.pk).update(uses_left=found.uses_left - 1)
    return member


def _spent() -> Refused:
    return not_found("This invitation", "it was used, revoked or is over; ask for a new one")
