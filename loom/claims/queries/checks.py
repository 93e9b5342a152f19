"""The checks of a grove, those that apply to a text, and what they said about it."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from loom.access import Actor, trees_for
from loom.claims.models import Check, CheckResult
from loom.documents.access import documents_for
from loom.documents.models import Document
from loom.people.models import Grove
from loom.text.hashes import instant
from loom.trees.models import Tree


def checks_for(actor: Actor) -> QuerySet[Check]:
    """The checks of the actor's grove, without those of trees and documents that the actor may not
    read; oldest first."""
    rows = Check.objects.filter(grove=actor.grove, archived_at__isnull=True)
    seen = Q(tree=None) | Q(tree__in=trees_for(actor))
    seen &= Q(document=None) | Q(document__in=documents_for(actor).order_by())
    return rows.filter(seen).select_related("grove", "tree", "document", "by", "asks")


def applying(grove: Grove, item: Tree | Document) -> QuerySet[Check]:
    """The checks that apply to the texts of a tree, or to a document; oldest first."""
    rows = Check.objects.filter(grove=grove, archived_at__isnull=True)
    own = Q(document=item) if isinstance(item, Document) else Q(tree=item)
    whole = Q(tree=None, document=None)
    return rows.filter(whole | own).select_related("asks").order_by("id")


def results_of(item: int, version: str = "") -> list[CheckResult]:
    """What the checks that still apply said about an item in a version; one query."""
    rows = CheckResult.objects.filter(item=item, version=version, rule__archived_at__isnull=True)
    return list(rows.select_related("rule").order_by("rule"))


def passed_among(versions: Iterable[tuple[int, str]]) -> set[tuple[int, str]]:
    """Those of the items, each in a version, that have passed a check; one query."""
    wanted = set(versions)
    rows = CheckResult.objects.filter(
        item__in={item for item, _ in wanted}, outcome="passed", rule__archived_at__isnull=True
    )
    return wanted & set(rows.values_list("item", "version"))


def scope_of(check: Check) -> str:
    """`grove`, `tree:ID` or `doc:ID`."""
    if check.tree is not None:
        return f"tree:{check.tree.uid}"
    return f"doc:{check.document.uid}" if check.document is not None else "grove"


def check_body(check: Check) -> dict[str, Any]:
    """A check as the API and its events carry it."""
    return {
        "id": check.uid,
        "grove": check.grove.uid,
        "name": check.name,
        "kind": check.kind,
        "parameters": check.parameters,
        "scope": scope_of(check),
        "on_save": check.on_save,
        "agent": check.asks.uid if check.asks is not None else None,
        "by": check.by.uid,
        "at": instant(check.at),
        "archived": check.archived_at is not None,
    }


def result_bodies(results: Sequence[CheckResult]) -> list[dict[str, Any]]:
    """Results as the API and events carry them."""
    return [
        {
            "check": one.rule.uid,
            "name": one.rule.name,
            "outcome": one.outcome,
            "said": one.said,
            "version": one.version,
            "call": one.call_uid or None,
            "at": instant(one.at),
        }
        for one in results
    ]
