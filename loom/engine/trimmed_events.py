"""Old events of the log are trimmed by rules. The last events of each stream stay, however old, and
a stream says up to which seq its events are gone (`Stream.floor`): who asks for events before it
is told to load again what they show, instead of being given events with a gap."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext_noop

from loom.engine.models import Event, Stream
from loom.engine.trim_rules import BATCH, OldRows, TrimRule, trims
from loom.errors import CommandError
from loom.platform.prepared_queries import lock_rows

KEPT = 1000  # the last events of a stream: as many as one answer of the API has
STREAMS = 200  # that are looked for with one query

# The first event that a stream has is the one after its floor, so each stream costs two lookups.
_STREAMS = """SELECT s.id FROM engine_stream s
    JOIN engine_event e ON e.stream_id = s.id AND e.seq = s.floor + 1
    WHERE {kind} AND NOT s.erasing AND s.id > %s AND s.floor + 1 <= s.head - {kept} AND e.at < %s
    ORDER BY s.id LIMIT {many}"""
_COUNT = """SELECT COUNT(*), COALESCE(SUM(LENGTH(CAST(e.payload AS TEXT)) + 100), 0)
    FROM engine_event e JOIN engine_stream s ON s.id = e.stream_id
    WHERE {kind} AND NOT s.erasing AND e.seq <= s.head - {kept} AND e.at < %s"""
_OF_VIEWS = "s.name LIKE 'workspace:%%'"
_OF_TREES = "s.name NOT LIKE 'workspace:%%'"


def too_old(floor: int, head: int) -> CommandError:
    """The refusal for a reader whose last event is before the first that is kept."""
    return CommandError(
        "CONFLICT",
        f"The events up to seq {floor} are no longer kept.",
        hint=f"load again what you show, then go on with since={head}",
    )


def not_reached(since: int, head: int) -> CommandError:
    """The refusal for a reader who has seen events that the stream does not have any more."""
    return CommandError(
        "CONFLICT",
        f"There is no event {since} here any more: an earlier state was restored.",
        hint=f"load again what you show, then go on with since={head}",
    )


def _stored(at: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(at)


def _count(kind: str, before: datetime) -> OldRows:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(kind=kind, kept=KEPT), [_stored(before)])
        rows, size = cursor.fetchone()
    return OldRows(int(rows), int(size))


def _trim(kind: str, before: datetime) -> Iterator[int]:
    last = 0
    while page := _streams(kind, before, last):
        for last in page:
            while gone := _trim_stream(last, before):
                yield gone


def _streams(kind: str, before: datetime, last: int) -> list[int]:
    """The next streams that have something to trim."""
    with connection.cursor() as cursor:
        sql = _STREAMS.format(kind=kind, kept=KEPT, many=STREAMS)
        cursor.execute(sql, [last, _stored(before)])
        return [key for (key,) in cursor.fetchall()]


@transaction.atomic
def _trim_stream(key: int, before: datetime) -> int:
    """Deletes the oldest events of a stream, at most BATCH; the number of them."""
    lock_rows(Stream, id=key)
    stream = Stream.objects.filter(pk=key, erasing=False).first()
    if stream is None:
        return 0
    last = min(stream.head - KEPT, stream.floor + BATCH)
    rows = Event.objects.filter(stream=key, seq__gt=stream.floor, seq__lte=last).order_by("seq")
    floor = stream.floor
    for seq, at in rows.values_list("seq", "at"):
        if at >= before:
            break
        floor = seq
    if floor > stream.floor:
        Stream.objects.filter(pk=key).update(floor=floor)  # first, as the log is guarded
        Event.objects.filter(stream=key, seq__lte=floor).delete()
    return int(floor - stream.floor)


trims(
    TrimRule(
        "view_events",
        gettext_noop("where somebody was in a tree and which windows were open, event by event"),
        days=90,
        least=7,
        count=partial(_count, _OF_VIEWS),
        trim=partial(_trim, _OF_VIEWS),
    )
)
trims(
    TrimRule(
        "tree_events",
        gettext_noop("the history of trees and groves, event by event (the texts stay)"),
        days=0,
        least=30,
        count=partial(_count, _OF_TREES),
        trim=partial(_trim, _OF_TREES),
    )
)
