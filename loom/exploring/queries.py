"""Explorations as readers see them, and what they have used."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, QuerySet, Sum

from loom.exploring.budget import RATING_TOKENS, Amount, ExplorationBudget, Shape
from loom.exploring.models import Exploration, ExploredText
from loom.participants.prices import NANO
from loom.text.hashes import instant, instant_or_none
from loom.trees.models import Tree
from loom.turns.models import Generation

MOST_LISTED = 50


def explorations_in(tree: Tree) -> QuerySet[Exploration]:
    """The explorations of a tree, newest first."""
    rows = Exploration.objects.filter(tree=tree).select_related(
        "tree", "point", "asked_by", "agent", "judge", "begun_by", "note"
    )
    return rows.order_by("-id")


def shape_of(row: Exploration) -> Shape:
    """Its shape."""
    return Shape(row.n, row.depth, row.keep, row.by == "judge")


def budget_of(row: Exploration) -> ExplorationBudget:
    """What it may use."""
    return ExplorationBudget(row.most_steps, row.most_tokens, row.most_money)


def used_by(row: Exploration) -> Amount:
    """What it has used; a call that runs counts with all that it may use. Two queries."""
    named = row.texts.values_list("generation", "judged_by")
    uids = [uid for pair in named for uid in pair if uid]
    sums = Generation.objects.filter(uid__in=uids).aggregate(
        steps=Count("pk"), read=Sum("tokens_in"), wrote=Sum("tokens_out"), money=Sum("spent")
    )
    going = Generation.objects.filter(uid__in=uids, ended_at__isnull=True)
    held = going.values_list("reading", "tokens", "reserved")
    tokens = sum(reading + (length or RATING_TOKENS) for reading, length, _ in held)
    return Amount(
        sums["steps"],
        (sums["read"] or 0) + (sums["wrote"] or 0) + tokens,
        (sums["money"] or 0) + sum(reserved for _, _, reserved in held),
    )


def texts_of(row: Exploration) -> list[ExploredText]:
    """What it asked for, in order, with the nodes. One query."""
    # Ordered here: the database would carry the texts through its sorter.
    rows = row.texts.select_related("node", "point", "exploration").order_by("id")
    return sorted(rows, key=lambda text: text.round)


def exploration_body(row: Exploration) -> dict[str, Any]:
    """An exploration as events and lists carry it."""
    return {
        "id": row.uid,
        "tree": row.tree.uid,
        "point": row.point.local_id,
        "asked_by": row.asked_by.uid,
        "begun_by": row.begun_by.uid if row.begun_by else None,
        "agent": row.agent.uid,
        "judge": row.judge.uid if row.judge else None,
        "n": row.n,
        "depth": row.depth,
        "keep": row.keep,
        "by": row.by,
        "goal": row.goal,
        "length": row.length,
        "budget": {
            "steps": row.most_steps,
            "tokens": row.most_tokens,
            "usd": None if row.most_money is None else row.most_money / NANO,
        },
        "status": row.status,
        "phase": row.phase,
        "round": row.round,
        "said": row.said,
        "note": row.note.local_id if row.note else None,
        "created_at": instant(row.created_at),
        "ended_at": instant_or_none(row.ended_at),
    }


def whole_body(row: Exploration) -> dict[str, Any]:
    """An exploration with its texts and what it has used."""
    used = used_by(row)
    return {
        **exploration_body(row),
        "used": {"steps": used.steps, "tokens": used.tokens, "usd": used.money / NANO},
        "texts": [_text_body(text) for text in texts_of(row)],
    }


def _text_body(text: ExploredText) -> dict[str, Any]:
    return {
        "round": text.round,
        "point": text.point.local_id,
        "generation": text.generation,
        "node": text.node.local_id if text.node else None,
        "score": text.score,
        "reason": text.reason,
        "kept": text.is_kept,
    }


def unfinished() -> list[str]:
    """The uids of explorations that have not ended, oldest first."""
    rows = Exploration.objects.filter(ended_at__isnull=True, tree__erasing_at__isnull=True)
    return list(rows.values_list("uid", flat=True)[:MOST_LISTED])


def set_aside(nodes: Iterable[int]) -> frozenset[int]:
    """Those of the versions that an exploration did not keep. One query."""
    rows = ExploredText.objects.filter(node__in=list(nodes), is_kept=False)
    return frozenset(rows.values_list("node_id", flat=True))


def kept_of(texts: Sequence[ExploredText]) -> list[ExploredText]:
    """Those that were kept, in the order of rounds, best first."""
    kept = [text for text in texts if text.is_kept and text.node is not None]
    return sorted(kept, key=lambda text: (text.round, -(text.score or 0.0), text.pk))
