"""Old requests to models are trimmed by a rule: what was sent goes, the answer stays with its hash,
so that it still proves the texts it became. By another the bytes of answers go, too, with their
headers: the texts are in nodes, and their hash and counts stay. The requests of programs stay:
their sessions go on from the last one."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.db import transaction
from django.db.models import Count, IntegerField, QuerySet, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext_noop

from loom.engine.trim_rules import OldRows, TrimRule, trims
from loom.turns.models import Call

BATCH = 100  # requests or answers of a transaction: each may be long
ANSWER_GONE = "The answer is no longer kept."

Held = Literal["request", "response"]
_EMPTY: dict[Held, dict[str, Any]] = {
    "request": {"request": {}},
    "response": {"response": b"", "headers": {}},
}
_GONE: dict[Held, str] = {"request": "The request is no longer kept.", "response": ANSWER_GONE}


def is_gone(call: Call, held: Held) -> bool:
    """Whether the request or the answer of a call was taken away by its rule."""
    return not getattr(call, held) and _GONE[held] in call.note


def _old(held: Held, before: datetime) -> "QuerySet[Call]":
    rows = Call.objects.filter(sealed_at__isnull=False, started_at__lt=before)
    return rows.exclude(purpose="gateway").exclude(**{held: b""})


def _count(held: Held, before: datetime) -> OldRows:
    size = Sum(Length(held, output_field=IntegerField()))
    totals = _old(held, before).order_by().aggregate(many=Count("pk"), bytes=size)
    return OldRows(totals["many"], totals["bytes"] or 0)


def _trim(held: Held, before: datetime) -> Iterator[int]:
    last = 0
    rows = _old(held, before).order_by("id")
    while page := list(rows.filter(id__gt=last).values_list("id", "note")[:BATCH]):
        last = page[-1][0]
        with transaction.atomic():
            for key, note in page:
                text = f"{note} {_GONE[held]}" if note else _GONE[held]
                Call.objects.filter(pk=key).update(**_EMPTY[held], note=text)
        yield len(page)


def _rule(name: str, says: str, held: Held) -> TrimRule:
    count, trim = partial(_count, held), partial(_trim, held)
    return TrimRule(name, says, days=0, least=7, count=count, trim=trim)


trims(_rule("call_requests", gettext_noop("what models were sent (their answers stay)"), "request"))
trims(
    _rule(
        "call_answers",
        gettext_noop("what models answered, byte by byte (texts stay, but are proved no more)"),
        "response",
    )
)
