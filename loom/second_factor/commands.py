"""Setting a second factor up, checking its codes, and removing it. It belongs to an account, so to
no stream."""

import logging
import secrets
from collections.abc import Collection

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from loom.errors import CommandError
from loom.people.commands.accounts import asks_more
from loom.people.lost_ways import LostWay, can_be_lost
from loom.people.models import User
from loom.platform.prepared_queries import lock_rows
from loom.second_factor import codes
from loom.second_factor.models import RecoveryCode, SecondFactor
from loom.text.hashes import digest

RECOVERY_CODES = 10
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that look like another
GROUPS, IN_GROUP = 3, 4  # 59 bits, and the attempts are counted
ADDRESS = "/second-factor"

log = logging.getLogger("heddle.people")


@asks_more
def asked_of(user: User) -> str:
    """The address of the page that asks this user for a code when they sign in; "" for who has no
    second factor."""
    return ADDRESS if _confirmed(user) is not None else ""


def _confirmed(user: User) -> SecondFactor | None:
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).first()


def waiting_for(user: User) -> SecondFactor | None:
    """The second factor that the user has begun to set up, if any."""
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=True).first()


def begin(user: User) -> SecondFactor:
    """A new secret, which is not asked for before it is confirmed. CONFLICT for who has one."""
    with transaction.atomic():
        lock_rows(User, id=user.pk)
        if _confirmed(user) is not None:
            raise CommandError(
                "CONFLICT", "You have a second factor already.", hint="Remove it first."
            )
        sealed = codes.seal(codes.new_secret())
        return SecondFactor.objects.update_or_create(
            user=user, defaults={"sealed": sealed, "used": 0}
        )[0]


def confirm(user: User, code: str) -> list[str]:
    """From now on codes are asked for; the recovery codes, which are shown once."""
    with transaction.atomic():
        lock_rows(User, id=user.pk)
        row = waiting_for(user)
        if row is None:
            raise CommandError("CONFLICT", "Nothing was begun.", hint="Begin again.")
        if not _takes(row, code):
            raise _wrong()
        row.confirmed_at = timezone.now()
        row.save(update_fields=["confirmed_at"])
        log.info("user %s has a second factor now", user.pk)
        return _new_codes(user)


def _new_codes(user: User) -> list[str]:
    RecoveryCode.objects.filter(user=user).delete()
    plain_codes = [
        "-".join("".join(secrets.choice(LETTERS) for _ in range(IN_GROUP)) for _ in range(GROUPS))
        for _ in range(RECOVERY_CODES)
    ]
    RecoveryCode.objects.bulk_create(
        [RecoveryCode(user=user, digest=digest(code)) for code in plain_codes]
    )
    return plain_codes


def check(user: User, code: str) -> None:
    """Accepts a code of the app or a recovery code, each once. Raises UNAUTHENTICATED, and CONFLICT
    for who has no second factor. The caller counts attempts."""
    with transaction.atomic():
        lock_rows(User, id=user.pk)
        row = _confirmed(user)
        if row is None:
            raise _none()
        if _takes(row, code):
            return
        given = digest(code.strip().lower())
        if not RecoveryCode.objects.filter(user=user, digest=given).delete()[0]:
            raise _wrong()
        log.info("user %s used a recovery code", user.pk)


def _takes(row: SecondFactor, code: str) -> bool:
    """Whether this is a code of the app that was not used yet; it is used up."""
    step = codes.step_of(codes.open_sealed(row.sealed), code, after=row.used)
    if step is None:
        return False
    row.used = step
    row.save(update_fields=["used"])
    return True


def renew_codes(user: User, code: str) -> list[str]:
    """New recovery codes in place of those before."""
    check(user, code)
    with transaction.atomic():
        return _new_codes(user)


def remove(user: User, code: str) -> None:
    """Removes the second factor of somebody who still has it."""
    check(user, code)
    reset(user)


def reset(user: User) -> bool:
    """Removes the second factor of somebody who has lost it, for an operator; whether there was
    one."""
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user).delete()
        gone = SecondFactor.objects.filter(user=user).delete()[0]
    if gone:
        log.info("user %s has no second factor any more", user.pk)
    return bool(gone)


def _held_by(users: Collection[int]) -> set[int]:
    rows = SecondFactor.objects.filter(user__in=users, confirmed_at__isnull=False)
    return set(rows.values_list("user_id", flat=True))


can_be_lost(
    LostWay(
        name="second-factor",
        button=gettext_noop("Reset second factor"),
        label=gettext_noop("Remove the second factor of %(name)s"),
        done=gettext_noop("%(name)s signs in without a second factor now."),
        none="There is no second factor.",
        held_by=_held_by,
        reset=reset,
    )
)


def _none() -> CommandError:
    return CommandError("CONFLICT", "You have no second factor.", hint="Set one up.")


def _wrong() -> CommandError:
    return CommandError(
        "UNAUTHENTICATED", "This code is wrong.", hint="Enter the one that your app shows now."
    )
