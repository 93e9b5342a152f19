"""Sessions without a name whose last request was sent but never recorded, such as after a kill, or
is still being recorded by another process. They are found by the texts that were added to it, which
are stored before it is sent."""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from agents.gateway.models import HEAD, AddedText, AnswerProgress, GatewayKey, GatewayRequest

MOST_ALIKE = 20  # sessions that began with one message, of which the newest are looked at


def find_uid(key: GatewayKey, names: Sequence[str]) -> str:
    """The uid of the session that a conversation belongs to; "" if there is none or nobody can
    tell. `names` are those of the texts behind its messages. One message is enough to know a
    session by only where no other one that began with it waits for its answer."""
    if len(names) < 2:
        return ""
    if later := find_later(key, names):
        return later
    waiting = _waiting(key, names[0])
    return waiting[0] if len(waiting) == 1 else ""


def find_later(key: GatewayKey, names: Sequence[str]) -> str:
    """The uid of the newest session that has one of these messages, other than the first; "" if
    there is none."""
    rows = AddedText.objects.filter(key=key, is_unnamed=True, name__in=names[1:])
    return rows.order_by("-pk").values_list("session", flat=True).first() or ""


def copies(
    key: GatewayKey, uid: str, names: Sequence[str], wanted: Sequence[str]
) -> list[AddedText]:
    """The `wanted` texts of the newest session that began with the first of these messages and
    waits for its answer, for the session `uid`: whichever of them it goes on from, the provider has
    been sent the same, because their workspaces were empty."""
    waiting = _waiting(key, names[0]) if len(names) > 1 else []
    if not waiting:
        return []
    return copied_from(waiting[0], uid, wanted)


def copied_from(session: str, uid: str, wanted: Sequence[str]) -> list[AddedText]:
    """The `wanted` texts of a session, for the session `uid`, not stored yet."""
    rows = list(AddedText.objects.filter(session=session, name__in=wanted))
    for row in rows:
        row.pk, row.session = None, uid
    return rows


def _waiting(key: GatewayKey, name: str) -> list[str]:
    """The uids of the sessions that have only begun, with this message, and of which no answer is
    recorded; the newest first."""
    went_on = AddedText.objects.filter(session=OuterRef("session")).exclude(name=name)
    over = (AnswerProgress.DONE, AnswerProgress.REFUSED)
    answered = GatewayRequest.objects.filter(session__uid=OuterRef("session"), status__in=over)
    rows = AddedText.objects.filter(key=key, is_unnamed=True, name=name).order_by("-pk")
    begun = rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:MOST_ALIKE]))
    left = begun.exclude(Exists(went_on.exclude(name__startswith=HEAD))).exclude(Exists(answered))
    return list(left.values_list("session", flat=True))
