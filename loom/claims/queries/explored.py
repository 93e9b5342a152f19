"""What a claimant has opened around a claim: evidence that is not given but follows from the steps,
always weak, and counted for the level tentative only (docs/model.md §10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.engine.models import StepItem
from loom.language import ids
from loom.links.queries import written
from loom.links.trails import EndsSeen
from loom.text.hashes import instant
from loom.trees.models import Workspace

READ = 500  # steps of the claimant that are searched
MOST = 50  # openings of one claim


@dataclass(frozen=True)
class Opening:
    """An item that the claimant opened by a link type from an item (`of`) that the claim rests on,
    or from one that was opened so."""

    item: int
    of: int
    type: str
    at: datetime


def openings_of(actor: Actor, claim: Claim, cites: Sequence[Cite]) -> list[Opening]:
    """What the claimant opened from the claim, from what it is about and from what it cites, and on
    from there, each once, oldest first, without what is cited already. The steps of a person are
    their own, also if they invite an agent, those of an agent are open to members; what the actor
    may not see is left out. Three queries, and five if there are any."""
    if claim.by.kind == "human" and claim.by_id != actor.participant.pk:
        return []
    cited = {cite.item for cite in cites}
    around = {ids.of_node(claim.pk), *cited} | ({claim.about} if claim.about else set())
    workspace = Workspace.objects.filter(participant=claim.by_id, tree=claim.tree_id).first()
    if workspace is None:
        return []
    rows = workspace.steps.order_by("-seq").values_list("pk", "link_type", "outcome", "at")[:READ]
    opened = {key: (kind, at) for key, kind, outcome, at in rows if kind and outcome == "ok"}
    openings = [
        opening for opening in _of_steps(opened, around) if opening.item not in cited | around
    ]
    once = {(opening.item, opening.type): opening for opening in reversed(openings)}
    seen = (
        EndsSeen(actor, claim.tree, [opening.item for opening in once.values()]) if once else None
    )
    kept = [opening for opening in once.values() if seen and not seen.by_item[opening.item].is_gone]
    return sorted(kept, key=lambda opening: opening.at)[:MOST]


def _of_steps(opened: dict[int, tuple[str, datetime]], around: set[int]) -> list[Opening]:
    """What the steps led to, of those that began at one of the items, or at what an earlier one of
    these led to; the oldest first."""
    ways: dict[int, tuple[list[int], list[int]]] = {}
    rows = StepItem.objects.filter(step__in=opened).order_by("step_id", "place")
    for step, item, led_to in rows.values_list("step_id", "item_id", "led_to"):
        ways.setdefault(step, ([], []))[led_to].append(item)
    reached, openings = set(around), list[Opening]()
    for step, (of, to) in ways.items():
        if of and of[0] in reached:
            openings += [Opening(item, of[0], *opened[step]) for item in to]
            reached.update(to)
    return openings


def opening_bodies(claim: Claim, openings: Sequence[Opening]) -> list[dict[str, Any]]:
    """The openings as the API carries them."""
    names = written(
        {end for opening in openings for end in (opening.item, opening.of)}, claim.tree_id
    )
    return [
        {
            "item": names[opening.item],
            "of": names[opening.of],
            "type": opening.type,
            "says": explored(opening, names),
            "strength": "weak",
            "counts_for": "tentative",
            "by": claim.by.uid,
            "at": instant(opening.at),
        }
        for opening in openings
    ]


def explored(opening: Opening, names: dict[int, str]) -> str:
    """`explored [supports] of [a7x2]`."""
    return f"explored [{opening.type}] of [{names[opening.of]}]"
