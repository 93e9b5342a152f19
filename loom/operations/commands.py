"""What operators change: accounts, the limits of groves, and work that was put aside. None of it
belongs to a stream, as accounts and an installation do not; the log says who did it, by ids."""

import logging

from loom.engine import put_aside
from loom.engine.trim_rules import TrimRule
from loom.errors import CommandError, not_found
from loom.operations import trim
from loom.operations.access import demand_operator
from loom.participants.prices import NANO
from loom.people.commands import accounts, groves
from loom.people.lost_ways import LostWay, lost_way
from loom.people.models import Grove, User

MOST_USD = 1e9  # as the setting of groves

log = logging.getLogger("heddle.operations")


def _somebody(username: str) -> User:
    user = accounts.find_user(username, active=False)
    if user is None:
        raise not_found("This account")
    return user


def close_account(operator: User, username: str) -> User:
    """Closes an account: its sessions and invitations end, its keys do nothing, and what it wrote
    stays. An operator cannot close their own."""
    demand_operator(operator)
    user = _somebody(username)
    if user.pk == operator.pk:
        raise CommandError(
            "REJECTED", "You cannot close your own account.", hint="Ask another operator."
        )
    accounts.close(user)
    groves.end_invitations_of(user)  # last, as nobody whose account is closed can make another
    log.info("operator %s closed the account %s", operator.pk, user.pk)
    return user


def open_account(operator: User, username: str) -> User:
    """Opens an account that was closed."""
    demand_operator(operator)
    user = _somebody(username)
    accounts.reopen(user)
    log.info("operator %s opened the account %s", operator.pk, user.pk)
    return user


def end_sessions(operator: User, username: str) -> User:
    """Signs somebody out of all their browsers."""
    demand_operator(operator)
    user = _somebody(username)
    accounts.end_sessions(user)
    log.info("operator %s ended the sessions of %s", operator.pk, user.pk)
    return user


def reset(operator: User, username: str, *, what: str) -> tuple[User, LostWay]:
    """Takes from somebody what they have lost, such as their second factor, by the name with which
    a way of signing in has registered it."""
    demand_operator(operator)
    way = lost_way(what)
    if way is None:
        raise not_found("This way of signing in")
    user = _somebody(username)
    if not way.reset(user):
        raise CommandError("CONFLICT", way.none, hint="Nothing was changed.")
    log.info("operator %s removed the %s of %s", operator.pk, way.name, user.pk)
    return user, way


def signin_secret(operator: User, username: str) -> tuple[User, str]:
    """The secret of a link that signs somebody in once."""
    demand_operator(operator)
    user = _somebody(username)
    if not user.is_active:
        raise CommandError("REJECTED", "This account is closed.", hint="Open it first.")
    log.info("operator %s made a link for %s to sign in with", operator.pk, user.pk)
    return user, accounts.make_signin_link(user)


def set_ceiling(operator: User, grove_uid: str, usd: float) -> Grove:
    """Sets the most that each member of a grove may spend in a day, whatever its owners allow; 0
    removes it."""
    demand_operator(operator)
    if not 0 <= usd <= MOST_USD:
        raise CommandError(
            "INVALID_SYNTAX", f"limit must be from 0 to {MOST_USD:.0f}.", hint="0 means none."
        )
    grove = Grove.objects.filter(uid=grove_uid).first()
    if grove is None:
        raise not_found("This grove")
    grove.ceiling = round(usd * NANO)
    grove.save(update_fields=["ceiling"])
    log.info("operator %s set the limit of the grove %s", operator.pk, grove.pk)
    return grove


def take_up_again(operator: User, kind: str, uid: str) -> None:
    """Has work that was put aside tried again, by the next round of the sweeper."""
    demand_operator(operator)
    if not put_aside.again(put_aside.everywhere(), kind, uid):
        raise not_found("This work")
    log.info("operator %s had the %s %s tried again", operator.pk, kind, uid)


def drop(operator: User, kind: str, uid: str) -> None:
    """Leaves work that was put aside as it is, and shows it no more."""
    demand_operator(operator)
    if not put_aside.drop(put_aside.everywhere(), kind, uid):
        raise not_found("This work")
    log.info("operator %s dropped the %s %s", operator.pk, kind, uid)


def keep_for(operator: User, name: str, days: int) -> TrimRule:
    """Says for how many days the rows of a rule of trimming are kept; 0: for ever."""
    demand_operator(operator)
    rule = trim.choose(name, days)
    log.info("operator %s keeps %s for %s days", operator.pk, rule.name, days)
    return rule


def make_operator(user: User, *, really: bool) -> None:
    """Makes a user an operator, or one no longer; the last one stays."""
    others = User.objects.filter(is_operator=True, is_active=True).exclude(pk=user.pk)
    if not really and not others.exists():
        raise CommandError(
            "REJECTED", "There has to be an operator.", hint="Make somebody else one first."
        )
    user.is_operator = really
    user.save(update_fields=["is_operator"])
