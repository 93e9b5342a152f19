"""The order of candidates "as you tend to choose", on the page on which they are skimmed. It hides
nothing, and says why it is as it is."""

from collections.abc import Sequence

from django.utils.translation import gettext

from loom.access import Actor
from loom.choices.queries import is_unranked, learned_from, settings_of, vectors_of
from loom.choices.words import honest, leanings
from loom.meaning.skimming import GivenOrder, orders_candidates
from loom.trees.models import Node


@orders_candidates("taste")
def as_you_choose(actor: Actor, point: Node, texts: Sequence[str]) -> GivenOrder | None:
    """The order of the texts by the actor's taste, and why; no places where they have not switched
    it on, or where there are too few choices."""
    if len(texts) < 2:
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
    import numpy as np

    from loom.choices.taste import traits_of

    vectors = vectors_of(actor.grove, dict(enumerate(texts)))
    if vectors is None and known.taste.axes is not None:
        return None
    scores = known.taste.scores(
        np.array([traits_of(text) for text in texts], np.float32),
        np.stack([vectors[at] for at in range(len(texts))]) if vectors is not None else None,
    )
    order = sorted(range(len(texts)), key=lambda at: (-float(scores[at]), at))
    said = gettext("As you tend to choose: %(why)s.") % {"why": leanings(known)}
    return GivenOrder(order, f"{said} {honest(known)}")
