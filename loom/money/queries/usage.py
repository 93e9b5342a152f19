"""Usage: tokens and money of a node, a path, a tree, a person, a model and a day. What has no
generation, such as answers at the gateway, is added from `OtherSpending`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count, QuerySet, Sum

from loom.access import Actor, grove_trees
from loom.money.days import today
from loom.money.models import DailySpending, OtherSpending
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
_OTHER_SUMS = {**_SUMS, "generations": Sum("answers")}
_ENDED = ("done", "stopped", "interrupted", "failed")


@dataclass
class Total:
    """Sums over generations that have ended, and what else a model answered; `spent` in billionths
    of a dollar, None if none of them had a known price."""

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

    def __add__(self, other: "Total") -> "Total":
        known = [spent for spent in (self.spent, other.spent) if spent is not None]
        return Total(
            self.generations + other.generations,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            sum(known) if known else None,
        )


def _total(sums: dict[str, Any]) -> Total:
    counts = {name: sums[name] or 0 for name in _SUMS if name != "spent"}
    return Total(**counts, spent=sums["spent"])


Grouped = list[tuple[tuple[Any, ...], Total]]


def total(rows: QuerySet[Generation]) -> Total:
    """The sums over some generations."""
    return _total(rows.filter(status__in=_ENDED).aggregate(**_SUMS))


def by(rows: QuerySet[Generation], *names: str) -> Grouped:
    """The sums grouped by some fields, the most expensive and then the longest first."""
    grouped = rows.filter(status__in=_ENDED).order_by().values(*names).annotate(**_SUMS)
    return _sorted((tuple(row[name] for name in names), _total(row)) for row in grouped)


def _other_by(rows: QuerySet[OtherSpending], *names: str) -> Grouped:
    """The sums of what has no generation, as in `by`, without what failed and cost nothing."""
    grouped = rows.order_by().values(*names).annotate(**_OTHER_SUMS)
    totals = ((tuple(row[name] for name in names), _total(row)) for row in grouped)
    return [(key, sums) for key, sums in totals if sums.generations or sums.tokens_in or sums.spent]


def _sorted(totals: Iterable[tuple[tuple[Any, ...], Total]]) -> Grouped:
    return sorted(totals, key=lambda row: (-(row[1].spent or 0), -row[1].tokens_out))


def _together(*groups: Grouped) -> Grouped:
    """Several sums by the same fields as one."""
    joined: dict[tuple[Any, ...], Total] = {}
    for key, sums in (row for group in groups for row in group):
        joined[key] = joined.get(key, Total()) + sums
    return _sorted(joined.items())


def _whole(groups: Grouped) -> Total:
    return sum((sums for _, sums in groups), Total())


def of_nodes(tree: Tree, nodes: list[int]) -> Total:
    """The usage for nodes of a tree."""
    parts = (nodes[start : start + IN_ONE_QUERY] for start in range(0, len(nodes), IN_ONE_QUERY))
    rows = Generation.objects.filter(tree=tree)
    return sum((total(rows.filter(node__in=part)) for part in parts), Total())


def of_tree(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node | None
) -> dict[str, Any]:
    """A tree's sums, by model and by member; with a node also those of the node and its path."""
    rows = Generation.objects.filter(tree=tree)
    other = OtherSpending.objects.filter(tree=tree)
    by_model = _other_by(other, "model__uid", "model__name")
    body: dict[str, Any] = {
        "tree": (total(rows) + _whole(by_model)).body(),
        "node": None,
        "path": None,
        "participants": _named(rows, "participant", by_model),
        "people": _named(rows, "payer", _other_by(other, "payer__uid", "payer__name")),
    }
    if node is not None:
        ids = [version for _, version in path_ids(actor, tree, workspace, node)]
        body["node"] = of_nodes(tree, [node.pk]).body()
        body["path"] = of_nodes(tree, ids).body()
    return body


def _named(rows: QuerySet[Generation], field: str, other: Grouped) -> list[dict[str, Any]]:
    rows_named = by(rows.filter(**{f"{field}__isnull": False}), f"{field}__uid", f"{field}__name")
    return [
        {"participant": uid, "name": name, **sums.body()}
        for (uid, name), sums in _together(rows_named, other)
        if uid is not None
    ]


def of_grove(actor: Actor, first: date, last: date) -> dict[str, Any]:
    """A grove's sums for a range of days: by member and model, by day, by tree; and what each
    member has left today. What has no model (searches of the web, vectors) has its purpose instead.
    What was spent in trees that were erased stays in `people`; `trees` names no sandbox of others.
    """
    rows = Generation.objects.filter(
        tree__grove=actor.grove, tree__erasing_at__isnull=True, day__range=(first, last)
    )
    other = OtherSpending.objects.filter(
        payer__grove=actor.grove, tree__erasing_at__isnull=True, day__range=(first, last)
    )
    who, named, seen = (
        ("payer__uid", "payer__name"),
        ("tree__uid", "tree__title"),
        grove_trees(actor),
    )
    shared = by(rows, *who, "participant__uid", "participant__name")
    by_purpose = _other_by(other, *who, "model__uid", "model__name", "purpose")
    shares = _together(
        [((*key, ""), sums) for key, sums in shared if key[0] is not None],
        [(key if key[2] is None else (*key[:4], ""), sums) for key, sums in by_purpose],
    )
    return {
        "from": first.isoformat(),
        "to": last.isoformat(),
        "limit_usd": limit_of(actor.grove) / NANO,
        "total": (_whole(shared) + _whole(by_purpose)).body(),
        "shares": [
            {
                "person": person,
                "person_name": person_name,
                "participant": model or "",
                "participant_name": model_name or "",
                "purpose": purpose,
                **sums.body(),
            }
            for (person, person_name, model, model_name, purpose), sums in shares
        ],
        "days": [
            {"day": day.isoformat(), **sums.body()}
            for (day,), sums in _together(by(rows, "day"), _other_by(other, "day"))
        ],
        "trees": [
            {"tree": uid, "title": title, **sums.body()}
            for (uid, title), sums in _together(
                by(rows.filter(tree__in=seen), *named),
                _other_by(other.filter(tree__in=seen), *named),
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
