"""How strong each piece of evidence of a claim is, computed from what is stored now."""

from collections.abc import Iterable, Sequence

from loom.claims.models import Cite, Claim
from loom.claims.queries.checks import passed_among
from loom.claims.rules.levels import Basis, Strength, Weights, strength_of
from loom.language import ids
from loom.links.models import Trail
from loom.reading.queries.verify import verified_among
from loom.trees.models import Node

ORDER: tuple[Strength, ...] = ("weak", "moderate", "strong")


def cites_of(claim: Claim) -> list[Cite]:
    """The evidence of a claim, oldest first."""
    return list(Cite.objects.filter(claim=claim).select_related("by").order_by("id"))


def strengths(claim: Claim, cites: Sequence[Cite]) -> dict[int, tuple[Strength, str]]:
    """How strong each cite is, and by what, by row id. Six queries."""
    nodes = {key for one in cites if (key := ids.node_id(one.item)) is not None}
    found = {
        one.pk: one for one in Node.objects.filter(pk__in=nodes).select_related("tree", "author")
    }
    verified = verified_among(found.values())
    passed = passed_among((one.item, one.version) for one in cites)
    proofs = set(
        Claim.objects.filter(
            pk__in=[key for key, node in found.items() if node.kind == "claim"],
            state="committed",
            is_vetoed=False,
        ).values_list("pk", flat=True)
    )
    confirmed = {
        (one.item, one.side)
        for one in cites
        if one.by.kind == "human" and one.by_id != claim.by_id and one.gate in ("", "found")
    }
    undercut = {
        one.undercuts_id for one in cites if one.side == "undercuts" and one.answered_at is None
    }
    asked = [key for one in cites if (key := ids.trail_id(one.item)) is not None]
    trails = Trail.objects.in_bulk(asked) if asked else {}
    made = {}
    for one in cites:
        trail = trails.get(ids.trail_id(one.item) or 0)
        node = found.get(one.item)
        basis = Basis(
            gate=one.gate,
            is_own=node is not None and node.author_id == claim.by_id and node.kind != "claim",
            is_undercut=one.pk in undercut,
            has_passed=(one.item, one.version) in passed,
            is_confirmed=(one.item, one.side) in confirmed,
            is_verified=one.item in verified and (node is None or node.kind == "text"),
            is_section=ids.document_id(one.item) is not None and one.first is not None,
            is_proof=node is not None and node.pk in proofs,
            trail=_extent(trail) if trail is not None else None,
        )
        made[one.pk] = strength_of(basis)
    return made


def _extent(trail: Trail) -> tuple[int, int]:
    """How many steps a trail has, and over how many link types."""
    return len(trail.steps), len({one["type"] for one in trail.steps if one["type"]})


def weights_of(cites: Iterable[Cite]) -> Weights:
    """The evidence of a claim as its levels count it: each item once for each side, by the best of
    its cites."""
    best: dict[int, int] = {}
    against: dict[int, tuple[bool, bool]] = {}
    every = list(cites)
    undercut = {
        one.undercuts_id for one in every if one.side == "undercuts" and one.answered_at is None
    }
    for one in every:
        if one.side == "for":
            rank = ORDER.index(one.strength)
            best[one.item] = max(rank, best.get(one.item, 0))
        elif one.side == "against":
            is_unanswered = one.answered_at is None
            is_open = is_unanswered and one.pk not in undercut
            was = against.get(one.item, (False, False))
            against[one.item] = (was[0] or is_open, was[1] or is_unanswered)
    ranks = list(best.values())
    return Weights(
        strong=ranks.count(2),
        moderate=ranks.count(1),
        weak=ranks.count(0),
        open=sum(is_open for is_open, _ in against.values()),
        unanswered=sum(is_left for _, is_left in against.values()),
    )


def counter_weights(cites: Iterable[Cite]) -> Weights:
    """The open evidence against a claim, as if it were for the opposite."""
    best: dict[int, int] = {}
    for one in cites:
        if one.side == "against" and one.answered_at is None:
            rank = ORDER.index(one.strength)
            best[one.item] = max(rank, best.get(one.item, 0))
    ranks = list(best.values())
    return Weights(strong=ranks.count(2), moderate=ranks.count(1), weak=ranks.count(0))
