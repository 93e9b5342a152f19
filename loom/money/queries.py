"""Usage: tokens and money, and what is left of a day's limit."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import tiktoken
from django.db import connection
from django.db.models import Count, QuerySet, Sum

from loom.access import Actor, grove_trees
from loom.money.days import today
from loom.money.grove_settings import daily_limit
from loom.money.models import DailySpending
from loom.participants.prices import NANO, caches_from, dollars, prices_of
from loom.participants.provider_kinds import LOCAL, LOCAL_WINDOW, RESERVE
from loom.people.models import Grove, Participant
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import fetch, listed, path_of
from loom.trees.queries.places import path_ids
from loom.turns.models import Generation

# The vocabularies that litellm ships as files, so that nothing is loaded over the network.
_FILES = "litellm/litellm_core_utils/tokenizers"
_O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"
MOST = 400_000  # characters; a longer text is estimated
How = Literal["counted", "estimated"]


def tokens_of(text: str, model_ref: str) -> tuple[int, How]:
    """How many tokens a text has for a model, and whether they were counted or estimated."""
    if model_ref.startswith(("openai:", "litellm:openai/")) and len(text) <= MOST:
        vocabulary = _vocabulary()
        if vocabulary is not None:
            return len(vocabulary.encode_ordinary(text)), "counted"
    return -(-len(text.encode()) // 4), "estimated"


def tokens_of_parts(parts: Iterable[str], model_ref: str) -> tuple[int, How]:
    """How many tokens several texts have, each counted by itself, as sections of a request are."""
    texts = [part for part in parts if part]
    if sum(map(len, texts)) > MOST:
        return sum(-(-len(text.encode()) // 4) for text in texts), "estimated"
    counts = [tokens_of(text, model_ref) for text in texts]
    how: How = "estimated" if any(how == "estimated" for _, how in counts) else "counted"
    return sum(tokens for tokens, _ in counts), how


@cache
def _vocabulary() -> "tiktoken.Encoding | None":
    """The vocabulary of OpenAI's newer models; None if its file is missing. Loading it takes 0.6 s
    once and 90 MB, so it is only loaded in processes that use it."""
    try:
        folder = Path(str(metadata.distribution("litellm").locate_file(_FILES)))
    except metadata.PackageNotFoundError:
        return None
    if not (folder / _O200K).exists():
        return None
    import tiktoken

    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding("o200k_base")


# Money: what is left of a member's day.


@dataclass(frozen=True)
class Left:
    """A member's money for one day, in billionths of a dollar. `limit` 0: there is none."""

    limit: int
    spent: int
    reserved: int

    @property
    def rest(self) -> int:
        """What can still be reserved."""
        return max(0, self.limit - self.spent - self.reserved)


def limit_of(grove: Grove) -> int:
    """The limit per day and member of a grove, in billionths of a dollar: that of its owners, or
    the operator's ceiling if that is lower; 0 means no limit."""
    own = daily_limit(grove.settings)
    return min(own or grove.ceiling, grove.ceiling or own)


def is_by_operator(grove: Grove) -> bool:
    """Whether the limit of a grove is the operator's ceiling, which its owners cannot raise."""
    own = daily_limit(grove.settings)
    return bool(grove.ceiling) and (not own or own >= grove.ceiling)


def who_can_raise(grove: Grove) -> str:
    """Who can allow more than the limit of a grove, for a hint: its owners as far as the ceiling of
    the operator, or an operator where that ceiling is what refuses."""
    if is_by_operator(grove):
        return "the operator of this installation set this limit, and only they can raise it"
    if grove.ceiling:
        return (
            f"an owner can raise it under Money, to {dollars(grove.ceiling)} at most, "
            "which is the operator's limit"
        )
    return "an owner can raise it under Money"


def left_of(person: Participant, day: date) -> Left:
    """What a member has spent and reserved on a day."""
    rows = DailySpending.objects.filter(participant=person, day=day)
    spent = rows.values_list("spent", flat=True)
    held = Generation.objects.filter(payer=person, day=day, ended_at__isnull=True)
    reserved = held.aggregate(all=Sum("reserved"))["all"]
    return Left(limit_of(person.grove), spent.first() or 0, reserved or 0)


def path_tokens(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> int:
    """About how many tokens the path to `node` has: a quarter of its bytes, which is right for
    English and too many rather than too few for other scripts. With memory and author's note."""
    ids = [version for _, version in path_ids(actor, tree, workspace, node)]
    added = len((tree.memory + tree.author_note).encode())
    lore = tree.lore_budget if grove_texts().is_linked(tree) else 0
    return -(-(bytes_of(ids) + added) // 4) + lore


def bytes_of(nodes: Iterable[int]) -> int:
    """The total bytes of the texts of nodes."""
    size = (
        "octet_length(text)" if connection.vendor == "postgresql" else "length(CAST(text AS BLOB))"
    )
    rows = fetch(f"SELECT SUM({size}) FROM trees_node WHERE id IN ({listed(nodes)})")
    return int(rows[0][0] or 0)


# Usage of a node, a path, a tree, a person, a model and a day.


IN_ONE_QUERY = 500
USUAL_TOKENS = 1024  # of a response without a length limit
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
            "today": _left_body(Left(limit, now.get(person.pk, 0), held.get(person.pk, 0))),
        }
        for person in people
    ]


def left_body(person: Participant) -> dict[str, Any]:
    """What a member has spent, reserved and left today; `left_usd` None: there is no limit."""
    return _left_body(left_of(person, today()))


def _left_body(left: Left) -> dict[str, Any]:
    return {
        "limit_usd": left.limit / NANO,
        "spent_usd": left.spent / NANO,
        "reserved_usd": left.reserved / NANO,
        "left_usd": left.rest / NANO if left.limit else None,
    }


def estimate(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> dict[str, Any]:
    """What a candidate below `node` would read, for each model, with its prices; and the caller's
    money for today."""
    rows = path_of(actor, tree, workspace, node)
    sent = [row.text for row in rows if row.text and row.kind == "text" and not row.excluded]
    between = (
        "" if tree.mode == "buffer" else "\n\n"
    )  # as agents.context.subject_request joins them
    texts = [tree.system_context, tree.memory, between.join(sent), tree.author_note]
    models = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    return {
        "money": left_body(actor.person),
        "participants": [_reading(model, texts) for model in models.order_by("id")],
    }


def _reading(model: Participant, texts: Sequence[str]) -> dict[str, Any]:
    tokens, how = tokens_of_parts((model.persona, *texts), model.model_ref)
    prices = prices_of(model)
    is_local = model.model_ref.partition(":")[0] == LOCAL
    limit = LOCAL_WINDOW if is_local else max(0, model.context_limit - RESERVE)
    return {
        "participant": model.uid,
        "name": model.name,
        "tokens": min(tokens, limit),
        "whole": tokens,
        "limit": limit,
        "how": how,
        "length": model.max_tokens or USUAL_TOKENS,
        "prices": prices.body() if prices else None,
        "caches_from": caches_from(model),
    }
