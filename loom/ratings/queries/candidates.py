"""The texts that models of a grove wrote as candidates, the newest of each model."""

from collections.abc import Iterable
from typing import Any

from django.db.models import F, OuterRef, Q, Subquery

from loom import access
from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Node

MOST_MODELS = 20  # of those that wrote last


def candidates_of(actor: Actor) -> Any:
    """The texts that models wrote as candidates where the actor may read."""
    texts = Node.objects.filter(kind="text", slot__gte=F("id"), sandbox=False)
    return texts.exclude(generation_uid="").filter(
        tree__in=access.trees_for(actor).filter(grove=actor.grove)
    )


def writing_models(actor: Actor, most: int) -> list[Participant]:
    """The models of the grove that wrote last, each with `newest`, the id of its last candidate,
    and `since`, the id of the oldest of its `most` newest ones, None if it has fewer."""
    own = candidates_of(actor).filter(author=OuterRef("pk")).order_by("-id").values("id")
    models = Participant.objects.filter(grove=actor.grove, kind="model").annotate(
        newest=Subquery(own[:1]), since=Subquery(own[most - 1 : most])
    )
    return list(models.filter(newest__isnull=False).order_by("-newest")[:MOST_MODELS])


def newest_of(actor: Actor, models: Iterable[Any]) -> Any:
    """The candidates of models as `writing_models` returns them, none older than `since`."""
    of_any = Q(pk__in=[])
    for model in models:
        of_any |= Q(author=model, id__gte=model.since or 0)
    return candidates_of(actor).filter(of_any)
