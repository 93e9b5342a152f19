"""Typed updates of documents that rest are merged into their stored states by a rule: their authors
are those of a revision already, and the text is the same."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import F, QuerySet
from django.utils.translation import gettext_noop

from loom.documents.log import merge
from loom.documents.models import Document, DocumentUpdate
from loom.engine.trim_rules import OldRows, TrimRule, trims


def _resting(before: datetime) -> "QuerySet[Document]":
    return Document.objects.filter(
        log_bytes__gt=0, head=F("settled"), touched_at__lt=before
    ).order_by("id")


def _count(before: datetime) -> OldRows:
    sizes = list(_resting(before).values_list("id", "log_bytes"))
    rows = DocumentUpdate.objects.filter(document__in=_resting(before).values("id"))
    return OldRows(rows.count(), sum(size for _, size in sizes))


def _trim(before: datetime) -> Iterator[int]:
    last = 0
    while document := _resting(before).filter(id__gt=last).select_related("grove").first():
        last = document.pk
        if gone := merge(document):
            yield gone


trims(
    TrimRule(
        "document_updates",
        gettext_noop("each typing in documents that rest, after it became part of their text"),
        days=7,
        least=1,
        count=_count,
        trim=_trim,
    )
)
