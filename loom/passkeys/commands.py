"""Adding, naming and removing passkeys, and signing in with one. They belong to an account, so to
no stream."""

import logging
from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_noop

from loom.errors import CommandError, not_found, require
from loom.passkeys import ceremonies
from loom.passkeys.ceremonies import Owner
from loom.passkeys.models import AskedForPasskey, Passkey
from loom.people.commands.accounts import PasswordAttempt, asks_more, who_waits
from loom.people.commands.ways_in import demand_another, way_in
from loom.people.lost_ways import LostWay, can_be_lost
from loom.people.models import User
from loom.people.names import checked
from loom.platform.prepared_queries import lock_rows

MOST = 20  # of one user
MAX_NAME = 80
ADDRESS = "/passkeys/ask"

log = logging.getLogger("heddle.people")


@way_in
def ways_in(user: User) -> int:
    """How many passkeys the user can sign in with."""
    return Passkey.objects.filter(user=user).count()


@asks_more
def asked_of(user: User) -> str:
    """The address of the page that asks this user for a passkey after their password; "" for who
    did not choose that."""
    return ADDRESS if is_asked(user) else ""


def is_asked(user: User) -> bool:
    """Whether a passkey is asked for after the user's password."""
    return AskedForPasskey.objects.filter(user=user).exists()


# Adding.


def begin(request: HttpRequest, user: User) -> dict[str, Any]:
    """What a browser needs to make a passkey for this user."""
    site = ceremonies.site_of(request)
    own = list(Passkey.objects.filter(user=user))
    if len(own) >= MOST:
        raise CommandError(
            "LIMIT_EXCEEDED", f"You have {MOST} passkeys.", hint="Remove one that you do not use."
        )
    handle = own[0].handle if own else ceremonies.new_handle()
    # The answer does not repeat it.
    request.session["passkey_handle"] = handle
    owner = Owner(user.pk, handle, user.username, str(user))
    here = [bytes(passkey.credential) for passkey in own if passkey.site == site.host]
    return ceremonies.asks_to_add(request, site, owner, here)


def add(request: HttpRequest, user: User, *, name: str, answer: str) -> Passkey:
    """Stores the passkey that a browser has made."""
    site = ceremonies.site_of(request)
    credential = ceremonies.made_by(request, site, user.pk, answer)
    handle = str(request.session.pop("passkey_handle", ""))
    try:
        with transaction.atomic():
            lock_rows(User, id=user.pk)
            if Passkey.objects.filter(user=user).count() >= MOST:
                raise CommandError(
                    "LIMIT_EXCEEDED", f"You have {MOST} passkeys.", hint="Remove one."
                )
            passkey = Passkey.objects.create(
                user=user,
                name=_name(name),
                site=site.host,
                handle=handle,
                digest=credential.digest,
                credential=credential.credential,
                count=credential.count,
            )
    except IntegrityError:
        raise CommandError(
            "CONFLICT", "This passkey is known already.", hint="Nothing was changed."
        ) from None
    log.info("user %s has the passkey %s now", user.pk, passkey.pk)
    return passkey


def _name(name: str) -> str:
    if not name:
        raise CommandError("INVALID_SYNTAX", "A passkey needs a name.", hint="Write one.")
    if len(name) > MAX_NAME:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A name has at most {MAX_NAME} characters.", hint="Shorten it."
        )
    return checked(name, most=MAX_NAME, writes=False)


# Signing in.


def ask(request: HttpRequest) -> dict[str, Any]:
    """What a browser needs to sign in: with a passkey of whoever has entered their password, else
    with any."""
    site = ceremonies.site_of(request)
    waits = who_waits(request)
    if waits is None:
        return ceremonies.asks_to_sign_in(request, site, None, None)
    rows = Passkey.objects.filter(user=waits[0], site=site.host)
    known = [bytes(row.credential) for row in rows]
    return ceremonies.asks_to_sign_in(request, site, known, waits[0].pk)


def user_of(request: HttpRequest, *, answer: str) -> User:
    """The user whose passkey has signed; if somebody has entered their password in this browser,
    only they can be it. UNAUTHENTICATED if anything is wrong. Attempts are counted, as with
    passwords."""
    waits = who_waits(request)
    site, read = ceremonies.site_of(request), ceremonies.answer_in(answer)
    attempt = PasswordAttempt(request, read.digest, at="passkey")
    with transaction.atomic():
        lock_rows(Passkey, digest=read.digest)
        rows = Passkey.objects.select_related("user").filter(site=site.host)
        row = rows.filter(digest=read.digest, user__is_active=True).first()
        if row is not None and waits is not None and row.user_id != waits[0].pk:
            row = None
        if row is not None and read.handle and read.handle != row.handle:
            row = None
        known = None if row is None else bytes(row.credential)
        of = None if waits is None else waits[0].pk
        ceremonies.demand_signed(request, site, read, known, of=of)
        used = require(row, "the passkey that has signed")
        _count(used, read.count)
    attempt.succeeded()
    return used.user


def _count(row: Passkey, count: int) -> None:
    """Notes the use. A device that counts and has not counted on may have been copied: refused."""
    if (count or row.count) and count <= row.count:
        log.warning("the passkey %s of user %s has counted back", row.pk, row.user_id)
        raise CommandError(
            "UNAUTHENTICATED",
            "This passkey was used before by another copy of it, so it was not accepted.",
            hint="Sign in in another way, remove it, and add a new one.",
        )
    row.count, row.used_at = count, timezone.now()
    row.save(update_fields=["count", "used_at"])


# Changing.


def _own(user: User, uid: str) -> Passkey:
    row = Passkey.objects.filter(user=user, uid=uid).first()
    if row is None:
        raise not_found("This passkey")
    return row


def rename(user: User, uid: str, *, name: str) -> Passkey:
    """Gives a passkey another name."""
    row = _own(user, uid)
    row.name = _name(name)
    row.save(update_fields=["name"])
    return row


def remove(user: User, uid: str) -> Passkey:
    """Removes a passkey; not the last way in which the user can sign in."""
    with transaction.atomic():
        lock_rows(User, id=user.pk)
        row = _own(user, uid)
        demand_another(user)
        row.delete()
        if not Passkey.objects.filter(user=user).exists():
            AskedForPasskey.objects.filter(user=user).delete()
    log.info("user %s removed a passkey", user.pk)
    return row


def ask_after_password(user: User, *, really: bool) -> None:
    """From now on a passkey is asked for after the user's password, or not any more. CONFLICT for
    who has none."""
    with transaction.atomic():
        lock_rows(User, id=user.pk)
        if not really:
            AskedForPasskey.objects.filter(user=user).delete()
            return
        if not Passkey.objects.filter(user=user).exists():
            raise CommandError("CONFLICT", "You have no passkey.", hint="Add one first.")
        AskedForPasskey.objects.get_or_create(user=user)


def reset(user: User) -> bool:
    """Removes all passkeys of somebody who has lost them, for an operator; whether there were
    any."""
    with transaction.atomic():
        AskedForPasskey.objects.filter(user=user).delete()
        gone = Passkey.objects.filter(user=user).delete()[0]
    if gone:
        log.info("user %s has no passkeys any more", user.pk)
    return bool(gone)


def _held_by(users: Collection[int]) -> set[int]:
    rows = Passkey.objects.filter(user__in=users).order_by()
    return set(rows.values_list("user_id", flat=True).distinct())


can_be_lost(
    LostWay(
        name="passkeys",
        button=gettext_noop("Remove passkeys"),
        label=gettext_noop("Remove the passkeys of %(name)s"),
        done=gettext_noop("%(name)s has no passkeys any more."),
        none="There are no passkeys.",
        held_by=_held_by,
        reset=reset,
    )
)
