"""Invitations: links by which somebody new chooses a name and becomes a member."""

import secrets
from datetime import timedelta
from typing import Annotated

from django.utils import timezone

from loom.access import Actor
from loom.commands import groves, people
from loom.commands.actions import Change, action, run_action
from loom.commands.args import Args, Secret
from loom.models import Invitation, Membership, User
from loom.rules.hashes import digest, instant
from loom.rules.refusals import Refused, not_found

MAX_DAYS = 365
MAX_USES = 1000


def make_invitation(actor: Actor, *, role: str, days: float, uses: int) -> tuple[Invitation, str]:
    """A new invitation and its secret, which is shown this once."""
    args = NewInvitation(role=role, days=days, uses=uses)
    made: tuple[Invitation, str] = run_action(actor, actor.grove, _make_invitation, args)
    return made


class NewInvitation(Args):
    """The role that an invitation gives, how long it lasts and how often it is used."""

    role: str
    days: float
    uses: int


@action("make_invitation", stream="grove", role="owner")
def _make_invitation(change: Change, args: NewInvitation) -> tuple[Invitation, str]:
    """Makes a link by which somebody new becomes a member."""
    kind = groves.demand_role_name(args.role)
    _demand_bounds(args.days, args.uses)
    secret = secrets.token_urlsafe(32)
    made = Invitation.objects.create(
        grove=change.grove,
        role=kind,
        digest=digest(secret),
        made_by=change.actor.participant,
        expires_at=change.now + timedelta(days=args.days),
        uses_left=args.uses,
    )
    change.writer.append("invitation.added", {"invitation": invitation_body(made)})
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
    args = InvitationNamed(invitation=uid)
    ended: Invitation = run_action(actor, actor.grove, _revoke_invitation, args)
    return ended


class InvitationNamed(Args):
    """An invitation by its id."""

    invitation: str


@action("revoke_invitation", stream="grove", role="owner")
def _revoke_invitation(change: Change, args: InvitationNamed) -> Invitation:
    """Ends an invitation at once."""
    open_ones = change.grove.invitations.filter(revoked_at__isnull=True)
    found = open_ones.filter(uid=args.invitation).first()
    if found is None:
        raise not_found("This invitation")
    found.revoked_at = change.now
    found.save(update_fields=["revoked_at"])
    change.writer.append("invitation.removed", {"invitation": invitation_body(found)})
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
    NOT_FOUND where it is used up, CONFLICT where the name is taken or they are a member.
    """
    args = Acceptance(secret=secret, username=username, password=password, user=user)
    member: Membership = run_action(None, _found(secret).grove, _accept, args)
    return member


class Acceptance(Args):
    """The secret of an invitation, and who accepts it: a user who is signed in, or the name
    and password that somebody new has chosen."""

    secret: Annotated[str, Secret()]
    username: str = ""
    password: Annotated[str, Secret()] = ""
    user: User | None = None


@action("accept_invitation", stream="grove", role=None)
def _accept(change: Change, args: Acceptance) -> Membership:
    """Makes whoever accepts an invitation a member; one use of it is gone."""
    found = _found(args.secret)
    who = args.user or people.make_user(args.username, people.demand_some(args.password))
    role = groves.demand_role_name(found.role)
    member = groves.enter(change, who, role, invitation=found.uid)
    found.uses_left -= 1
    found.save(update_fields=["uses_left"])
    return member


def _found(secret: str) -> Invitation:
    found = find_invitation(secret)
    if found is None:
        raise not_found("This invitation", "it was used, revoked or is over; ask for a new one")
    return found
