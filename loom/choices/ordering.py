"""The order of candidates "as you tend to choose", on the page on which they are skimmed. It hides
nothing, and says why it is as it is."""

from collections.abc import Sequence

from django.utils.translation import gettext

from loom.access import Actor
from loom.choices.queries import is_unranked, learned_from, scored_by_taste, settings_of
from loom.choices.words import honest, leanings
from loom.meaning.skimming import GivenOrder, Skimmed, orders_candidates
from loom.trees.models import Node


@orders_candidates("taste")
def as_you_choose(actor: Actor, point: Node, some: Sequence[Skimmed]) -> GivenOrder | None:
    """The order of candidates by the actor's taste, and why; no places where they have not switched
    it on, or where there are too few choices."""
    if len(some) < 2:
        return None
    if not settings_of(actor.participant).orders:
        return GivenOrder(None, gettext("Switch this order on under “Your choices”."))
    known = learned_from(actor)
    if known.taste is None:
        return GivenOrder(None, honest(known))
    if is_unranked(actor.participant, point):
        return GivenOrder(
            None, gettext("Not ordered by your choices here, so that their measure stays fair.")
        )
    scores = scored_by_taste(
        actor,
        known.taste,
        [candidate.text for candidate in some],
        [candidate.by for candidate in some],
    )
    if scores is None:
        return None
    order = sorted(range(len(some)), key=lambda at: (-float(scores[at]), at))
    sentence = gettext("As you tend to choose: %(why)s.") % {"why": leanings(known)}
    return GivenOrder(order, f"{sentence} {honest(known)}")
