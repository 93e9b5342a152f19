"""What became of the candidates of each model and its samplers: how many were shown, continued and
rated."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef

from loom.access import Actor
from loom.notes.models import Mark
from loom.participants.provider_kinds import samplers_written
from loom.people.models import Participant
from loom.ratings.queries.candidates import newest_of, writing_models
from loom.ratings.queries.ratings import KINDS
from loom.trees.models import Node
from loom.turns.models import Generation

MOST_OF_MODEL = 1_000  # candidates of each model that are counted, the newest


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
    models = {model.pk: model for model in writing_models(actor, MOST_OF_MODEL)}
    newest = newest_of(actor, models.values())
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
