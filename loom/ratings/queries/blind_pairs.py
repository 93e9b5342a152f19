"""Blind comparisons: two texts of different models below one text, without their names."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from loom.access import Actor
from loom.notes.models import Mark
from loom.ratings.queries.candidates import newest_of, writing_models
from loom.ratings.queries.ratings import KINDS
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import by_id, selected_version
from loom.trees.queries.places import hidden_among

RECENT = 300  # candidates of each model among which a pair is sought
BEFORE = 600  # characters of the text above a pair


@dataclass(frozen=True)
class BlindPair:
    """The end of the text above, and two texts below it in an order that says nothing."""

    tree: Tree
    above: str
    first: Node
    second: Node


def blind_pair(actor: Actor) -> BlindPair | None:
    """A pair of candidates of different models that the actor has rated neither of; None if there
    is none among the newest. Reads the ids of 300 candidates of each of 20 models, and three
    texts."""
    beside: dict[int, dict[int, int]] = {}  # by the slot above: a candidate by its model
    seen = newest_of(actor, writing_models(actor, RECENT))
    seen = seen.filter(pruned=False, tree__archived_at__isnull=True).order_by("-id")
    for key, model, above in seen.values_list("id", "author_id", "parent_slot_id"):
        beside.setdefault(above, {}).setdefault(model, key)
    pairs = [tuple(sorted(keys.values())) for keys in beside.values() if len(keys) > 1]
    rated = _rated_by(actor, [key for pair in pairs for key in pair])
    hidden = hidden_among(key for pair in pairs for key in pair)
    for pair in sorted(pairs, key=lambda keys: _shuffled(actor, keys)):
        if not rated & set(pair) and not hidden & set(pair):
            return _shown_pair(actor, pair)
    return None


def _rated_by(actor: Actor, keys: Iterable[int]) -> set[int]:
    marks = Mark.objects.filter(
        item__in=list(keys),
        kind__in=KINDS,
        participant=actor.participant,
        removed_at__isnull=True,
    )
    return set(marks.values_list("item_id", flat=True))


def _shuffled(actor: Actor, keys: tuple[int, ...]) -> str:
    """A place in an order that nobody can guess, and that stays when a page is loaded again."""
    return hashlib.sha256(f"{actor.participant.uid} {keys}".encode()).hexdigest()


def _shown_pair(actor: Actor, keys: tuple[int, ...]) -> BlindPair:
    first, second, *_ = sorted(keys, key=lambda key: _shuffled(actor, (key,)))
    nodes = Node.objects.select_related("tree").in_bulk([first, second])
    left, right = nodes[first], nodes[second]
    slot = left.parent_slot_id
    above = selected_version(slot, None) or by_id(slot) if slot is not None else None
    return BlindPair(left.tree, above.text[-BEFORE:] if above is not None else "", left, right)
