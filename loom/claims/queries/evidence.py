"""How strong each piece of evidence of a claim is, computed from what is stored now."""

from collections.abc import Iterable, Mapping, Sequence

from loom.claims.models import Cite, Claim
from loom.claims.queries.checks import passed_among
from loom.claims.queries.inline_tokens import states_of
from loom.claims.rules.inline_tokens import plain_task, stated_task, tokens_in
from loom.claims.rules.levels import Basis, Strength, Weights, normalised, strength_of
from loom.language import ids
from loom.links.models import Trail
from loom.people.models import Participant
from loom.reading.queries.verify import verified_among
from loom.trees.grove_texts import grove_texts, is_text
from loom.trees.models import Node

ORDER: tuple[Strength, ...] = ("weak", "moderate", "strong")


def cites_of(claim: Claim) -> list[Cite]:
    """The evidence of a claim, oldest first."""
    return list(Cite.objects.filter(claim=claim).select_related("by").order_by("id"))


def strengths(claim: Claim, cites: Sequence[Cite]) -> dict[int, tuple[Strength, str]]:
    """How strong each cite is, and by what, by row id. Six queries."""
    nodes = {key for cite in cites if (key := ids.node_id(cite.item)) is not None}
    by_key = {
        node.pk: node for node in Node.objects.filter(pk__in=nodes).select_related("tree", "author")
    }
    verified = verified_among(by_key.values())
    passed = passed_among((cite.item, cite.version) for cite in cites)
    proofs = set(
        Claim.objects.filter(
            pk__in=[key for key, node in by_key.items() if node.kind == "claim"],
            state="committed",
            is_vetoed=False,
        ).values_list("pk", flat=True)
    )
    confirmed = {
        (cite.item, cite.side)
        for cite in cites
        if cite.by.kind == "human"
        and cite.by_id != claim.by_id
        and cite.gate in ("", "found")
        and not cite.is_taken_back
    }
    undercut = {
        cite.undercuts_id for cite in cites if cite.side == "undercuts" and cite.answered_at is None
    }
    asked = [key for cite in cites if (key := ids.trail_id(cite.item)) is not None]
    trails = Trail.objects.in_bulk(asked) if asked else {}
    in_state, state = _items_in_state(claim, cites, by_key)
    by_cite = {}
    for cite in cites:
        trail = trails.get(ids.trail_id(cite.item) or 0)
        node = by_key.get(cite.item)
        basis = Basis(
            gate=cite.gate,
            is_taken_back=cite.is_taken_back,
            task_state=state if cite.item in in_state and cite.side == "for" else "",
            is_own=node is not None and node.kind != "claim" and _is_same(node.author, claim.by),
            is_undercut=cite.pk in undercut,
            has_passed=(cite.item, cite.version) in passed,
            is_confirmed=(cite.item, cite.side) in confirmed,
            is_verified=cite.item in verified and (node is None or node.kind == "text"),
            is_section=ids.document_id(cite.item) is not None and cite.first is not None,
            is_proof=node is not None and node.pk in proofs,
            trail=_extent(trail) if trail is not None else None,
        )
        by_cite[cite.pk] = strength_of(basis)
    return by_cite


def _is_same(author: Participant, claimant: Participant) -> bool:
    """Whether they are one; a person is another participant in each of their groves."""
    is_person = claimant.user_id is not None and author.user_id == claimant.user_id
    return author.pk == claimant.pk or is_person


def _items_in_state(
    claim: Claim, cites: Sequence[Cite], nodes: Mapping[int, Node]
) -> tuple[set[int], str]:
    """(the cited items that have the task of which the claim states the state, in that state; the
    state). Of a claim about anything else (nothing, ""), without a query."""
    stated = stated_task(claim.node.text)
    if stated is None:
        return set(), ""
    words, state = stated
    items = set()
    for item in {cite.item for cite in cites}:
        node = nodes.get(item)
        if node is None and not is_text(item):
            continue
        text = node.text if node is not None else grove_texts().current(item) or ""
        tokens = tokens_in(text, stable=node is None)
        states = states_of(item, tokens)
        if any(
            token.kind == "task"
            and normalised(plain_task(token.words)) == normalised(words)
            and states[token.key][0] == state
            for token in tokens
        ):
            items.add(item)
    return items, state


def _extent(trail: Trail) -> tuple[int, int]:
    """How many steps a trail has, and over how many link types."""
    return len(trail.steps), len({step["type"] for step in trail.steps if step["type"]})


def weights_of(cites: Iterable[Cite]) -> Weights:
    """The evidence of a claim as its levels count it: each item once for each side, by the best of
    its cites. What was taken back counts for nothing."""
    best: dict[int, int] = {}
    against: dict[int, tuple[bool, bool]] = {}
    every = [cite for cite in cites if not cite.is_taken_back]
    undercut = {
        cite.undercuts_id for cite in every if cite.side == "undercuts" and cite.answered_at is None
    }
    for cite in every:
        if cite.side == "for":
            rank = ORDER.index(cite.strength)
            best[cite.item] = max(rank, best.get(cite.item, 0))
        elif cite.side == "against":
            is_unanswered = cite.answered_at is None
            is_open = is_unanswered and cite.pk not in undercut
            was = against.get(cite.item, (False, False))
            against[cite.item] = (was[0] or is_open, was[1] or is_unanswered)
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
    for cite in cites:
        if cite.side == "against" and cite.answered_at is None:
            rank = ORDER.index(cite.strength)
            best[cite.item] = max(rank, best.get(cite.item, 0))
    ranks = list(best.values())
    return Weights(strong=ranks.count(2), moderate=ranks.count(1), weak=ranks.count(0))
