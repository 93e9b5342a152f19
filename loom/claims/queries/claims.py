"""Claims as a reader may see them: bodies for the API, obligations, and whether a commitment is
still what it was."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

from django.db.models import QuerySet

from loom.access import Actor, trees_for
from loom.claims.models import Cite, Claim, Commitment
from loom.claims.queries.explored import opening_bodies, openings_of
from loom.claims.rules import levels
from loom.claims.rules.levels import Level, Obligation, Weights
from loom.errors import not_found
from loom.language import ids
from loom.links.queries import written
from loom.links.trails import trails_for
from loom.people.models import Grove
from loom.permissions import CROSS_TREE
from loom.reading.queries.verify import verified_among, verifies
from loom.text.hashes import instant
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import find_node
from loom.trees.queries.places import path_ids

COMPILER = "heddle-claims/1"  # the version of the rules that a commitment was made by
ABOVE: dict[str, Level] = {"tentative": "moderate", "moderate": "strong", "strong": "definitive"}


def key_of(statement: str) -> str:
    """By which the same statement is found again."""
    return hashlib.sha256(levels.normalised(statement).encode()).hexdigest()


def claims_in(tree: Tree) -> QuerySet[Claim]:
    """The claims of a tree whose nodes are not pruned, the last changed first."""
    rows = Claim.objects.filter(tree=tree, node__pruned=False)
    return rows.select_related("node", "tree", "by", "person").order_by("-changed_at", "-pk")


MOST_NEAR = 200  # open claims, the last changed, among which the near ones are looked for
MOST_ABOVE = 100  # texts on the path, the last ones


def near_claims(actor: Actor, tree: Tree, source: str) -> list[Claim]:
    """The open claims of a tree, those first that are about an item (a local id, or `doc:ID`) or
    cite it, then those of the texts above it by distance, then the actor's own, then the others; of
    equal ones the last changed first. Only the MOST_NEAR that changed last. Five queries."""
    claims = list(claims_in(tree).filter(state__in=levels.OPEN)[:MOST_NEAR])
    distances: dict[int, int] = {}
    item = item_named(actor, tree, source)
    node = Node.objects.filter(pk=ids.node_id(item) or 0).first()
    if node is not None:
        path = path_ids(actor, tree, None, node, most=MOST_ABOVE)
        distances = {ids.of_node(key): steps for steps, (_, key) in enumerate(reversed(path))}
    elif item:
        distances = {item: 0}
    far = len(distances)
    nearest = {claim.pk: distances.get(claim.about or 0, far) for claim in claims}
    cites = Cite.objects.filter(claim__in=nearest, item__in=distances).order_by()
    for claim_pk, cited in cites.values_list("claim", "item"):
        nearest[claim_pk] = min(nearest[claim_pk], distances[cited])
    mine = actor.participant.pk
    return sorted(claims, key=lambda claim: (nearest[claim.pk], claim.by_id != mine))


def claim_of(node: Node) -> Claim:
    """The claim of a node. NOT_FOUND if it is none."""
    rows = Claim.objects.select_related("node", "tree", "by", "person").order_by()
    row = next(iter(rows.filter(pk=node.slot_id)), None)
    if row is None:
        raise not_found(f"A claim [{node.local_id}]", '→ claim "…" cite:REF makes one')
    return row


def item_named(actor: Actor, tree: Tree, source: str) -> int:
    """The item that a local id of a tree, or `doc:ID`, names; 0 if the actor sees none."""
    if source.startswith("doc:"):
        document = grove_texts().find(actor, source[4:])
        return document.item_id if document is not None else 0
    node = find_node(tree, source.lower())
    return ids.of_node(node.pk) if node is not None else 0


def citing(actor: Actor, tree: Tree, source: str) -> QuerySet[Cite, int]:
    """The row ids of the claims of a tree that cite an item: a local id, or `doc:ID`."""
    item = item_named(actor, tree, source)
    rows = Cite.objects.filter(claim__tree=tree, item=item) if item else Cite.objects.none()
    return rows.order_by().values_list("claim", flat=True)


def same_statement(actor: Actor, tree: Tree, statement: str) -> list[Claim]:
    """The claims with the same normalised statement that the actor may see: in the tree, or with
    cross_tree in the grove; committed ones first, then the newest."""
    rows = Claim.objects.filter(statement_key=key_of(statement), node__pruned=False)
    if CROSS_TREE in actor.permissions:
        rows = rows.filter(tree__in=trees_for(actor).filter(grove=tree.grove_id))
    else:
        rows = rows.filter(tree=tree)
    ordered = sorted(
        rows.select_related("node", "tree", "by").order_by(),
        key=lambda row: (row.changed_at, row.pk),
        reverse=True,
    )
    return sorted(ordered, key=lambda claim: claim.state != "committed")


def committed_level(grove: Grove, key: str, tree: Tree) -> Level | None:
    """The highest level to which the statement with this key is committed in the grove."""
    rows = Claim.objects.filter(
        statement_key=key, state="committed", is_vetoed=False, tree__grove=grove
    ).exclude(level="")
    held = set(rows.values_list("level", flat=True))
    return next((level for level in reversed(levels.LEVELS) if level in held), None)


def weights(claim: Claim) -> Weights:
    """The evidence of a claim, as it was last weighed."""
    return Weights(claim.strong, claim.moderate, claim.weak, claim.open, claim.unanswered)


def next_level(claim: Claim) -> Level:
    """The level that a claim works towards: moderate, or the one above its commitment."""
    return ABOVE.get(claim.level, "definitive") if claim.level else "moderate"


def obligations_of(
    claim: Claim, level: Level | None = None, *, explored: int = 0
) -> tuple[Obligation, ...]:
    """What a level (None: the next one) demands of a claim, around which its claimant has opened
    so many items."""
    return levels.obligations(
        replace(weights(claim), explored=explored),
        level or next_level(claim),
        scope=claim.scope,  # type: ignore[arg-type]
        authority=authority_of(claim),
    )


def authority_of(claim: Claim) -> int:
    """The authority of the claimant; a person may commit what they claimed."""
    return levels.MOST_AUTHORITY if claim.by.kind == "human" else claim.by.authority


def allowed_acts(claim: Claim) -> list[str]:
    """What may be done with a claim now."""
    acts: list[str] = list(levels.ALLOWED[claim.state])  # type: ignore[index]
    if claim.level == "tentative":  # what it is raised by
        acts.insert(acts.index("commit"), "conclude")
    if claim.is_vetoed:
        acts = [act for act in acts if act not in levels.ENDED_BY_A_VETO]
    return acts


def levels_to_commit(claim: Claim) -> list[Level]:
    """The levels at which a claim can be committed now, if its evidence allows: above that of its
    commitment, and nothing but tentative before it is concluded."""
    if "commit" not in allowed_acts(claim):
        return []
    if not claim.conclusion:
        return [] if claim.level else ["tentative"]
    above = levels.LEVELS.index(claim.level) + 1 if claim.level else 0
    return list(levels.LEVELS[above:])


def waits_for_a_person(claim: Claim) -> bool:
    """Whether only the authority is missing, so that a person has to give the commit."""
    if claim.state != "concluding":
        return False
    gap = levels.missing(obligations_of(claim))
    return gap is not None and gap.code == "NEEDS_ESCALATION"


def status_of(claim: Claim, obligation: Obligation) -> str:
    """The status of an obligation: proved, rejected (counter-evidence is open), blocked, or pending
    before the claim is tested; compiling while it is."""
    if obligation.is_met:
        return "proved"
    if obligation.code == "UNADDRESSED_COUNTEREVIDENCE":
        return "rejected"
    return {"hypothesis": "pending", "testing": "compiling"}.get(claim.state, "blocked")


class _OfItem(Protocol):
    @property
    def item(self) -> int: ...


OfItem = TypeVar("OfItem", bound=_OfItem)


class _Subject(NamedTuple):
    """What a claim is about, as an item that is seen or not."""

    item: int


def seen_cites(actor: Actor, tree: Tree, cites: Sequence[OfItem]) -> list[OfItem]:
    """Those of the cites, in a tree that the actor reads, whose items they may see."""
    homes = {ids.home_of(cite.item) for cite in cites} - {0, tree.pk}
    trees = {tree.pk}
    if homes:
        trees |= set(trees_for(actor).filter(pk__in=homes).values_list("pk", flat=True))
    below = set(grove_texts().seen(actor, tree, {cite.item for cite in cites}))
    if asked := [key for cite in cites if (key := ids.trail_id(cite.item)) is not None]:
        rows = trails_for(actor).filter(pk__in=asked).order_by().values_list("pk", flat=True)
        below |= set(map(ids.of_trail, rows))
    return [
        cite
        for cite in cites
        if (cite.item in below if cite.item < 0 else ids.home_of(cite.item) in trees)
    ]


def cite_body(cite: Cite, names: dict[int, str]) -> dict[str, Any]:
    """A cite as the API carries it."""
    quote = None
    if cite.first is not None:
        quote = {
            "words": cite.words,
            "before": cite.before,
            "after": cite.after,
            "first": cite.first,
            "last": cite.last,
        }
    return {
        "id": cite.uid,
        "item": names.get(cite.item, ""),
        "side": cite.side,
        "undercuts": cite.undercuts.uid if cite.undercuts is not None else None,
        "version": cite.version,
        "part": cite.part,
        "quote": quote,
        "gate": cite.gate or None,
        "why": cite.why,
        "strength": cite.strength,
        "by_what": cite.reason,
        "answer": cite.answer,
        "addressed": cite.answered_at is not None,
        "taken_back": cite.is_taken_back,
        "by": cite.by.uid,
        "at": instant(cite.at),
    }


def commitment_body(commitment: Commitment) -> dict[str, Any]:
    """A commitment as its events carry it, without its record: not all who read the tree may see
    all of the evidence."""
    return {
        "id": commitment.uid,
        "level": commitment.level,
        "hash": commitment.hash,
        "by": commitment.by.uid,
        "approved_by": commitment.approved_by.uid if commitment.approved_by is not None else None,
        "at": instant(commitment.at),
        "vetoed_by": commitment.vetoed_by.uid if commitment.vetoed_by is not None else None,
        "veto": commitment.veto,
    }


def recorded_body(commitment: Commitment, cites: Iterable[Cite]) -> dict[str, Any]:
    """A commitment with its record, as far as the reader may see the evidence: `cites` are those
    that they may. `unseen` is the number of the others; the hash is that of the whole record."""
    seen = {cite.uid for cite in cites}
    sides = {
        side: [cite for cite in commitment.record[side] if cite["id"] in seen]
        for side in ("evidence", "counter_evidence")
    }
    unseen = sum(len(commitment.record[side]) - len(left) for side, left in sides.items())
    record = {**commitment.record, **sides}
    return {**commitment_body(commitment), "record": record, "unseen": unseen}


def obligation_body(claim: Claim, obligation: Obligation) -> dict[str, Any]:
    """An obligation as the API carries it."""
    return {
        "code": obligation.code,
        "have": obligation.have,
        "need": obligation.need,
        "says": obligation.says,
        "status": status_of(claim, obligation),
    }


def brief_body(claim: Claim) -> dict[str, Any]:
    """A claim without its evidence, as lists and events carry it."""
    return {
        "id": claim.node.local_id,
        "tree": claim.tree.uid,
        "statement": claim.node.text,
        "state": claim.state,
        "scope": claim.scope,
        "test": claim.test,
        "conclusion": claim.conclusion,
        "level": claim.level or None,
        "vetoed": claim.is_vetoed,
        "strong": claim.strong,
        "moderate": claim.moderate,
        "weak": claim.weak,
        "against": claim.unanswered,
        "waits_for_a_person": waits_for_a_person(claim),
        "by": claim.by.uid,
        "person": claim.person.uid,
        "at": instant(claim.at),
        "changed_at": instant(claim.changed_at),
    }


def claim_body(actor: Actor, claim: Claim) -> dict[str, Any]:
    """A claim with its evidence, counter-evidence first, as far as the actor may see it."""
    rows = Cite.objects.filter(claim=claim).select_related("by", "undercuts")
    cites = seen_cites(actor, claim.tree, list(rows.order_by("id")))
    about = [] if claim.about is None else seen_cites(actor, claim.tree, [_Subject(claim.about)])
    items = {cite.item for cite in cites} | {subject.item for subject in about}
    names = written(items, claim.tree_id)
    order = {"against": 0, "undercuts": 1, "for": 2}
    cites.sort(key=lambda cite: (order[cite.side], cite.pk))
    commitments = Commitment.objects.filter(claim=claim).select_related(
        "by", "approved_by", "vetoed_by"
    )
    return {
        **brief_body(claim),
        "about": names.get(about[0].item) if about else None,
        "why": claim.why,
        "allowed": allowed_acts(claim),
        "next": next_level(claim),
        "obligations": [obligation_body(claim, obligation) for obligation in obligations_of(claim)],
        "evidence": [cite_body(cite, names) for cite in cites],
        "evidence_total": rows.count(),
        "explored": opening_bodies(claim, openings_of(actor, claim, cites)),
        "commitments": [recorded_body(row, cites) for row in commitments.order_by("id")],
    }


# Proofs.


def record_of(
    claim: Claim, cites: Iterable[Cite], *, level: str, by: str, approved_by: str | None, at: str
) -> dict[str, Any]:
    """What a commitment is a proof of: the statement, its level, and each piece of evidence with
    its version, words and strength."""
    given = [cite for cite in cites if not cite.is_taken_back]
    names = written({cite.item for cite in given}, claim.tree_id)

    def evidence(cite: Cite) -> dict[str, Any]:
        return {
            "id": cite.uid,
            "item": names[cite.item],
            "version": cite.version,
            "words": cite.words,
            "strength": cite.strength,
            "by_what": cite.reason,
            "answer": cite.answer,
        }

    return {
        "claim": claim.node.local_id,
        "claim_hash": claim.node.hash,
        "statement": claim.node.text,
        "level": level,
        "scope": claim.scope,
        "conclusion": claim.conclusion,
        "evidence": [evidence(cite) for cite in given if cite.side == "for"],
        "counter_evidence": [evidence(cite) for cite in given if cite.side != "for"],
        "compiler": COMPILER,
        "by": by,
        "approved_by": approved_by,
        "at": at,
    }


def hash_of(record: dict[str, Any]) -> str:
    """The SHA-256 of the canonical JSON of a record."""
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@verifies("claim", "Only the commitments of this claim.")
def _verify_claim_of(node: Node) -> dict[str, Any]:
    return verify_claim(claim_of(node))


def verify_claim(claim: Claim) -> dict[str, Any]:
    """The report on the commitments of a claim: each record gives its hash, says what the claim
    and its cites say, and the claim's own node verifies."""
    broken = []
    cites = {cite.uid: cite for cite in Cite.objects.filter(claim=claim)}
    is_whole = bool(verified_among([claim.node]))
    commitments = list(Commitment.objects.filter(claim=claim).order_by("id"))
    for commitment in commitments:
        reason = "" if is_whole else "The statement does not give its hash."
        if not reason and hash_of(commitment.record) != commitment.hash:
            reason = "Its record does not give its hash."
        if not reason and not _agrees(commitment.record, claim, cites):
            reason = "Its evidence is not what was committed."
        if reason:
            broken.append({"node": claim.node.local_id, "reason": reason})
    status = "invalid" if broken or not is_whole else "valid" if commitments else "incomplete"
    counts = {"checked": len(commitments), "imported": 0, "calls": 0, "broken_calls": []}
    return {"status": status, **counts, "broken": broken, "later_versions": []}


def _agrees(record: dict[str, Any], claim: Claim, cites: dict[str, Cite]) -> bool:
    same = (record["statement"], record["claim_hash"]) == (claim.node.text, claim.node.hash)
    every = [*record["evidence"], *record["counter_evidence"]]
    return same and all(
        (kept := cites.get(cite["id"])) is not None
        and (kept.version, kept.words) == (cite["version"], cite["words"])
        for cite in every
    )
