"""Old steps of lines that only looked are trimmed by a rule. Steps that changed something, that
could be undone, or that belong to a turn stay."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext_noop

from loom.engine.models import Step
from loom.engine.trim_rules import BATCH, OldRows, TrimRule, trims

ROOM = 200  # bytes of a step beside its line and reply, about


def _looks(before: datetime) -> "QuerySet[Step]":
    rows = Step.objects.filter(workspace__isnull=False, at__lt=before, turn_uid="", act="")
    return rows.filter(
        events=[], inverse__isnull=True, undoes__isnull=True, undone_by=None, evicts=False
    )


def _count(before: datetime) -> OldRows:
    size = Sum(Length("line") + Length("message") + ROOM)
    totals = _looks(before).order_by().aggregate(many=Count("pk"), bytes=size)
    return OldRows(totals["many"], totals["bytes"] or 0)


def _trim(before: datetime) -> Iterator[int]:
    last = 0
    rows = _looks(before).order_by("id").values_list("id", flat=True)
    while keys := list(rows.filter(id__gt=last)[:BATCH]):
        last = keys[-1]
        with transaction.atomic():
            Step.objects.filter(pk__in=keys).delete()
        yield len(keys)


trims(
    TrimRule(
        "look_steps",
        gettext_noop("lines that only looked, such as view and find, with their replies"),
        days=0,
        least=30,
        count=_count,
        trim=_trim,
    )
)
