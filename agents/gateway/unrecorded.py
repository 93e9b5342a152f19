"""Sessions without a name whose last request was sent but never recorded, such as after a kill, or
is still being recorded by another process. They are found by the texts that were added to it, which
are stored before it is sent."""

from collections.abc import Sequence
from datetime import timedelta

from django.core.cache import cache
from django.db.models import Exists, OuterRef
from django.utils import timezone

from agents.gateway.models import (
    HEAD,
    AddedText,
    AnswerProgress,
    GatewayKey,
    GatewayRequest,
    GatewaySession,
    Standing,
)
from loom.engine.sweeps import sweeps

KEPT = timedelta(days=30)  # texts of a session that was never recorded
LOOK_S = 3600  # seconds between two looks for older ones
AT_ONCE = 1000  # rows that are read at once
LOOKED_AT = "gateway:unrecorded:last"  # the last row that was looked at, in the cache
MOST_ALIKE = 20  # sessions that began with one message, of which the newest are looked at


def find_uid(key: GatewayKey, names: Sequence[str]) -> str:
    """The uid of the session that a conversation belongs to; "" if there is none or nobody can
    tell. `names` are those of the texts behind its messages. One message is enough to know a
    session by only where no other one that began with it waits for its answer."""
    if later := find_later(key, names):
        return later
    waiting = _waiting(key, names[:-1])
    return waiting[0] if len(waiting) == 1 else ""


def find_later(key: GatewayKey, names: Sequence[str]) -> str:
    """The uid of the newest session that has one of these messages behind an answer; "" if there is
    none."""
    rows = AddedText.objects.filter(key=key, is_unnamed=True, name__in=names)
    rows = rows.filter(stands=Standing.LATER)
    return rows.order_by("-pk").values_list("session", flat=True).first() or ""


def copies(
    key: GatewayKey, uid: str, names: Sequence[str], wanted: Sequence[str]
) -> list[AddedText]:
    """The `wanted` texts of the newest session that began with the first of these messages and
    waits for its answer, for the session `uid`: whichever of them it goes on from, the provider has
    been sent the same, because their workspaces were empty."""
    waiting = _waiting(key, names[:-1])
    if not waiting:
        return []
    return copied_from(waiting[0], uid, wanted)


def copied_from(session: str, uid: str, wanted: Sequence[str]) -> list[AddedText]:
    """The `wanted` texts of a session, for the session `uid`, not stored yet."""
    rows = list(AddedText.objects.filter(session=session, name__in=wanted))
    for row in rows:
        row.pk, row.session = None, uid
    return rows


def _waiting(key: GatewayKey, names: Sequence[str]) -> list[str]:
    """The uids of the sessions that have only begun, whose first request ended with one of these
    messages, and of which no answer is recorded; the newest first."""
    went_on = AddedText.objects.filter(session=OuterRef("session"), stands=Standing.LATER)
    over = (AnswerProgress.DONE, AnswerProgress.REFUSED)
    answered = GatewayRequest.objects.filter(session__uid=OuterRef("session"), status__in=over)
    rows = AddedText.objects.filter(key=key, is_unnamed=True, name__in=names)
    rows = rows.filter(stands=Standing.LAST).order_by("-pk")
    begun = rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:MOST_ALIKE]))
    left = begun.exclude(Exists(went_on.exclude(name__startswith=HEAD))).exclude(Exists(answered))
    return list(left.values_list("session", flat=True))


@sweeps
def forget_old() -> int:
    """Deletes texts of sessions that have not been recorded 30 days after they were sent: their
    program has not come again, and no provider keeps so long what it has seen. Others go with their
    session. Looks once an hour, at each row once; returns how many it has deleted."""
    if not cache.add("gateway:unrecorded", 1, LOOK_S):
        return 0
    last, deleted, before = int(cache.get(LOOKED_AT, 0)), 0, timezone.now() - KEPT
    while True:
        rows = AddedText.objects.filter(pk__gt=last).order_by("pk")[:AT_ONCE]
        read = list(rows.values_list("pk", "session", "created_at"))
        old = [(pk, session) for pk, session, created_at in read if created_at < before]
        sessions = GatewaySession.objects.filter(uid__in={session for _, session in old})
        recorded = set(sessions.values_list("uid", flat=True))
        lost = [pk for pk, session in old if session not in recorded]
        deleted += AddedText.objects.filter(pk__in=lost).delete()[0]
        if old:
            last = old[-1][0]
        if len(old) < AT_ONCE:  # those behind them are newer
            cache.set(LOOKED_AT, last, None)
            return deleted
