"""What was read, written and spent: of a node, a path, a tree, a person, a model and a day."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count, QuerySet, Sum

from loom.access import Actor
from loom.models import Generation, Node, Participant, Purse, Tree, Workspace
from loom.queries.money import caches_from, left_of, limit_of, prices_of, today
from loom.queries.path import path_ids, path_of
from loom.queries.tokens import tokens_of
from loom.rules.prices import NANO

IN_ONE_QUERY = 500
USUAL_TOKENS = 1024  # of an answer whose length nobody limits
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
    """Sums over generations that have ended; `spent` in billionths of a dollar, None where no
    price was known for any of them."""

    generations: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    spent: int | None = None

    def body(self) -> dict[str, Any]:
        """The sums as the API gives them."""
        usd = None if self.spent is None else self.spent / NANO
        return {
            "generations": self.generations,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "tokens_cached": self.tokens_cached,
            "usd": usd,
        }


def _total(found: dict[str, Any]) -> Total:
    counts = {name: found[name] or 0 for name in _SUMS if name != "spent"}
    return Total(**counts, spent=found["spent"])


def total(rows: QuerySet[Generation]) -> Total:
    """The sums over some generations."""
    return _total(rows.filter(status__in=_ENDED).aggregate(**_SUMS))


def by(rows: QuerySet[Generation], *names: str) -> list[tuple[tuple[Any, ...], Total]]:
    """The sums by the values of some fields, the dearest and then the longest first."""
    grouped = rows.filter(status__in=_ENDED).order_by().values(*names).annotate(**_SUMS)
    found = [(tuple(one[name] for name in names), _total(one)) for one in grouped]
    return sorted(found, key=lambda one: (-(one[1].spent or 0), -one[1].tokens_out))


def of_nodes(tree: Tree, nodes: list[int]) -> Total:
    """What nodes of a tree were made with."""
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
    """A tree's sums, by model and by member; with a node also its own and those of its path."""
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
    found = by(rows.filter(**{f"{field}__isnull": False}), f"{field}__uid", f"{field}__name")
    return [{"participant": uid, "name": name, **sums.body()} for (uid, name), sums in found]


def of_grove(actor: Actor, first: date, last: date) -> dict[str, Any]:
    """A grove's sums from a day to a day: by member and model, by day, by tree; and what each
    member has left today. What was spent in trees that were erased stays in `people`."""
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
            for (uid, title), sums in by(rows, "tree__uid", "tree__title")
        ],
        "people": [_person(one, first, last) for one in _people(actor)],
    }


def _people(actor: Actor) -> QuerySet[Participant]:
    people = Participant.objects.filter(grove=actor.grove, kind="human", archived_at__isnull=True)
    return people.select_related("grove").order_by("id")


def _person(one: Participant, first: date, last: date) -> dict[str, Any]:
    spent = Purse.objects.filter(participant=one, day__range=(first, last))
    return {
        "participant": one.uid,
        "name": one.name,
        "usd": (spent.aggregate(all=Sum("spent"))["all"] or 0) / NANO,
        "today": left_body(one),
    }


def left_body(person: Participant) -> dict[str, Any]:
    """What a member has spent, reserved and left today; `left_usd` None: there is no limit."""
    left = left_of(person, today())
    return {
        "limit_usd": left.limit / NANO,
        "spent_usd": left.spent / NANO,
        "reserved_usd": left.reserved / NANO,
        "left_usd": left.rest / NANO if left.limit else None,
    }


def estimate(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> dict[str, Any]:
    """What a candidate below `node` would read, by model, with its prices; and the caller's
    money of today."""
    rows = path_of(actor, tree, workspace, node)
    sent = [row.text for row in rows if row.kind == "text" and not row.excluded]
    text = tree.system_context + "".join(sent)
    models = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    return {
        "money": left_body(actor.person),
        "participants": [_reading(one, text) for one in models.order_by("id")],
    }


def _reading(one: Participant, text: str) -> dict[str, Any]:
    tokens, how = tokens_of(one.persona + text, one.model_ref)
    prices = prices_of(one)
    return {
        "participant": one.uid,
        "name": one.name,
        "tokens": min(tokens, one.context_limit),
        "how": how,
        "length": one.max_tokens or USUAL_TOKENS,
        "prices": prices.body() if prices else None,
        "caches_from": caches_from(one),
    }
