"""Texts that have the words of a query, and texts that are near to it in meaning, in one order."""

from collections.abc import Sequence
from typing import NamedTuple

from loom.access import Actor
from loom.people.models import Grove
from loom.search.collecting import ReaderWorkspaces, visible
from loom.search.filters import EVERYTHING, By, Filters, filtered
from loom.search.index import IndexedVersion, Match
from loom.search.nearest import can_blend, nearest
from loom.trees.models import Node

FUSED = 60  # Cormack et al. 2009: the constant of reciprocal rank fusion
MOST_NEAR = 50  # texts of a search by meaning alone
MOST_ADDED = 10  # texts near in meaning that are added to those that have the words
LONG = 6  # characters of a script without blanks that say something
MOST_NEAREST = 400  # nearest versions of which those that may be seen are taken
MOST_SIFTED = 2_000  # where a filter or a branch leaves few of them


class Asked(NamedTuple):
    """A search: for whom, what, where, and in which selected versions."""

    actor: Actor
    query: str
    grove: Grove
    trees: Sequence[int]
    workspaces: ReaderWorkspaces
    only: Filters
    below: Node | None
    by: By


def blended(
    asked: Asked, words: dict[int, Match], titles: dict[int, Match]
) -> tuple[dict[int, Match], dict[int, Match]]:
    """The matches of words (nodes, and titles of trees) with texts that are near in meaning, by
    reciprocal rank fusion; a text that has no word of the query has `times` 0. What has the words
    and is not among the near is ranked behind these, and so above what is only near. As they were
    if nothing is near."""
    is_wide = asked.by == "meaning"
    if not is_wide and (asked.by == "words" or not can_blend() or not says_enough(asked.query)):
        return words, titles
    near = _near(asked, is_wide=is_wide)
    if is_wide:
        return {key: Match(0, 0, score) for key, score in near.items()}, {}
    if not near:
        return words, titles
    # Ids of trees are negative.
    keyed = {**words, **{-key: matched for key, matched in titles.items()}}
    scores = fused(sorted(keyed, key=lambda key: (-keyed[key].score, abs(key))), list(near))
    for key in keyed.keys() - near.keys():
        scores[key] += 1 / (FUSED + len(near) + 1)
    none = Match(0, 0, 0.0)
    together = {key: keyed.get(key, none)._replace(score=score) for key, score in scores.items()}
    nodes = {key: matched for key, matched in together.items() if key > 0}
    return nodes, {-key: matched for key, matched in together.items() if key < 0}


def says_enough(query: str) -> bool:
    """Whether a query says enough to have a meaning: two words, or six characters of a script
    without blanks. One word, which may be half typed, is looked for as it is."""
    return len(query.split()) > 1 or (not query.isascii() and len(query.strip()) >= LONG)


def _near(asked: Asked, *, is_wide: bool) -> dict[int, float]:
    """The nearest versions that the actor may see and that pass the filters, nearest first, with
    their nearness: at most MOST_NEAR if `is_wide`, else MOST_ADDED."""
    is_sifted = asked.only != EVERYTHING or asked.below is not None
    most = MOST_SIFTED if is_sifted else MOST_NEAREST
    ranked = dict(nearest(asked.query, asked.grove, asked.trees, most, is_wide=is_wide))
    rows = Node.objects.filter(pk__in=list(ranked), version_pruned=False)
    every = [IndexedVersion(*row) for row in rows.values_list("id", "slot_id", "length")]
    seen = visible(asked.actor, every, asked.workspaces, below=asked.below)
    passed = filtered(asked.only, (node.id for node in seen), ()).nodes
    kept = [(key, score) for key, score in ranked.items() if key in passed]
    return dict(kept[: MOST_NEAR if is_wide else MOST_ADDED])


def fused(*orders: Sequence[int]) -> dict[int, float]:
    """The score of each key of several orders, best first, by reciprocal rank fusion: what stands
    high in one order, or fairly high in several."""
    scores: dict[int, float] = {}
    for order in orders:
        for rank, key in enumerate(order, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (FUSED + rank)
    return scores
