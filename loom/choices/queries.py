"""A person's own choices: what they saw, what they went on from, and what is learned from it.

Nobody else's choices are ever read here, and whoever may no longer read a tree has no choices in
it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Count, Min

from loom import access
from loom.access import Actor
from loom.choices.models import ChoiceSettings, Exposure
from loom.embedding.embedders import EmbedderFailed, local_embedder_of
from loom.engine import optional_cache
from loom.notes.models import Mark
from loom.people.models import Grove, Participant
from loom.trees.models import Node
from loom.turns.models import Generation

if TYPE_CHECKING:  # NumPy is loaded with the first measure: most processes never make one
    from loom.choices.taste import ChoiceMade, Taste, TasteFigures
    from loom.embedding.vectors import Floats

MOST_SHOWN = 128  # candidates of an exposure
MOST_KEPT = 3_000  # of a person's exposures, the newest
MOST_LEARNED = 600  # choices, the newest
KEPT_S = 3600  # seconds for which what was learned is kept
UNRANKED = 5  # one point in so many is never ordered by taste


def settings_of(participant: Participant) -> ChoiceSettings:
    """What a member has decided about their choices; the defaults are not stored."""
    row = ChoiceSettings.objects.filter(participant=participant).first()
    return row if row is not None else ChoiceSettings(participant=participant)


@dataclass(frozen=True)
class SeenChoice:
    """Candidates that somebody saw together, and the one that they went on from first."""

    exposure: Exposure
    taken: int
    at: datetime


def choices_of(actor: Actor) -> list[SeenChoice]:
    """The actor's choices, oldest first: for each candidate below which they went on (they wrote
    there, or asked for more), what they had seen last at that place. Three queries, which read the
    newest 3,000 exposures and what was written below those candidates."""
    rows = Exposure.objects.filter(
        participant=actor.participant, tree__in=access.trees_for(actor).filter(grove=actor.grove)
    ).select_related("point")
    exposures = list(rows.order_by("-id")[:MOST_KEPT])[::-1]
    went_on = _went_on(actor, {key for exposure in exposures for key in exposure.shown})
    by_point: dict[int, list[Exposure]] = {}
    for exposure in exposures:
        by_point.setdefault(exposure.point_id, []).append(exposure)
    choices = []
    for of_point in by_point.values():
        for place, exposure in enumerate(of_point):
            until = of_point[place + 1].at if place + 1 < len(of_point) else None
            times = [
                (at, key)
                for key in exposure.shown
                for at in went_on.get(key, ())
                if at >= exposure.at and (until is None or at < until)
            ]
            if times:
                at, key = min(times)
                choices.append(SeenChoice(exposure, key, at))
    return sorted(choices, key=lambda choice: (choice.at, choice.exposure.pk))


def _went_on(actor: Actor, shown: set[int]) -> dict[int, list[datetime]]:
    """When the actor went on below each of these versions."""
    slots = dict(Node.objects.filter(pk__in=shown).values_list("pk", "slot_id"))
    keys: dict[int, list[int]] = {}
    for key, slot in slots.items():
        keys.setdefault(slot, []).append(key)
    times: dict[int, list[datetime]] = {}
    written = Node.objects.filter(
        parent_slot__in=keys, author=actor.participant, kind="text"
    ).values_list("parent_slot_id", "created_at")
    asked = Generation.objects.filter(
        point__in=slots, asked_by=actor.participant, round=0
    ).values_list("point__slot_id", "created_at")
    for slot, at in (*written, *asked):
        for key in keys.get(slot, ()):
            times.setdefault(key, []).append(at)
    return times


def made_choices(actor: Actor) -> "list[ChoiceMade]":
    """The newest of the actor's choices as what is learned from. One query besides those of
    `choices_of`, which reads the texts of 600 choices at most."""
    return _observed(actor, choices_of(actor)[-MOST_LEARNED:])


def _observed(actor: Actor, chosen: Sequence[SeenChoice]) -> "list[ChoiceMade]":
    import numpy as np

    from loom.choices.taste import ChoiceMade, traits_of

    keys = sorted({key for choice in chosen for key in choice.exposure.shown})
    rows = Node.objects.filter(pk__in=keys).values_list("pk", "text", "author__uid")
    texts, authors = {}, {}
    for key, text, author in rows:
        texts[key], authors[key] = text, author
    vectors = vectors_of(actor.grove, texts)
    traits = {key: traits_of(text) for key, text in texts.items()}
    observed = []
    for choice in chosen:
        shown = [key for key in choice.exposure.shown if key in texts]
        if len(shown) < 2 or choice.taken not in shown:
            continue
        observed.append(
            ChoiceMade(
                np.array([traits[key] for key in shown], np.float32),
                np.stack([vectors[key] for key in shown]) if vectors is not None else None,
                shown.index(choice.taken),
                is_fair=choice.exposure.order != "taste",
                authors=tuple(authors[key] for key in shown),
            )
        )
    return observed


def vectors_of(grove: Grove, texts: Mapping[int, str]) -> "dict[int, Floats] | None":
    """The vectors of the texts by their keys; None without an embedder in this process, because
    a provider is not asked for this."""
    embedder = local_embedder_of(grove)
    if embedder is None or not texts:
        return None
    try:
        vectors = embedder.vectors(list(texts.values()))
    except EmbedderFailed:
        return None
    return dict(zip(texts, vectors, strict=True))


@dataclass(frozen=True)
class Learned:
    """What was learned from `n` choices: the taste (None: too few), and how good it is on later
    ones (None: too few of them)."""

    n: int
    taste: "Taste | None"
    figures: "TasteFigures | None"


def learned_from(actor: Actor) -> Learned:
    """What was learned from the actor's own choices; kept for an hour, or until more was shown."""
    from loom.choices.taste import learned, measured

    rows = Exposure.objects.filter(participant=actor.participant).order_by("-id")
    last = rows.values_list("pk", flat=True).first()
    key = f"taste:{actor.participant.uid}:{last}"
    kept: Learned | None = optional_cache.get(key) if last is not None else Learned(0, None, None)
    if kept is None:
        choices = made_choices(actor)
        kept = Learned(len(choices), learned(choices), measured(choices))
        optional_cache.keep(key, kept, KEPT_S)
    return kept


def scored_by_taste(
    actor: Actor, taste: "Taste", texts: Sequence[str], authors: Sequence[str]
) -> "Floats | None":
    """How much the actor tends to like each of these texts by these authors (uids); None if the
    taste needs vectors and there is no embedder now."""
    import numpy as np

    from loom.choices.taste import traits_of

    vectors = vectors_of(actor.grove, dict(enumerate(texts)))
    if not texts or (vectors is None and taste.axes is not None):
        return None
    return taste.scores(
        np.array([traits_of(text) for text in texts], np.float32),
        np.stack([vectors[at] for at in range(len(texts))]) if vectors is not None else None,
        authors,
    )


def is_unranked(participant: Participant, point: Node) -> bool:
    """Whether candidates below this node are never ordered by the taste of this person: one place
    in five, so that the measure stays fair."""
    named = hashlib.sha256(f"{participant.uid} {point.pk}".encode()).digest()
    return named[0] % UNRANKED == 0


@dataclass(frozen=True)
class LoggedExposures:
    """What is logged of a person in a grove: how many exposures, and when the oldest was made."""

    count: int
    oldest: datetime | None


def logged_of(actor: Actor) -> LoggedExposures:
    """What is logged of the actor. One query."""
    totals = Exposure.objects.filter(participant=actor.participant).aggregate(
        n=Count("pk"), first=Min("at")
    )
    return LoggedExposures(totals["n"], totals["first"])


def judged_texts(actor: Actor, keys: Sequence[int]) -> dict[int, bool]:
    """What the actor has said of texts: rated + (True) or − (False)."""
    marks = Mark.objects.filter(
        item__in=list(keys),
        kind__in=("plus", "minus"),
        participant=actor.participant,
        removed_at__isnull=True,
    )
    return {item: kind == "plus" for item, kind in marks.values_list("item_id", "kind")}
