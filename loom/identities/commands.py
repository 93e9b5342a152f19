"""Who signs in with the account that they have at an organisation, and what their groups make of
them. The protocols say who that is."""

import re
import secrets

from django.db import IntegrityError, transaction

from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError, require
from loom.identities.issuers import Account, Issuer, issuers
from loom.identities.models import Identity
from loom.people import names
from loom.people.commands import accounts as people
from loom.people.commands.groves import (
    demand_role_name,
    end_membership,
    enter,
    give_role,
    is_last_owner,
)
from loom.people.commands.ways_in import demand_another, way_in
from loom.people.models import Grove, Membership, User
from loom.permissions import ROLES, Role
from loom.platform.prepared_queries import lock_rows

TRIES = 20


def user_of(issuer: Issuer, account: Account) -> User:
    """The user whose account this is; a new one where the operator allows it. Their roles follow
    their groups. Raises CommandError UNAUTHENTICATED for somebody who is not let in."""
    identity = _identity(issuer, account)
    if identity is None:
        identity = _new(issuer, account)
    if not identity.user.is_active:
        raise _not_let_in("Your account is closed.")
    _note(identity, account)
    follow_groups(identity, issuer, account.groups)
    return identity.user


def link(issuer: Issuer, user: User, account: Account) -> Identity:
    """Lets a user sign in with this account from now on. CONFLICT if it is another user's."""
    known = _identity(issuer, account)
    if known is not None and known.user != user:
        raise CommandError(
            "CONFLICT",
            f"This account is linked to {known.user.username}.",
            hint="Sign in as them and remove the link first.",
        )
    if known is None:
        with transaction.atomic():
            before = account_of(issuer, user)
            held = list(before.groves.all()) if before else []
            if before is not None:
                before.delete()
            known = Identity.objects.create(
                user=user, issuer=issuer.entity, subject=account.subject
            )
            # Where a group had made them a member, the groups of this account say what they are.
            known.groves.set(held)
    _note(known, account)
    follow_groups(known, issuer, account.groups)
    return known


def unlink(issuer: Issuer, user: User) -> None:
    """Removes the link, and ends what groups there had made of the user. Refused to somebody who
    could not sign in any more."""
    with transaction.atomic():
        lock_rows(User, id=user.pk)
        linked = account_of(issuer, user)
        if linked is None:
            return
        demand_another(user)
    # Otherwise they would stay what their groups made them, whatever becomes of the groups.
    follow_groups(linked, issuer, frozenset())
    linked.delete()


@way_in
def ways_in(user: User) -> int:
    """With how many accounts at organisations the user can sign in."""
    known = [issuer.entity for issuer in issuers()]
    return Identity.objects.filter(user=user, issuer__in=known).count() if known else 0


def account_of(issuer: Issuer, user: User) -> Identity | None:
    """The account of a user at an organisation, if they have linked one."""
    return Identity.objects.filter(user=user, issuer=issuer.entity).first()


def _identity(issuer: Issuer, account: Account) -> Identity | None:
    rows = Identity.objects.select_related("user")
    return rows.filter(issuer=issuer.entity, subject=account.subject).first()


def _not_let_in(why: str) -> CommandError:
    return CommandError("UNAUTHENTICATED", why, hint="Ask an owner of your grove to invite you.")


def _new(issuer: Issuer, account: Account) -> Identity:
    """A user for somebody who comes for the first time."""
    if issuer.new == "nobody":
        raise _not_let_in(
            "Nobody here is linked to this account. Sign in with your password and link it in"
            " your settings, under Access."
        )
    if issuer.new == "groups" and not _roles(issuer, account.groups):
        raise _not_let_in("None of your groups has a grove here.")
    try:
        with transaction.atomic():
            return Identity.objects.create(
                user=_user_named(account), issuer=issuer.entity, subject=account.subject
            )
    except IntegrityError:  # the same person in two browsers at once
        again = _identity(issuer, account)
        if again is None:
            raise
        return again


def _user_named(account: Account) -> User:
    """A new user, called as they are there, or nearly so where that name is taken."""
    wanted = account.username or account.email.partition("@")[0] or "person"
    base = re.sub(r"[^\w.@+-]", "", wanted)[:60] or "person"
    shown = names.cleaned(account.name, most=70)
    for number in range(TRIES):
        try:
            name = base if not number else f"{base}-{_distinction(number)}"
            return people.make_user(name, display_name=shown)
        except CommandError as refused:
            if refused.code != "CONFLICT" or number == TRIES - 1:
                raise
    raise AssertionError("the last try has raised")


def _distinction(number: int) -> str:
    """What tells apart those who would have the same name: a number; letters once many have it."""
    return str(number + 1) if number < TRIES // 2 else secrets.token_hex(3)


def _note(identity: Identity, account: Account) -> None:
    shown = account.email or account.username or account.name
    identity.shown_as = shown[:255].replace("\0", "")
    identity.save(update_fields=["shown_as", "used_at"])


# What groups make of somebody.


def _roles(issuer: Issuer, groups: frozenset[str]) -> dict[str, Role]:
    """The highest role in each grove, by its id."""
    roles: dict[str, Role] = {}
    for group, grove, named in issuer.groups:
        role = demand_role_name(named)
        if group in groups and (
            grove not in roles or ROLES.index(role) > ROLES.index(roles[grove])
        ):
            roles[grove] = role
    return roles


def follow_groups(identity: Identity, issuer: Issuer, groups: frozenset[str]) -> None:
    """Makes the user a member where their groups say so, with the role that they give, and no
    longer one where only a group had made them one. Writes only what changes."""
    roles = _roles(issuer, groups)
    held = set(identity.groves.values_list("uid", flat=True))
    rows = Membership.objects.filter(user=identity.user, grove__uid__in={*roles, *held})
    known = dict(rows.values_list("grove__uid", "role"))
    for grove in Grove.objects.filter(uid__in={*roles, *held}):
        role, is_by_group = roles.get(grove.uid), grove.uid in held
        is_same = grove.uid in known and (not is_by_group or known[grove.uid] == role)
        if is_same or (role is None and grove.uid not in known):
            continue
        if execute(identity.user, grove, _follow, FollowedRole(role=role, by_group=is_by_group)):
            identity.groves.add(grove)
        else:
            identity.groves.remove(grove)


class FollowedRole(Args):
    """The role that the groups of a user give them in a grove, or None; and whether it was a group
    that made them a member."""

    role: Role | None
    by_group: bool


@action("follow_groups", stream="grove", role=None)
def _follow(change: RunningAction, args: FollowedRole) -> bool:
    """Gives a user the role of their groups; returns whether they are a member by a group now. A
    member whom somebody invited stays one, and the last owner stays an owner."""
    user = require(change.user, "who signs in")
    rows = Membership.objects.select_related("user", "participant", "grove")
    member = rows.filter(grove=change.grove, user=user).first()
    if member is None:
        if args.role is not None:
            enter(change, user, args.role)
        return args.role is not None
    change.author = member.participant
    change.writer.actor = member.participant.uid
    if not args.by_group or member.role == args.role or is_last_owner(member):
        return args.by_group and args.role is not None
    if args.role is None:
        end_membership(change, member)
    else:
        give_role(change, member, args.role)
    return args.role is not None
