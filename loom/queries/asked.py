"""Whom somebody asked last on a path, so that the same is offered there again."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from loom.access import Actor
from loom.models import Generation, Tree

AT_ONCE = timedelta(seconds=5)  # lines of one go come that close to each other
NEAREST = 200


def asked_on(actor: Actor, tree: Tree, path: Sequence[int]) -> tuple[int | None, dict[str, int]]:
    """(where, how many of each participant by name) of the candidates that the actor asked
    for last, at the deepest node of a path (row ids, root first) where he asked for any;
    (None, {}) nowhere. Rounds of turns are none."""
    own = Generation.objects.filter(
        tree=tree,
        asked_by=actor.participant,
        point__in=path[-NEAREST:],
        participant__archived_at__isnull=True,
        turn__isnull=True,
    )
    last = own.order_by("-point__depth", "-id").first()
    if last is None:
        return None, {}
    go = own.filter(point=last.point_id, created_at__gte=last.created_at - AT_ONCE)
    rows = list(go.order_by("id").values_list("participant__name", "batch"))
    # One line asks each of them: who failed and was asked again at once is counted once.
    newest = dict(rows)
    return last.point_id, dict(Counter(name for name, batch in rows if newest[name] == batch))
