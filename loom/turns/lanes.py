"""The lanes in which generations wait for a worker: their order, which of them begins next, and the
list that wakes a worker."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import count

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from loom.engine import busy
from loom.engine.jobs import jobs_log
from loom.people.models import Participant
from loom.platform.broker import broker
from loom.platform.prepared_queries import Given, PreparedQuery, lock_rows
from loom.trees.queries.lookup import fetch
from loom.turns.models import Generation, Lane

AHEAD = 400  # candidates of a lane that are considered when choosing the next to begin


def lane_of(participant: Participant) -> str:
    """The lane in which requests to a participant wait."""
    return participant.lane or f"participant:{participant.pk}"


_RANK = """
    SELECT COALESCE((SELECT reached FROM turns_lane WHERE name = %s), 0),
        COALESCE((SELECT MAX(rank) FROM turns_generation
            WHERE lane = %s AND payer_id = %s AND ended_at IS NULL), 0)
"""


def ranks(lane: str, payer: Participant) -> Iterator[int]:
    """The ranks of a member's next candidates in a lane. One query."""
    return count(max(fetch(_RANK, [lane, lane, payer.pk])[0]) + 1)


@dataclass(frozen=True)
class _Open:
    """The facts about an open generation that decide whether it begins."""

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
    """The candidates of a lane that may begin now, and those whose worker was lost; all are now
    running under `lease`. As many run at once as the lane allows. `proves_loss` says whether an
    expired lease means that its worker is gone."""
    with busy.not_yet_on_disk():
        row = _locked(lane)
        chosen = _chosen(list(_open(lane, timezone.now(), proves_loss)))
        candidates = (_taken(pk) for pk in sorted(candidate.pk for candidate in chosen))
        taken = [candidate for candidate in candidates if candidate is not None]
        until = timezone.now() + timedelta(seconds=seconds)
        for generation in taken:
            generation.status, generation.lease, generation.tries = (
                "running",
                lease,
                generation.tries + 1,
            )
            generation.leased_until = until
        Generation.objects.filter(pk__in=[generation.pk for generation in taken]).update(
            status="running", lease=lease, tries=F("tries") + 1, leased_until=until
        )
        reached = max([row.reached, *(generation.rank for generation in taken)])
        if reached > row.reached:
            Lane.objects.filter(pk=row.pk).update(reached=reached)
    return sorted(taken, key=lambda generation: (generation.rank, generation.pk))


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


# Prepared, because the first word waits for it: building the SQL of ten joins takes longer than
# running it. One query for each generation that begins, which is usually one.
_TAKEN = PreparedQuery(
    lambda: Generation.objects.select_related(*READ).filter(pk=Given("pk"), ended_at__isnull=True)
)


_LANE = PreparedQuery(lambda: Lane.objects.select_for_update().filter(name=Given("name")))


# Running ones first: they are always counted, however long the queue is.
_OPEN = PreparedQuery(
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


def _taken(pk: int) -> Generation | None:
    """The generation as its row is now, locked; None if it has ended."""
    lock_rows(Generation, pk=pk)
    return _TAKEN.first(pk=pk)


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
    """Which candidates begin. One place in eight is kept for members who have less than their
    share, so that a newcomer does not have to wait until another's answer ends."""
    every = list(rows)
    lost = [row for row in every if row.is_lost]
    running = Counter(row.payer for row in every if row.is_running)
    chosen = list(lost)
    for row in every:
        if row.is_running:
            continue
        if running.total() < row.most and running[row.payer] < row.most - row.most // 8:
            running[row.payer] += 1
            chosen.append(row)
    return chosen


def has_waiting(lane: str) -> bool:
    """Whether a lane has waiting candidates."""
    return _WAITING.first(lane=lane) is not None


_WAITING = PreparedQuery(
    lambda: Generation.objects.filter(
        lane=Given("lane"), ended_at__isnull=True, status="queued", stop_asked=False
    ).values_list("pk")[:1]
)


# The list of lanes in which generations wait for a worker. The first word waits for it: a Celery
# task takes 2.5 ms from commit until a thread of the worker runs it, this 0.5 ms (measured).
LANES = "heddle:lanes"


def hand_over(lane: str) -> None:
    """After commit, notifies one worker to begin what may begin in a lane, after those that were
    handed over before. The rows are authoritative: if the notification is lost, the sweeper repeats
    it."""
    transaction.on_commit(lambda: _push(lane))


def _push(lane: str) -> None:
    try:
        with broker.asked():
            _list(settings.REDIS_URL).rpush(LANES, lane)
    except redis.RedisError as error:
        jobs_log.warning("could not hand %s over, the sweeper will: %s", lane, error)


@cache
def _list(url: str) -> redis.Redis:
    seconds = settings.BROKER_S
    return redis.Redis.from_url(url, socket_timeout=seconds, socket_connect_timeout=seconds)
