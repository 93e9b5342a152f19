"""Usage: tokens and money of a node, a path, a tree, a person, a model and a day."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count, QuerySet, Sum

from loom.access import Actor, grove_trees
from loom.money.days import today
from loom.money.models import DailySpending
from loom.money.queries.allowances import Left, limit_of
from loom.participants.prices import NANO
from loom.people.models import Participant
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.places import path_ids
from loom.turns.models import Generation

IN_ONE_QUERY = 500
_SUMS = {
    "generations": Count("pk"),
    "tokens_in": Sum("tokens_in"),
    "tokens_out": Sum("tokens_out"),
    "tokens_cached": Sum("tokens_cached"),
    "spent": Sum("spent"),
}
_ENDED = ("done", "stopped", "interrupted", "failed")


@dataclass
class Total:
    """Sums over generations that have ended; `spent` in billionths of a dollar, None if none of
    them had a known price."""

    generations: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    spent: int | None = None

    def body(self) -> dict[str, Any]:
        """The sums as the API returns them."""
        usd = None if self.spent is None else self.spent / NANO
        return {
            "generations": self.generations,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "tokens_cached": self.tokens_cached,
            "usd": usd,
        }


def _total(sums: dict[str, Any]) -> Total:
    counts = {name: sums[name] or 0 for name in _SUMS if name != "spent"}
    return Total(**counts, spent=sums["spent"])


def total(rows: QuerySet[Generation]) -> Total:
    """The sums over some generations."""
    return _total(rows.filter(status__in=_ENDED).aggregate(**_SUMS))


def by(rows: QuerySet[Generation], *names: str) -> list[tuple[tuple[Any, ...], Total]]:
    """The sums grouped by some fields, the most expensive and then the longest first."""
    grouped = rows.filter(status__in=_ENDED).order_by().values(*names).annotate(**_SUMS)
    totals = [(tuple(row[name] for name in names), _total(row)) for row in grouped]
    return sorted(totals, key=lambda row: (-(row[1].spent or 0), -row[1].tokens_out))


def of_nodes(tree: Tree, nodes: list[int]) -> Total:
    """The usage for nodes of a tree."""
    sums = Total()
    for start in range(0, len(nodes), IN_ONE_QUERY):
        some = total(Generation.objects.filter(tree=tree, node__in=nodes[start : start + 500]))
        spent = None if sums.spent is None and some.spent is None else 0
        sums = Total(
            sums.generations + some.generations,
            sums.tokens_in + some.tokens_in,
            sums.tokens_out + some.tokens_out,
            sums.tokens_cached + some.tokens_cached,
            None if spent is None else (sums.spent or 0) + (some.spent or 0),
        )
    return sums


def of_tree(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node | None
) -> dict[str, Any]:
    """A tree's sums, by model and by member; with a node also those of the node and its path."""
    rows = Generation.objects.filter(tree=tree)
    body: dict[str, Any] = {
        "tree": total(rows).body(),
        "node": None,
        "path": None,
        "participants": _named(rows, "participant"),
        "people": _named(rows, "payer"),
    }
    if node is not None:
        ids = [version for _, version in path_ids(actor, tree, workspace, node)]
        body["node"] = of_nodes(tree, [node.pk]).body()
        body["path"] = of_nodes(tree, ids).body()
    return body


def _named(rows: QuerySet[Generation], field: str) -> list[dict[str, Any]]:
    rows_named = by(rows.filter(**{f"{field}__isnull": False}), f"{field}__uid", f"{field}__name")
    return [{"participant": uid, "name": name, **sums.body()} for (uid, name), sums in rows_named]


def of_grove(actor: Actor, first: date, last: date) -> dict[str, Any]:
    """A grove's sums for a range of days: by member and model, by day, by tree; and what each
    member has left today. What was spent in trees that were erased stays in `people`; `trees` names
    no sandbox of others."""
    rows = Generation.objects.filter(
        tree__grove=actor.grove, tree__erasing_at__isnull=True, day__range=(first, last)
    )
    shared = by(rows, "payer__uid", "payer__name", "participant__uid", "participant__name")
    return {
        "from": first.isoformat(),
        "to": last.isoformat(),
        "limit_usd": limit_of(actor.grove) / NANO,
        "total": total(rows).body(),
        "shares": [
            {"person": p, "person_name": pn, "participant": m, "participant_name": mn, **s.body()}
            for (p, pn, m, mn), s in shared
            if p is not None
        ],
        "days": [{"day": day.isoformat(), **sums.body()} for (day,), sums in by(rows, "day")],
        "trees": [
            {"tree": uid, "title": title, **sums.body()}
            for (uid, title), sums in by(
                rows.filter(tree__in=grove_trees(actor)), "tree__uid", "tree__title"
            )
        ],
        "people": _spent_by(actor, first, last),
    }


def _people(actor: Actor) -> QuerySet[Participant]:
    people = Participant.objects.filter(grove=actor.grove, kind="human", archived_at__isnull=True)
    return people.select_related("grove").order_by("id")


def _spent_by(actor: Actor, first: date, last: date) -> list[dict[str, Any]]:
    """What each member spent in a range of days, and has left today. Four queries."""
    people = list(_people(actor))
    spending = DailySpending.objects.filter(participant__in=people).order_by()
    spans = spending.filter(day__range=(first, last)).values_list("participant")
    spent = dict(spans.annotate(all=Sum("spent")))
    now = dict(spending.filter(day=today()).values_list("participant", "spent"))
    open_ones = Generation.objects.filter(payer__in=people, day=today(), ended_at__isnull=True)
    held = dict(open_ones.order_by().values_list("payer").annotate(all=Sum("reserved")))
    limit = limit_of(actor.grove)
    return [
        {
            "participant": person.uid,
            "name": person.name,
            "usd": spent.get(person.pk, 0) / NANO,
            "today": Left(limit, now.get(person.pk, 0), held.get(person.pk, 0)).body(),
        }
        for person in people
    ]
