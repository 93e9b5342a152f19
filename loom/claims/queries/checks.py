"""The checks of a grove, those that apply to a text, and what they said about it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from loom.access import Actor, trees_for
from loom.claims.models import Check, CheckResult
from loom.language import ids
from loom.people.models import Grove
from loom.text.hashes import instant
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree


def checks_for(actor: Actor) -> QuerySet[Check]:
    """The checks of the actor's grove, without those of trees and documents that the actor may not
    read; oldest first."""
    rows = Check.objects.filter(grove=actor.grove, archived_at__isnull=True)
    seen = Q(tree=None) | Q(tree__in=trees_for(actor))
    seen &= Q(about=None) | Q(about__in=list(grove_texts().seen(actor, None, texts_of(rows))))
    return rows.filter(seen).select_related("grove", "tree", "by", "asks")


def texts_of(checks: QuerySet[Check]) -> list[int]:
    """The items of the texts outside of trees that checks are for; one query."""
    items = checks.filter(about__isnull=False).values_list("about", flat=True)
    return [item for item in items if item is not None]


def applying(grove: Grove, item: Tree | GroveText) -> QuerySet[Check]:
    """The checks that apply to the texts of a tree, or to a document; oldest first."""
    rows = Check.objects.filter(grove=grove, archived_at__isnull=True)
    own = Q(tree=item) if isinstance(item, Tree) else Q(about=item.item_id)
    whole = Q(tree=None, about=None)
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


def results_in(tree: Tree, names: Sequence[str]) -> list[dict[str, Any]]:
    """What the checks that still apply said about nodes of a tree (their local ids), as the API
    carries it; two queries."""
    nodes = {ids.of_node(pk): name for pk, name in _keys(tree, names)}
    rows = CheckResult.objects.filter(item__in=nodes, version="", rule__archived_at__isnull=True)
    results = list(rows.select_related("rule").order_by("item", "rule"))
    bodies = result_bodies(results)
    return [
        {"item": nodes[result.item], **body} for result, body in zip(results, bodies, strict=True)
    ]


def results_of_text(text: GroveText) -> list[dict[str, Any]]:
    """What the checks that still apply said about the newest version of a text of the grove, as the
    API carries it; one query."""
    return result_bodies(results_of(text.item_id, str(text.revision)))


def _keys(tree: Tree, names: Sequence[str]) -> QuerySet[Node, tuple[int, str]]:
    return Node.objects.filter(tree=tree, local_id__in=names).values_list("pk", "local_id")


def scope_of(check: Check, names: Mapping[int, str] | None = None) -> str:
    """`grove`, `tree:ID` or `doc:ID`; one query for the last, without `names`."""
    if check.tree is not None:
        return f"tree:{check.tree.uid}"
    if check.about is not None:
        known = grove_texts().names([check.about]) if names is None else names
        return known.get(check.about, "grove")
    return "grove"


def check_body(check: Check, names: Mapping[int, str] | None = None) -> dict[str, Any]:
    """A check as the API and its events carry it; `names` are those of the texts outside of trees,
    if they were read for several checks."""
    return {
        "id": check.uid,
        "grove": check.grove.uid,
        "name": check.name,
        "kind": check.kind,
        "parameters": check.parameters,
        "scope": scope_of(check, names),
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
            "check": result.rule.uid,
            "name": result.rule.name,
            "outcome": result.outcome,
            "said": result.said,
            "version": result.version,
            "call": result.call_uid or None,
            "at": instant(result.at),
        }
        for result in results
    ]
