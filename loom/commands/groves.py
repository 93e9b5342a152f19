"""Groves and their members. Every change is an event of the grove; a change of role reaches
open sockets at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.utils import timezone

from loom.access import Actor, demand_role, get_actor
from loom.commands import people
from loom.log import streams
from loom.log.announce import access_changed
from loom.log.streams import Writer
from loom.models import Grove, Membership, Participant, User
from loom.rules import names
from loom.rules.permissions import ROLES, Role
from loom.rules.refusals import Refused, not_found

MAX_NAME = 200
MAX_COLOURS = 1000
SETTINGS = ("daily_budget_usd", "tag_colours")


@contextmanager
def owned(actor: Actor) -> Iterator[Writer]:
    """The actor's grove, locked. That he owns it is asked under the lock, so that two owners
    cannot take the role from each other at once."""
    with transaction.atomic():
        writer = streams.lock(actor.grove, actor=actor.participant.uid)
        demand_role(get_actor(actor.user, actor.grove), "owner")
        yield writer
        writer.flush()


def demand_name(name: str, *, most: int = MAX_NAME) -> str:
    """The name as it is kept, if a grove or participant may be called so."""
    return names.checked(name, most=most)


def demand_role_name(role: str) -> Role:
    """The role, if there is one of that name."""
    if role not in ROLES:
        raise Refused("INVALID_SYNTAX", f"There is no role {role!r}.", hint=" or ".join(ROLES))
    return role


def make_grove(user: User, name: str) -> Grove:
    """A new grove, owned by its maker."""
    name = demand_name(name)
    with transaction.atomic():
        grove = Grove.objects.create(name=name)
        person = _person(grove, user)
        streams.open_stream(grove)
        writer = streams.lock(grove, actor=person.uid)
        writer.append("grove.created", {"grove": grove.uid, "name": name})
        _enter(writer, person, user, "owner")
        writer.flush()
    return grove


def change_grove(
    actor: Actor, *, name: str | None = None, settings: dict[str, Any] | None = None
) -> Grove:
    """Renames a grove or changes the settings that are sent, which are a closed list."""
    _demand_settings(settings or {})
    with owned(actor) as writer:
        grove = Grove.objects.get(pk=actor.grove.pk)
        before = (grove.name, grove.settings)
        if name is not None:
            grove.name = demand_name(name)
        grove.settings = {**grove.settings, **(settings or {})}
        if (grove.name, grove.settings) != before:
            grove.save(update_fields=["name", "settings"])
            body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
            writer.append("grove.changed", body)
    return grove


def _demand_settings(given: dict[str, Any]) -> None:
    unknown = [one for one in given if one not in SETTINGS]
    if unknown:
        raise Refused(
            "INVALID_SYNTAX", f"There is no setting {unknown[0]!r}.", hint=" or ".join(SETTINGS)
        )
    budget = given.get("daily_budget_usd", 0)
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not 0 <= budget <= 1e9:
        raise Refused("INVALID_SYNTAX", "daily_budget_usd is no amount.", hint="0 is no limit")
    colours = given.get("tag_colours", {})
    if not isinstance(colours, dict) or not all(
        isinstance(one, str) and len(one) <= 40 for one in [*colours, *colours.values()]
    ):
        raise Refused(
            "INVALID_SYNTAX", "tag_colours holds a colour for each tag.", hint='{"draft": "amber"}'
        )
    if len(colours) > MAX_COLOURS:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"At most {MAX_COLOURS} tags have colours.",
            hint="take the colour of another tag away first",
            status=413,
        )


def free_name(grove: Grove, wanted: str) -> str:
    """`wanted`, or with a number behind it where a participant of the grove has that name or
    one that looks like it."""
    taken = list(Participant.objects.filter(grove=grove).values_list("name", flat=True))
    number, name = 1, wanted
    while names.look_alike(name, taken):
        number += 1
        name = f"{wanted} {number}"
    return name


def _person(grove: Grove, user: User) -> Participant:
    """The user's participant; one who comes back is the participant he was."""
    person = Participant.objects.filter(grove=grove, user=user).first()
    if person is None:
        wanted = names.cleaned(user.display_name, most=70) or user.username[:70]
        return Participant.objects.create(
            grove=grove, kind="human", user=user, name=free_name(grove, wanted)
        )
    person.archived_at = None
    person.save(update_fields=["archived_at"])
    return person


def _enter(
    writer: Writer, person: Participant, user: User, role: Role, invitation: str = ""
) -> Membership:
    member = Membership.objects.create(grove=person.grove, user=user, participant=person, role=role)
    body: dict[str, Any] = {"member": member_body(member)}
    writer.append("member.added", {**body, "invitation": invitation} if invitation else body)
    return member


def member_body(member: Membership) -> dict[str, Any]:
    """A member as API and events show him."""
    return {
        "user": member.user.username,
        "name": member.participant.name,
        "role": member.role,
        "participant": member.participant.uid,
    }


def join(grove: Grove, user: User, role: Role) -> Membership:
    """Makes the user a member, by himself. CONFLICT where he is one."""
    with transaction.atomic():
        writer = streams.lock(grove)
        member = enter(writer, grove, user, role)
        writer.flush()
    return member


def enter(
    writer: Writer, grove: Grove, user: User, role: Role, *, invitation: str = ""
) -> Membership:
    """Makes the user a member of the grove that `writer` has locked. CONFLICT where he is."""
    if Membership.objects.filter(grove=grove, user=user).exists():
        raise Refused("CONFLICT", f"{user.username} is a member already.", hint="change the role")
    person = _person(grove, user)
    writer.actor = writer.actor or person.uid
    return _enter(writer, person, user, role, invitation)


def add_member(actor: Actor, username: str, role: str) -> Membership:
    """Makes an existing user a member."""
    kind = demand_role_name(role)
    user = people.find_user(username)
    with owned(actor) as writer:
        if user is None:
            raise not_found(f"A user called {username}", "invite somebody new by a link")
        return enter(writer, actor.grove, user, kind)


def change_role(actor: Actor, username: str, role: str) -> Membership:
    """Gives a member another role; the last owner stays one."""
    kind = demand_role_name(role)
    with owned(actor) as writer:
        member = _member(actor, username)
        if kind == member.role:
            return member
        _demand_other_owner(member)
        member.role = kind
        member.save(update_fields=["role"])
        writer.append("member.changed", {"member": member_body(member)})
        access_changed(actor.grove.uid, member.user.pk)
    return member


def remove_member(actor: Actor, username: str) -> None:
    """Takes somebody out of the grove; what he wrote stays his."""
    with owned(actor) as writer:
        member = _member(actor, username)
        _demand_other_owner(member)
        writer.append("member.removed", {"member": member_body(member)})
        Participant.objects.filter(pk=member.participant.pk).update(archived_at=timezone.now())
        member.delete()
        access_changed(actor.grove.uid, member.user.pk)


def _member(actor: Actor, username: str) -> Membership:
    user = people.find_user(username, active=False)
    rows = Membership.objects.select_related("user", "participant", "grove")
    member = rows.filter(grove=actor.grove, user=user).first() if user else None
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
