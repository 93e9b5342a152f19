"""Ratings of texts, and what became of the candidates of each model."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, Subquery

from loom import access
from loom.access import Actor
from loom.notes.models import Mark
from loom.participants.provider_kinds import samplers_written
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import by_id, selected_version
from loom.trees.queries.places import hidden_among
from loom.turns.models import Generation

KINDS = ("plus", "minus")
MOST_OF_MODEL = 1_000  # candidates of each model that are counted, the newest
MOST_MODELS = 20  # of those that wrote last
RECENT = 300  # candidates of each model among which a pair for a blind comparison is sought
BEFORE = 600  # characters of the text above a pair


def ratings_in(actor: Actor, tree: Tree) -> dict[str, str]:
    """The actor's own ratings in a tree: plus or minus by local id. One query."""
    marks = Mark.objects.filter(
        tree=tree, kind__in=KINDS, participant=actor.participant, removed_at__isnull=True
    )
    return dict(marks.values_list("item__node__local_id", "kind"))


@dataclass(frozen=True)
class CandidateCounts:
    """What became of the candidates of a model with some samplers: how many there are, below how
    many somebody went on, and how often they were rated + and −."""

    model: Participant
    samplers: str
    candidates: int
    accepted: int
    plus: int
    minus: int

    @property
    def share(self) -> int:
        """The accepted ones of a hundred candidates."""
        return round(100 * self.accepted / self.candidates)


def counts_in(actor: Actor) -> list[CandidateCounts]:
    """By model and samplers, for the newest candidates of each model of the grove; the most
    candidates first. Four queries, which read 1,000 candidates of each of 20 models at most."""
    models = {model.pk: model for model in _writing_models(actor, MOST_OF_MODEL)}
    newest = _newest(actor, models.values())
    went_on = Node.objects.filter(parent_slot=OuterRef("slot"), kind="text")
    texts = newest.annotate(is_accepted=Exists(went_on))
    samplers = _samplers(newest)
    rated = _times_rated(newest)
    counts: dict[tuple[int, str], Counter[str]] = {}
    for key, author, uid, is_accepted in texts.values_list(
        "id", "author_id", "generation_uid", "is_accepted"
    ):
        count = counts.setdefault((author, samplers.get(uid, "")), Counter())
        count.update(candidates=1, accepted=int(is_accepted))
        count.update({kind: rated[key, kind] for kind in KINDS})
    rows = [
        CandidateCounts(models[author], named, *(count[name] for name in _COUNTED))
        for (author, named), count in counts.items()
    ]
    return sorted(rows, key=lambda row: (-row.candidates, row.model.name, row.samplers))


_COUNTED = ("candidates", "accepted", *KINDS)


def _candidates(actor: Actor) -> Any:
    """The texts that models wrote as candidates where the actor may read."""
    texts = Node.objects.filter(kind="text", slot=F("id"), sandbox=False)
    return texts.exclude(generation_uid="").filter(
        tree__in=access.trees_for(actor).filter(grove=actor.grove)
    )


def _writing_models(actor: Actor, most: int) -> list[Participant]:
    """The models of the grove that wrote last, each with `newest`, the id of its last candidate,
    and `since`, the id of the oldest of its `most` newest ones, None if it has fewer."""
    own = _candidates(actor).filter(author=OuterRef("pk")).order_by("-id").values("id")
    models = Participant.objects.filter(grove=actor.grove, kind="model").annotate(
        newest=Subquery(own[:1]), since=Subquery(own[most - 1 : most])
    )
    return list(models.filter(newest__isnull=False).order_by("-newest")[:MOST_MODELS])


def _newest(actor: Actor, models: Iterable[Any]) -> Any:
    """The candidates of models as `_writing_models` returns them, none older than `since`."""
    of_any = Q(pk__in=[])
    for model in models:
        of_any |= Q(author=model, id__gte=model.since or 0)
    return _candidates(actor).filter(of_any)


def _times_rated(nodes: Any) -> Counter[tuple[int, str]]:
    """How often each of the nodes was rated + and −, by its row id and the kind."""
    marks = Mark.objects.filter(
        item__in=nodes.values("id"), kind__in=KINDS, removed_at__isnull=True
    )
    return Counter(marks.values_list("item_id", "kind"))


def _samplers(nodes: Any) -> dict[str, str]:
    """How each generation that wrote one of the nodes was asked for, as a line names it."""
    rows = Generation.objects.filter(uid__in=nodes.values("generation_uid"))
    return {
        uid: samplers_written(
            {**({} if temperature is None else {"temperature": temperature}), **settings}
        )
        for uid, temperature, settings in rows.values_list("uid", "temperature", "settings")
    }


# Blind comparisons: two texts of different models below one text, without their names.


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
    seen = _newest(actor, _writing_models(actor, RECENT))
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
