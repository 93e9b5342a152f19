"""Groves and their members. Every change is an event of the grove; a change of role reaches
open sockets at once."""

from typing import Any

from django.db import transaction
from django.db.models import Q

from loom.access import Actor, get_actor
from loom.log import announce, streams
from loom.log.streams import Writer
from loom.models import Grove, Membership, Participant, User
from loom.rules.permissions import ROLES, Role
from loom.rules.refusals import Refused, not_found

MAX_NAME = 200
SETTINGS = ("daily_budget_usd", "tag_colours")


def demand_name(name: str, *, most: int = MAX_NAME) -> str:
    """The name, if a grove or participant may be called so."""
    if not name.strip() or len(name) > most or any(ord(c) < 32 for c in name):
        raise Refused(
            "INVALID_SYNTAX",
            f"A name has 1 to {most} characters and no line breaks.",
            hint="choose another name",
        )
    return name


def demand_role_name(role: str) -> Role:
    """The role, if there is one of that name."""
    if role not in ROLES:
        raise Refused("INVALID_SYNTAX", f"There is no role {role!r}.", hint=" or ".join(ROLES))
    return role  # type: ignore[return-value]


def make_grove(user: User, name: str) -> Grove:
    """A new grove, owned by its maker."""
    demand_name(name)
    with transaction.atomic():
        grove = Grove.objects.create(name=name)
        streams.open_stream(grove)
        writer = streams.lock(grove)
        writer.append("grove.created", {"grove": grove.uid, "name": name})
        member = _join(writer, grove, user, "owner")
        writer.actor = member.participant.uid
        writer.flush()
    return grove


def change_grove(actor: Actor, *, name: str | None, settings: dict[str, Any] | None) -> Grove:
    """Renames a grove or changes its settings, which are a closed list."""
    unknown = [one for one in settings or {} if one not in SETTINGS]
    if unknown:
        raise Refused(
            "INVALID_SYNTAX", f"There is no setting {unknown[0]!r}.", hint=" or ".join(SETTINGS)
        )
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        grove = Grove.objects.get(pk=actor.grove.pk)
        if name is not None:
            grove.name = demand_name(name)
        grove.settings = {**grove.settings, **(settings or {})}
        grove.save(update_fields=["name", "settings"])
        body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
        writer.append("grove.changed", body)
        writer.flush()
    return grove


def _free_name(grove: Grove, wanted: str) -> str:
    """`wanted`, or with a number behind it where the grove has a participant of that name."""
    taken = Participant.objects.filter(grove=grove).filter(
        Q(name__iexact=wanted) | Q(name__istartswith=f"{wanted} ")
    )
    names = {name.casefold() for name in taken.values_list("name", flat=True)}
    number, name = 1, wanted
    while name.casefold() in names:
        number += 1
        name = f"{wanted} {number}"
    return name


def _join(writer: Writer, grove: Grove, user: User, role: Role) -> Membership:
    """Makes the user a member; one who comes back is the participant he was."""
    person = Participant.objects.filter(grove=grove, user=user).first()
    if person is None:
        wanted = (user.display_name or user.username)[:70]
        person = Participant.objects.create(
            grove=grove, kind="human", user=user, name=_free_name(grove, wanted)
        )
    Participant.objects.filter(pk=person.pk).update(archived_at=None)
    member = Membership.objects.create(grove=grove, user=user, participant=person, role=role)
    writer.append("member.added", {"member": member_body(member)})
    return member


def member_body(member: Membership) -> dict[str, Any]:
    """A member as API and events show him."""
    return {
        "user": member.user.username,
        "name": member.participant.name,
        "role": member.role,
        "participant": member.participant.uid,
    }


def join(grove: Grove, user: User, role: Role, *, by: str = "") -> Membership:
    """Makes the user a member, under the grove's lock. CONFLICT where he is one."""
    with transaction.atomic():
        writer = streams.lock(grove, actor=by)
        if Membership.objects.filter(grove=grove, user=user).exists():
            raise Refused(
                "CONFLICT", f"{user.username} is a member already.", hint="change the role"
            )
        member = _join(writer, grove, user, role)
        writer.flush()
    return member


def add_member(actor: Actor, username: str, role: str) -> Membership:
    """Makes an existing user a member."""
    kind = demand_role_name(role)
    user = User.objects.filter(username__iexact=username, is_active=True).first()
    if user is None:
        raise not_found(f"A user called {username}", "invite somebody new by a link")
    return join(actor.grove, user, kind, by=actor.participant.uid)


def change_role(actor: Actor, username: str, role: str) -> Membership:
    """Gives a member another role; the last owner stays one."""
    kind = demand_role_name(role)
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        member = _member(actor, username)
        if kind != "owner":
            _demand_other_owner(member)
        member.role = kind
        member.save(update_fields=["role"])
        writer.append("member.changed", {"member": member_body(member)})
        writer.flush()
        _tell_sockets(member)
    return member


def remove_member(actor: Actor, username: str) -> None:
    """Takes somebody out of the grove; what he wrote stays his."""
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        member = _member(actor, username)
        _demand_other_owner(member)
        writer.append("member.removed", {"member": member_body(member)})
        member.delete()
        writer.flush()
        _tell_sockets(member)


def _member(actor: Actor, username: str) -> Membership:
    # The caller's own right is looked at again under the lock.
    if not get_actor(actor.user, actor.grove).is_owner:
        raise Refused("PERMISSION_DENIED", "This needs the role owner.", hint="ask an owner")
    member = (
        Membership.objects.select_related("user", "participant", "grove")
        .filter(grove=actor.grove, user__username__iexact=username)
        .first()
    )
    if member is None:
        raise not_found(f"A member called {username}")
    return member


def _demand_other_owner(member: Membership) -> None:
    owners = Membership.objects.filter(grove=member.grove, role="owner").exclude(pk=member.pk)
    if member.role == "owner" and not owners.exists():
        raise Refused(
            "REJECTED",
            f"{member.user.username} is the last owner, and a grove needs one.",
            hint="make somebody else an owner first",
        )


def _tell_sockets(member: Membership) -> None:
    stream = streams.name_of(member.grove)
    message = {"type": "access", "grove": member.grove.uid, "user": member.user.pk}
    transaction.on_commit(lambda: announce.send(stream, message))
