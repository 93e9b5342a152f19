"""Work that is put aside: a unit that fails again and again, or that no process has brought to an
end, is left alone and shown, so that it never stops what comes after it."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from loom.access import Actor
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.busy import NOT_REACHED
from loom.engine.execute import execute
from loom.engine.models import PutAside
from loom.errors import CommandError, not_found
from loom.people.models import Grove

MOST_TRIES = 3
NOT_ENDED = (
    "It did not come to an end: the process that worked on it stopped, or still works on it."
)

log = logging.getLogger("heddle.put_aside")


def attempt(
    kind: str, uid: str, work: Callable[[], object], *, version: int = 0, grove: Grove | None = None
) -> bool:
    """Does a unit of work that an earlier process has left, unless it is put aside; whether it was
    done. The try is counted before it begins, so that one that kills its process counts too.
    Raises only if the database is away, which counts as no try."""
    if is_left_alone(find(kind, uid), version=version):
        return False
    _count(kind, uid, NOT_ENDED, version=version, grove=grove)
    try:
        work()
    except NOT_REACHED:
        _uncount(kind, uid)
        raise
    except Exception as error:
        log.warning("could not do the %s %s", kind, uid, exc_info=True)
        PutAside.objects.filter(kind=kind, uid=uid).update(
            reason=_error_text(error), at=timezone.now()
        )
        return False
    done(kind, uid)
    return True


def failed(
    kind: str, uid: str, error: Exception, *, version: int = 0, grove: Grove | None = None
) -> None:
    """Counts a try that has failed. One that failed because the database was away counts not."""
    if isinstance(error, NOT_REACHED):
        return
    if isinstance(error, CommandError) and error.code == "UNAVAILABLE":
        return
    try:
        _count(kind, uid, _error_text(error), version=version, grove=grove)
    except DatabaseError:
        log.warning("could not store that the %s %s failed", kind, uid, exc_info=True)


def done(kind: str, uid: str) -> None:
    """Forgets the tries of a unit that was done."""
    PutAside.objects.filter(kind=kind, uid=uid).delete()


def find(kind: str, uid: str) -> PutAside | None:
    """The tries of a unit that have failed so far, if any."""
    return PutAside.objects.filter(kind=kind, uid=uid).first()


def is_left_alone(known: PutAside | None, *, version: int = 0) -> bool:
    """Whether a unit with these tries is left alone in this version."""
    return known is not None and known.version == version and known.tries >= MOST_TRIES


def among(kind: str, *, version: str = "") -> Exists:
    """Whether rows are put aside; for their querysets. `version` is the name of their field, if
    they have one."""
    of_kind = PutAside.objects.filter(kind=kind, uid=OuterRef("uid"))
    rows = of_kind.filter(version=OuterRef(version) if version else 0)
    return Exists(rows.filter(tries__gte=MOST_TRIES))


def of_grove(grove: Grove) -> QuerySet[PutAside]:
    """The units of a grove that are put aside, the last first."""
    return everywhere().filter(grove=grove)


def everywhere() -> QuerySet[PutAside]:
    """The units of the installation that are put aside and were not dropped, the last first; for
    operators."""
    return PutAside.objects.filter(tries__gte=MOST_TRIES, dropped_at__isnull=True)


def count() -> int:
    """How many units of the installation are put aside."""
    return everywhere().count()


def again(rows: QuerySet[PutAside], kind: str, uid: str) -> bool:
    """Has a unit of `rows` tried again, by the next round of the sweeper; whether it was there."""
    return bool(rows.filter(kind=kind, uid=uid).update(tries=0, at=timezone.now()))


def drop(rows: QuerySet[PutAside], kind: str, uid: str) -> bool:
    """Leaves a unit of `rows` as it is, for good unless it fails anew; whether it was there. What
    is shown as running is ended by what its kind has registered."""
    with transaction.atomic():
        if not rows.filter(kind=kind, uid=uid).update(dropped_at=timezone.now()):
            return False
        if kind in _dropped:
            _dropped[kind](uid)
    return True


_dropped: dict[str, Callable[[str], None]] = {}


def when_dropped(kind: str) -> Callable[[Callable[[str], None]], Callable[[str], None]]:
    """Registers what ends a unit of a kind that an operator drops, in the same transaction."""

    def register(ended: Callable[[str], None]) -> Callable[[str], None]:
        _dropped[kind] = ended
        return ended

    return register


def _count(kind: str, uid: str, reason: str, *, version: int, grove: Grove | None) -> None:
    now = timezone.now()
    with transaction.atomic():
        rows = PutAside.objects.filter(kind=kind, uid=uid)
        again = rows.filter(version=version).update(tries=F("tries") + 1, reason=reason, at=now)
        if not again:
            fields = {"version": version, "reason": reason, "tries": 1, "at": now}
            fields |= {"grove": grove, "dropped_at": None}
            PutAside.objects.update_or_create(kind=kind, uid=uid, defaults=fields)


def _uncount(kind: str, uid: str) -> None:
    try:
        PutAside.objects.filter(kind=kind, uid=uid, tries__gt=0).update(tries=F("tries") - 1)
    except DatabaseError:
        log.warning("could not store that the %s %s was not tried", kind, uid, exc_info=True)


def _error_text(error: Exception) -> str:
    words = str(error).replace("\0", "").strip()
    return f"{type(error).__name__}: {words}"[:300] if words else type(error).__name__


def take_up_again(actor: Actor, kind: str, uid: str) -> None:
    """Has what was put aside tried again, by the next round of the sweeper. For owners."""
    execute(actor, actor.grove, _retry, Retried(kind=kind, unit=uid))


class Retried(Args):
    """The kind and the id of a unit that was put aside."""

    kind: str
    unit: str


@action("retry_put_aside", stream="grove", role="owner")
def _retry(change: RunningAction, args: Retried) -> None:
    """Takes up again what was put aside in a grove."""
    change.message = f"{args.kind} {args.unit} is tried again"
    if not again(of_grove(change.grove), args.kind, args.unit):
        raise not_found(f"A {args.kind} that was put aside with this id")
