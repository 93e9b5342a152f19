"""The order in which candidates begin: fair between members, within what a key bears.

What is asked with one provider key stands in one lane. Each candidate gets a rank when it is
asked for: one past the member's last, but never before what began already. So two members
take turns however much either asked for, and nobody waits for ever.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from loom.models import Generation, Lane, Participant
from loom.models.prepared import Given, Prepared

OPEN = ("queued", "running")
AHEAD = 400  # candidates of a lane that are looked at to choose who begins


def lane_of(participant: Participant) -> str:
    """The lane of what is asked of a participant."""
    return participant.lane or f"participant:{participant.pk}"


def ranks(lane: str, payer: Participant) -> Iterator[int]:
    """The ranks of a member's next candidates in a lane."""
    reached = Lane.objects.filter(name=lane).values_list("reached", flat=True).first() or 0
    own = Generation.objects.filter(lane=lane, payer=payer, ended_at__isnull=True)
    rank = max(reached, own.aggregate(last=Max("rank"))["last"] or 0)
    while True:
        rank += 1
        yield rank


@dataclass(frozen=True)
class _Open:
    """What is known of an open generation to choose by."""

    pk: int
    payer: int | None
    rank: int
    most: int
    is_lost: bool
    is_running: bool


def _always(lease: str) -> bool:
    return True


def begin(
    lane: str, *, lease: str, seconds: int, proves_loss: Callable[[str], bool] = _always
) -> list[Generation]:
    """The candidates of a lane that may begin now, and those whose worker was lost; all now
    running under `lease`. As many run at once as the lane bears. `proves_loss` says whether a
    lease that has run out means that its worker is gone."""
    with transaction.atomic():
        row = _locked(lane)
        chosen = _chosen(list(_open(lane, timezone.now(), proves_loss)))
        found = (_TAKEN.first(pk=pk) for pk in sorted(one.pk for one in chosen))
        taken = [one for one in found if one is not None]
        until = timezone.now() + timedelta(seconds=seconds)
        for one in taken:
            one.status, one.lease, one.tries = "running", lease, one.tries + 1
            one.leased_until = until
        Generation.objects.filter(pk__in=[one.pk for one in taken]).update(
            status="running", lease=lease, tries=F("tries") + 1, leased_until=until
        )
        reached = max([row.reached, *(one.rank for one in taken)])
        if reached > row.reached:
            Lane.objects.filter(pk=row.pk).update(reached=reached)
    return sorted(taken, key=lambda one: (one.rank, one.pk))


# What a worker reads of a generation besides its own row.
READ = (
    "tree__grove",
    "participant",
    "asked_by__user",
    "payer__grove",
    "point__author",
    "call",
    "turn",
)


# Prepared, since a first word waits for them: to build the SQL of ten joins takes longer than
# to run it. One query for each that begins; most often that is one.
_TAKEN = Prepared(
    lambda: (
        Generation.objects.select_for_update(of=("self",))
        .select_related(*READ)
        .filter(pk=Given("pk"), ended_at__isnull=True)
    )
)
_LANE = Prepared(lambda: Lane.objects.select_for_update().filter(name=Given("name")))
# Running ones first: they are always counted, however long the queue is.
_OPEN = Prepared(
    lambda: (
        Generation.objects.filter(
            lane=Given("lane"), ended_at__isnull=True, tree__erasing_at__isnull=True
        )
        .filter(Q(status="running") | Q(status="queued", stop_asked=False))
        .order_by("-status", "rank", "id")
        .values_list(
            "pk", "payer_id", "rank", "participant__parallel", "status", "leased_until", "lease"
        )[:AHEAD]
    )
)


def _locked(name: str) -> Lane:
    row = _LANE.first(name=name)
    if row is None:
        Lane.objects.get_or_create(name=name)
        row = Lane.objects.select_for_update().get(name=name)
    return row


def _open(lane: str, now: datetime, proves_loss: Callable[[str], bool]) -> Iterator[_Open]:
    for pk, payer, rank, most, status, until, held in _OPEN.all(lane=lane):
        is_running = status == "running"
        is_lost = is_running and until is not None and until < now and proves_loss(held)
        yield _Open(pk, payer, rank, most, is_lost, is_running)


def _chosen(rows: Iterable[_Open]) -> list[_Open]:
    """Who begins. One place in eight is kept for members who have less than their part, so
    that somebody who comes new need not wait for another's answer to end."""
    every = list(rows)
    lost = [one for one in every if one.is_lost]
    running = Counter(one.payer for one in every if one.is_running)
    chosen = list(lost)
    for one in every:
        if one.is_running:
            continue
        if running.total() < one.most and running[one.payer] < one.most - one.most // 8:
            running[one.payer] += 1
            chosen.append(one)
    return chosen


def has_waiting(lane: str) -> bool:
    """Whether anybody waits in a lane."""
    waiting = Generation.objects.filter(lane=lane, ended_at__isnull=True, status="queued")
    return waiting.filter(stop_asked=False).exists()


def places(rows: Iterable[Generation]) -> dict[int, int]:
    """How many begin before each of these queued generations, by row id."""
    found = {}
    for row in rows:
        before = Generation.objects.filter(lane=row.lane, ended_at__isnull=True, status="queued")
        found[row.pk] = before.filter(
            Q(rank__lt=row.rank) | Q(rank=row.rank, id__lt=row.pk)
        ).count()
    return found
