"""Old requests to models are trimmed by a rule: what was sent goes, the answer stays with its hash,
so that it still proves the texts it became. By another the bytes of answers go, too, of which the
texts are in nodes; their hash and counts stay. The requests of programs stay: their sessions go on
from the last one."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Count, IntegerField, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext_noop

from loom.engine.trim_rules import OldRows, TrimRule, trims
from loom.turns.models import Call

BATCH = 100  # requests of a transaction: each may be long
GONE = "The request is no longer kept."
ANSWER_GONE = "The answer is no longer kept."


def _old(before: datetime) -> "QuerySet[Call]":
    rows = Call.objects.filter(sealed_at__isnull=False, started_at__lt=before)
    return rows.exclude(purpose="gateway").exclude(request=b"")


def _count(before: datetime) -> OldRows:
    rows = _old(before).order_by()
    size = Sum(Length("request", output_field=IntegerField()))
    totals = rows.aggregate(many=Count("pk"), bytes=size)
    return OldRows(totals["many"], totals["bytes"] or 0)


def _trim(before: datetime) -> Iterator[int]:
    last = 0
    rows = _old(before).order_by("id")
    while page := list(rows.filter(id__gt=last).values_list("id", "note")[:BATCH]):
        last = page[-1][0]
        with transaction.atomic():
            for key, note in page:
                text = f"{note} {GONE}" if note else GONE
                Call.objects.filter(pk=key).update(request={}, note=text)
        yield len(page)


trims(
    TrimRule(
        "call_requests",
        gettext_noop("what models were sent (their answers stay)"),
        days=0,
        least=7,
        count=_count,
        trim=_trim,
    )
)


def _old_answers(before: datetime) -> "QuerySet[Call]":
    rows = Call.objects.filter(sealed_at__isnull=False, started_at__lt=before)
    return rows.exclude(purpose="gateway").exclude(response=b"")


def _count_answers(before: datetime) -> OldRows:
    size = Sum(Length("response", output_field=IntegerField()))
    totals = _old_answers(before).order_by().aggregate(many=Count("pk"), bytes=size)
    return OldRows(totals["many"], totals["bytes"] or 0)


def _trim_answers(before: datetime) -> Iterator[int]:
    last = 0
    rows = _old_answers(before).order_by("id")
    while page := list(rows.filter(id__gt=last).values_list("id", "note")[:BATCH]):
        last = page[-1][0]
        with transaction.atomic():
            for key, note in page:
                text = f"{note} {ANSWER_GONE}" if note else ANSWER_GONE
                Call.objects.filter(pk=key).update(response=b"", note=text)
        yield len(page)


trims(
    TrimRule(
        "call_answers",
        gettext_noop("what models answered, byte by byte (texts stay, but are proved no more)"),
        days=0,
        least=7,
        count=_count_answers,
        trim=_trim_answers,
    )
)
