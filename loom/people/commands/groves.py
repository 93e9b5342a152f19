"""Groves, their members and invitations. Every change is an event of the grove."""

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine.actions import RunningAction, action
from loom.engine.announcements import access_changed
from loom.engine.arguments import Args, Secret
from loom.engine.execute import execute
from loom.engine.streams import Writer
from loom.errors import CommandError, not_found, require
from loom.people import grove_settings, names
from loom.people.commands import accounts as people
from loom.people.models import Grove, Invitation, Membership, Participant, User
from loom.people.participant_fields import ARCHETYPES
from loom.permissions import ROLES, Role
from loom.text.hashes import digest, instant, instant_or_none

# Groves and their members. Every change is an event of the grove; a change of role reaches open
# sockets at once.


NO_MODEL = "none"  # the value of `summary_model` that switches summaries off
MAX_NAME = 200


def demand_name(name: str, *, most: int = MAX_NAME) -> str:
    """The name as it is stored, if a participant may have it."""
    return names.checked(name, most=most)


def demand_role_name(role: str) -> Role:
    """The role with that name. Refuses any other name."""
    if role not in ROLES:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no role {role[:40]!r}.", hint=" or ".join(ROLES)
        )
    return role


def make_grove(user: User, name: str) -> Grove:
    """A new grove, owned by its maker."""
    return execute(user, None, _make_grove, NewGrove(name=name))


Beginning = Callable[[Grove], None]

_beginnings: list[Beginning] = []


def begins_grove(beginning: Beginning) -> Beginning:
    """Registers what a feature gives a new grove, in the transaction that makes it."""
    _beginnings.append(beginning)
    return beginning


class NewGrove(Args):
    """The name of a grove."""

    name: str


@action("make_grove", stream="grove", role=None)
def _make_grove(change: RunningAction, args: NewGrove) -> Grove:
    """Makes a grove, owned by its maker."""
    grove = Grove.objects.create(name=names.checked(args.name, most=MAX_NAME, writes=False))
    for begin in _beginnings:
        begin(grove)
    user = require(change.user, "who makes the grove")
    person = _person(grove, user)
    writer = change.open(grove, person)
    writer.append("grove.created", {"grove": grove.uid, "name": grove.name})
    _enter(writer, person, user, "owner")
    return grove


def change_grove(
    actor: Actor, *, name: str | None = None, settings: dict[str, Any] | None = None
) -> Grove:
    """Renames a grove or changes the settings that are given; None resets one to its default."""
    args = GroveChanges(name=name, settings=settings or {})
    return execute(actor, actor.grove, _change_grove, args)


class GroveChanges(Args):
    """The changes to a grove: its name (None: unchanged), and settings by name."""

    name: str | None = None
    settings: dict[str, Any] = {}


@action("change_grove", stream="grove", role="owner")
def _change_grove(change: RunningAction, args: GroveChanges) -> Grove:
    """Renames a grove or changes its settings, such as the daily limit of money."""
    grove_settings.demand_settings(args.settings)
    _demand_summariser(change, args.settings.get("summary_model") or "")
    grove = Grove.objects.get(pk=change.actor.grove.pk)
    before = (grove.name, grove.settings)
    if args.name is not None:
        grove.name = names.checked(args.name, most=MAX_NAME, writes=False)
    settings = {**grove.settings, **args.settings}
    grove.settings = {name: value for name, value in settings.items() if value is not None}
    if (grove.name, grove.settings) != before:
        grove.save(update_fields=["name", "settings"])
        body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
        change.writer.append("grove.changed", body)
    return grove


def _demand_summariser(change: RunningAction, uid: str) -> None:
    """Refuses with NOT_FOUND what is neither a model of the grove nor `none`."""
    rows = Participant.objects.filter(grove=change.grove, kind="model", archived_at__isnull=True)
    if uid not in ("", NO_MODEL) and not rows.filter(uid=uid).exists():
        raise not_found("This model", "choose one of the grove, or none")


def free_name(grove: Grove, wanted: str, own: Participant | None = None) -> str:
    """`wanted`, with a number added if a participant of the grove other than `own` has that name
    or one that looks like it."""
    others = names_taken(grove).exclude(pk=own.pk if own else 0)
    taken = list(others.values_list("name", flat=True))
    number, name = 1, wanted
    while names.look_alike(name, taken):
        number += 1
        name = f"{wanted} {number}"
    return name


class OwnName(Args):
    """What a member is called."""

    name: str


def show_as(user: User, *, name: str | None = None, theme: str | None = None) -> None:
    """Keeps the name that others see, and the theme; what is None stays. A changed name is that of
    the user in all their groves, with a number behind it where somebody has it already."""
    before = str(user)
    people.show_as(user, name=name, theme=theme)
    if name is None or str(user) == before:
        return
    wanted = _wanted_name(user)
    for member in user.memberships.select_related("grove"):
        actor = access.get_actor(user, member.grove)
        execute(actor, actor.grove, _change_own_name, OwnName(name=wanted))


@action("change_own_name", stream="grove", role="reader")
def _change_own_name(change: RunningAction, args: OwnName) -> None:
    """Changes what a member is called in a grove."""
    person = change.actor.person
    name = free_name(change.grove, args.name, person)
    if name == person.name:
        return
    person.name = name
    person.save(update_fields=["name"])
    member = Membership.objects.select_related("user", "participant").get(participant=person)
    change.writer.append("member.changed", {"member": member_body(member)})


def names_taken(grove: Grove) -> QuerySet[Participant]:
    """The participants whose names nobody else may have. The name of an archived agent may be used
    again. A person's name stays theirs: they may come back, and others must not sign with it."""
    return Participant.objects.filter(grove=grove).filter(Q(archived_at=None) | Q(kind="human"))


def _person(grove: Grove, user: User) -> Participant:
    """The user's participant; a user who comes back gets the one they had, with the name that they
    have now."""
    person = Participant.objects.filter(grove=grove, user=user).first()
    name = free_name(grove, _wanted_name(user), person)
    if person is None:
        return Participant.objects.create(grove=grove, kind="human", user=user, name=name)
    person.name, person.archived_at = name, None
    person.save(update_fields=["name", "archived_at"])
    return person


def _wanted_name(user: User) -> str:
    """What a user is called in a grove in which nobody else has that name."""
    return names.cleaned(user.display_name, most=70) or user.username[:70]


def _enter(
    writer: Writer, person: Participant, user: User, role: Role, invitation: str = ""
) -> Membership:
    member = Membership.objects.create(grove=person.grove, user=user, participant=person, role=role)
    body: dict[str, Any] = {"member": member_body(member)}
    writer.append("member.added", {**body, "invitation": invitation} if invitation else body)
    return member


def member_body(member: Membership) -> dict[str, Any]:
    """A member as API and events show them."""
    return {
        "user": member.user.username,
        "name": member.participant.name,
        "role": member.role,
        "participant": member.participant.uid,
        "archetype": member.participant.archetype,
    }


def join(grove: Grove, user: User, role: Role) -> Membership:
    """Makes the user a member at their own request. CONFLICT if they are one already."""
    return execute(user, grove, _join, Joining(role=role))


class Joining(Args):
    """The role that a user gets who joins at their own request."""

    role: Role


@action("join_grove", stream="grove", role=None)
def _join(change: RunningAction, args: Joining) -> Membership:
    """Makes a user a member of a grove."""
    return enter(change, require(change.user, "who joins"), args.role)


def enter(change: RunningAction, user: User, role: Role, *, invitation: str = "") -> Membership:
    """Makes the user a member of the grove that is being changed. CONFLICT if they are one
    already."""
    grove = change.grove
    if Membership.objects.filter(grove=grove, user=user).exists():
        raise CommandError(
            "CONFLICT", f"{user.username} is already a member.", hint="change the role"
        )
    person = _person(grove, user)
    change.author = change.author or person
    change.writer.actor = change.author.uid
    return _enter(change.writer, person, user, role, invitation)


class MemberRole(Args):
    """A user by name, and a role."""

    user: str
    role: str


class MemberSeesAs(Args):
    """A member, and the archetype that decides which link types they are shown."""

    user: str
    archetype: str


def change_archetype(actor: Actor, username: str, archetype: str) -> Membership:
    """Decides which link types a member is shown."""
    args = MemberSeesAs(user=username, archetype=archetype)
    return execute(actor, actor.grove, _change_archetype, args)


@action("change_archetype", stream="grove", role="owner")
def _change_archetype(change: RunningAction, args: MemberSeesAs) -> Membership:
    """Decides which link types a member is shown."""
    member = _member(change.actor, args.user)
    if args.archetype not in ARCHETYPES:
        raise CommandError(
            "INVALID_SYNTAX",
            f"There is no archetype {args.archetype[:40]!r}.",
            hint=" or ".join(ARCHETYPES),
        )
    if args.archetype != member.participant.archetype:
        member.participant.archetype = args.archetype
        member.participant.save(update_fields=["archetype"])
        change.writer.append("member.changed", {"member": member_body(member)})
    return member


class MemberNamed(Args):
    """A user by name."""

    user: str


def add_member(actor: Actor, username: str, role: str) -> Membership:
    """Makes an existing user a member."""
    args = MemberRole(user=username, role=role)
    return execute(actor, actor.grove, _add_member, args)


@action("add_member", stream="grove", role="owner")
def _add_member(change: RunningAction, args: MemberRole) -> Membership:
    """Makes an existing user a member."""
    kind = demand_role_name(args.role)
    user = people.find_user(args.user)
    if user is None:
        raise not_found(f"A user called {args.user}", "invite somebody new by a link")
    return enter(change, user, kind)


def change_role(actor: Actor, username: str, role: str) -> Membership:
    """Gives a member another role; the last owner must remain one."""
    args = MemberRole(user=username, role=role)
    return execute(actor, actor.grove, _change_role, args)


@action("change_member", stream="grove", role="owner")
def _change_role(change: RunningAction, args: MemberRole) -> Membership:
    """Gives a member another role; the last owner must remain one."""
    kind = demand_role_name(args.role)
    member = _member(change.actor, args.user)
    if kind == member.role:
        return member
    _demand_other_owner(member)
    give_role(change, member, kind)
    return member


def give_role(change: RunningAction, member: Membership, role: Role) -> None:
    """Gives a member of the grove that is being changed another role. Whoever is no owner any more
    may not invite, so their open invitations end."""
    member.role = role
    member.save(update_fields=["role"])
    change.writer.append("member.changed", {"member": member_body(member)})
    if role != "owner":
        _end_invitations(change, member.participant)
    access_changed(change.grove.uid, member.user.pk)


def remove_member(actor: Actor, username: str) -> None:
    """Removes a member from the grove; what they wrote remains theirs."""
    execute(actor, actor.grove, _remove_member, MemberNamed(user=username))


@action("remove_member", stream="grove", role="owner")
def _remove_member(change: RunningAction, args: MemberNamed) -> None:
    """Removes a member from the grove; what they wrote remains theirs."""
    member = _member(change.actor, args.user)
    _demand_other_owner(member)
    end_membership(change, member)


EndsWithMembership = Callable[[Membership], None]

_ending: list[EndsWithMembership] = []


def ends_with_membership(end: EndsWithMembership) -> EndsWithMembership:
    """Registers what a feature ends for good when a membership ends, in the same transaction."""
    if end not in _ending:
        _ending.append(end)
    return end


def end_membership(change: RunningAction, member: Membership) -> None:
    """Ends a membership of the grove that is being changed; what they wrote remains theirs. Their
    open invitations end, by which they could come back."""
    change.writer.append("member.removed", {"member": member_body(member)})
    _end_invitations(change, member.participant)
    for end in _ending:
        end(member)
    Participant.objects.filter(pk=member.participant.pk).update(archived_at=change.now)
    member.delete()
    access_changed(change.grove.uid, member.user.pk)


def _member(actor: Actor, username: str) -> Membership:
    user = people.find_user(username, active=False)
    rows = Membership.objects.select_related("user", "participant", "grove")
    member = rows.filter(grove=actor.grove, user=user).first() if user else None
    if member is None:
        raise not_found(f"A member called {username}")
    return member


def is_last_owner(member: Membership) -> bool:
    """Whether the grove would have no owner without this one."""
    owners = Membership.objects.filter(grove=member.grove, role="owner").exclude(pk=member.pk)
    return member.role == "owner" and not owners.exists()


def _demand_other_owner(member: Membership) -> None:
    if is_last_owner(member):
        raise CommandError(
            "REJECTED",
            f"{member.user.username} is the last owner; a grove needs one.",
            hint="make somebody else an owner first",
        )


MAX_DAYS = 365
MAX_USES = 1000


def make_invitation(actor: Actor, *, role: str, days: float, uses: int) -> tuple[Invitation, str]:
    """A new invitation and its secret, which is shown only once."""
    args = InvitationArgs(role=role, days=days, uses=uses)
    return execute(actor, actor.grove, _make_invitation, args)


class InvitationArgs(Args):
    """The role that an invitation gives, how long it lasts and how often it can be used."""

    role: str
    days: float
    uses: int


@action("make_invitation", stream="grove", role="owner")
def _make_invitation(change: RunningAction, args: InvitationArgs) -> tuple[Invitation, str]:
    """Makes a link with which somebody can become a member."""
    kind = demand_role_name(args.role)
    _demand_bounds(args.days, args.uses)
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        grove=change.grove,
        role=kind,
        digest=digest(secret),
        made_by=change.actor.participant,
        expires_at=change.now + timedelta(days=args.days),
        uses_left=args.uses,
    )
    change.writer.append("invitation.added", {"invitation": invitation_body(invitation)})
    return invitation, secret


def _demand_bounds(days: float, uses: int) -> None:
    if not days > 0 or uses < 1:
        raise CommandError(
            "INVALID_SYNTAX",
            "An invitation must expire in the future and have at least one use.",
            hint="try 7 days and 1 use",
        )
    if days > MAX_DAYS or uses > MAX_USES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"An invitation can last at most {MAX_DAYS} days and has at most {MAX_USES} uses.",
            hint="try 7 days and 1 use",
        )


def invitation_body(invitation: Invitation) -> dict[str, object]:
    """An invitation as API and events show it; never its secret."""
    return {
        "id": invitation.uid,
        "role": invitation.role,
        "expires_at": instant(invitation.expires_at),
        "uses_left": invitation.uses_left,
        "revoked_at": instant_or_none(invitation.revoked_at),
    }


def revoke_invitation(actor: Actor, uid: str) -> Invitation:
    """Revokes an invitation; NOT_FOUND if it belongs to another grove or has ended."""
    args = InvitationNamed(invitation=uid)
    return execute(actor, actor.grove, _revoke_invitation, args)


class InvitationNamed(Args):
    """An invitation by id."""

    invitation: str


@action("revoke_invitation", stream="grove", role="owner")
def _revoke_invitation(change: RunningAction, args: InvitationNamed) -> Invitation:
    """Revokes an invitation."""
    open_ones = change.grove.invitations.filter(revoked_at__isnull=True)
    invitation = open_ones.filter(uid=args.invitation).first()
    if invitation is None:
        raise not_found("This invitation")
    _revoke(change, invitation)
    return invitation


def _revoke(change: RunningAction, invitation: Invitation) -> None:
    invitation.revoked_at = change.now
    invitation.save(update_fields=["revoked_at"])
    change.writer.append("invitation.removed", {"invitation": invitation_body(invitation)})


def _end_invitations(change: RunningAction, person: Participant) -> None:
    """Revokes what can still be used of the invitations that somebody made in the grove that is
    being changed."""
    for invitation in _unused(Invitation.objects.filter(grove=change.grove, made_by=person)):
        _revoke(change, invitation)


def end_invitations_of(user: User) -> None:
    """Revokes the open invitations that somebody made in any grove, as when their account is
    closed: they would work again if it was opened."""
    rows = _unused(Invitation.objects.filter(made_by__user=user)).order_by()
    for grove in Grove.objects.filter(pk__in=rows.values("grove")):
        execute(user, grove, _end_own_invitations, EndedAccount())


class EndedAccount(Args):
    """No arguments: the account is that of who acts."""


@action("end_invitations", stream="grove", role=None)
def _end_own_invitations(change: RunningAction, args: EndedAccount) -> None:
    """Revokes the open invitations of somebody whose account is closed."""
    user = require(change.user, "whose invitations end")
    person = Participant.objects.get(grove=change.grove, user=user)
    change.author, change.writer.actor = person, person.uid
    _end_invitations(change, person)


def _unused(rows: QuerySet[Invitation]) -> QuerySet[Invitation]:
    """Those that are not revoked, over or used up."""
    return rows.filter(revoked_at__isnull=True, expires_at__gt=timezone.now(), uses_left__gt=0)


def open_invitations(grove: Grove) -> QuerySet[Invitation]:
    """The invitations to a grove that can still be used."""
    return _usable(Invitation.objects.filter(grove=grove))


def _usable(rows: QuerySet[Invitation]) -> QuerySet[Invitation]:
    """Those that can be used: not revoked, over or used up, and their makers may still invite."""
    rows = _unused(rows)
    return rows.filter(made_by__membership__role="owner", made_by__user__is_active=True)


def find_invitation(secret: str) -> Invitation | None:
    """The invitation, if it can still be used."""
    rows = Invitation.objects.select_related("grove", "made_by").filter(digest=digest(secret))
    return _usable(rows).first()


def accept(
    secret: str, *, username: str = "", password: str = "", user: User | None = None
) -> Membership:
    """Makes a new user, or one who is signed in, a member; this uses the invitation once. It runs
    under the grove's lock, so that no invitation is used more often than allowed. NOT_FOUND if it
    is used up, CONFLICT if the name is taken or they are a member already.
    """
    args = Acceptance(secret=secret, username=username, password=password)
    return execute(user, _open_invitation(secret).grove, _accept, args)


class Acceptance(Args):
    """The secret of an invitation, and the name and password that a new user has chosen, where it
    is not a signed-in user who accepts it."""

    secret: Annotated[str, Secret()]
    username: str = ""
    password: Annotated[str, Secret()] = ""


@action("accept_invitation", stream="grove", role=None)
def _accept(change: RunningAction, args: Acceptance) -> Membership:
    """Makes the person who accepts an invitation a member; this uses it once."""
    invitation = _open_invitation(args.secret)
    who = change.user or people.make_user(args.username, people.demand_some(args.password))
    role = demand_role_name(invitation.role)
    member = enter(change, who, role, invitation=invitation.uid)
    invitation.uses_left -= 1
    invitation.save(update_fields=["uses_left"])
    return member


def _open_invitation(secret: str) -> Invitation:
    invitation = find_invitation(secret)
    if invitation is None:
        raise not_found(
            "This invitation", "it was used or revoked or has expired; ask for a new one"
        )
    return invitation
