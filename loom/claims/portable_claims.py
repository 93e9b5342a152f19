"""The claims of a tree in a file of Heddle's own format, each with the evidence that lies in the
tree. What comes with a file proves nothing: an import opens each as a hypothesis, and its evidence
is weighed here. No commitment is restored, and no veto."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from loom.access import Actor
from loom.claims.commands.claims import (
    MAX_STATEMENT,
    MAX_WHY,
    MOST_CITES,
    SIDES,
    place_of_part,
    reweigh,
)
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import brief_body, key_of, seen_cites
from loom.claims.rules import quotes
from loom.claims.rules.levels import State
from loom.engine import streams
from loom.engine.items import make_items
from loom.engine.streams import Writer
from loom.language import ids
from loom.language.refs import ParseError
from loom.links.commands.counting import count_added
from loom.links.commands.links import link_body
from loom.links.models import Link
from loom.links.queries import slots_of, written
from loom.people.models import Participant
from loom.text.counts import counted
from loom.text.hashes import instant
from loom.trees.feature_parts import FeaturePart, PartLoss, StoredPart, fitting
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import nodes_in

LARGEST = 2_000_000  # characters of all claims of a file together
BATCH = 50  # claims that are written together
MOST = 100_000  # claims of a file that are read

Name = Annotated[str, Field(max_length=80)]


class EvidencePart(BaseModel):
    """A node (`item`) that is cited, on which side, with its words: a quote that was looked up, or
    those of a `part`. `of` is the number of the evidence that it undercuts, from 0."""

    model_config = ConfigDict(extra="forbid")
    item: Annotated[str, Field(max_length=8)]
    side: Literal["for", "against", "undercuts"]
    why: Annotated[str, Field(max_length=MAX_WHY)] = ""
    part: Name = ""
    words: Annotated[str, Field(max_length=quotes.MOST)] = ""
    is_quote: bool = False
    of: Annotated[int, Field(ge=0, lt=MOST_CITES)] | None = None
    answer: Annotated[str, Field(max_length=MAX_WHY)] = ""
    at: AwareDatetime | None = None


class ClaimPart(BaseModel):
    """A claim, by its node (`id`). `elsewhere` is how many pieces of its evidence lie outside of
    the tree, and `commitments` how many it had; both are not in the file."""

    model_config = ConfigDict(extra="forbid")
    id: Annotated[str, Field(max_length=8)]
    state: State = "hypothesis"
    scope: Literal["node", "tree", "grove"] = "node"
    about: Name = ""
    test: Annotated[str, Field(max_length=MAX_STATEMENT)] = ""
    conclusion: Annotated[str, Field(max_length=MAX_STATEMENT)] = ""
    why: Annotated[str, Field(max_length=MAX_WHY)] = ""
    commitments: Annotated[int, Field(ge=0)] = 0
    vetoes: Annotated[int, Field(ge=0)] = 0
    elsewhere: Annotated[int, Field(ge=0)] = 0
    evidence: Annotated[list[EvidencePart], Field(max_length=MOST_CITES)] = []


_PART = TypeAdapter(ClaimPart)


# Writing.


class AboutItem(NamedTuple):
    """What a claim is about, as an item that is seen or not."""

    item: int


def write(actor: Actor, tree: Tree) -> list[dict[str, Any]] | None:
    """The claims of a tree, as far as the actor may see what they are about and cite; None if there
    are none. Those that are too many for the file are left out. At most six queries for every
    fifty."""
    return fitting(_parts_of(actor, tree), LARGEST)


def _parts_of(actor: Actor, tree: Tree) -> Iterator[dict[str, Any]]:
    vetoed = Count("commitments", filter=Q(commitments__vetoed_by__isnull=False))
    rows = Claim.objects.filter(tree=tree).select_related("node").order_by("pk")
    rows = rows.annotate(commits=Count("commitments"), vetoes=vetoed)
    claims = list(rows[:BATCH])
    while claims:
        yield from _written(actor, tree, claims)
        is_last = len(claims) < BATCH
        claims = [] if is_last else list(rows.filter(pk__gt=claims[-1].pk)[:BATCH])


def _written(actor: Actor, tree: Tree, claims: Sequence[Claim]) -> Iterator[dict[str, Any]]:
    cites: dict[int, list[Cite]] = defaultdict(list)
    for cite in Cite.objects.filter(claim__in=claims).order_by("id"):
        cites[cite.claim_id].append(cite)
    abouts = [AboutItem(claim.about) for claim in claims if claim.about is not None]
    seen = {subject.item for subject in seen_cites(actor, tree, abouts)}
    items = {cite.item for every in cites.values() for cite in every if _is_here(cite, tree)}
    own = f"tree:{tree.uid}"
    names = {
        item: "tree" if name == own else name
        for item, name in written(items | seen, tree.pk).items()
    }
    for claim in claims:
        here = [cite for cite in cites[claim.pk] if _is_here(cite, tree)]
        part = {
            "id": claim.node.local_id,
            "state": claim.state,
            "scope": claim.scope,
            "about": names[claim.about] if claim.about in seen else "",
            "test": claim.test,
            "conclusion": claim.conclusion,
            "why": claim.why,
            "commitments": claim.commits,  # type: ignore[attr-defined]
            "vetoes": claim.vetoes,  # type: ignore[attr-defined]
            "elsewhere": len(cites[claim.pk]) - len(here),
            "evidence": [_evidence(cite, here, names) for cite in here],
        }
        yield _without_empty(part)


def _is_here(cite: Cite, tree: Tree) -> bool:
    return ids.node_id(cite.item) is not None and ids.home_of(cite.item) == tree.pk


def _evidence(cite: Cite, every: Sequence[Cite], names: Mapping[int, str]) -> dict[str, Any]:
    places = {other.pk: place for place, other in enumerate(every)}
    part = {
        "item": names[cite.item],
        "side": cite.side,
        "why": cite.why,
        "part": cite.part,
        "words": cite.words,
        "is_quote": bool(cite.gate),
        "of": places.get(cite.undercuts_id or 0),
        "answer": cite.answer,
        "at": instant(cite.at),
    }
    return _without_empty(part)


def _without_empty(part: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have not their default; 0 may be the place of a piece of evidence."""
    return {
        name: value
        for name, value in part.items()
        if value not in ("", None, False, []) or (name == "of" and value is not None)
    }


# Reading.


def read(tree: Tree, value: Any, by: Participant) -> StoredPart:
    """Opens the claims of a file in a new tree, as hypotheses of whoever wrote their nodes; those
    that were withdrawn stay so. What cannot be read is left out."""
    if not isinstance(value, list):
        return StoredPart(left_out=("the records of claims, which cannot be read",))
    batches = [_open(tree, parts, by) for parts in _batches(_parts_in(value))]
    opened, uncited = (sum(counts) for counts in zip(*batches, strict=True)) if batches else (0, 0)
    left_out = []
    if lost := len(value) - opened:
        left_out.append(
            f"{counted(lost, 'record')} of claims that cannot be read or are of no claim"
        )
    if uncited:
        pieces = counted(uncited, "piece of evidence", "pieces of evidence")
        left_out.append(f"{pieces} at no other text of the tree")
    return StoredPart(opened, tuple(left_out))


def _batches(parts: Iterable[ClaimPart]) -> Iterator[list[ClaimPart]]:
    """The claims in batches that together have about MOST_CITES pieces of evidence at most."""
    batch: list[ClaimPart] = []
    size = 0
    for part in parts:
        if batch and size + len(part.evidence) > MOST_CITES:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += 1 + len(part.evidence)
    if batch:
        yield batch


def _parts_in(value: Any) -> list[ClaimPart]:
    parts: dict[str, ClaimPart] = {}
    for given in value[:MOST] if isinstance(value, list) else ():
        try:
            part = _PART.validate_python(given)
        except ValidationError:
            continue
        parts.setdefault(part.id, part)
    return list(parts.values())


@transaction.atomic
def _open(tree: Tree, parts: Sequence[ClaimPart], by: Participant) -> tuple[int, int]:
    """Opens some claims; returns how many, and how much of their evidence was left out."""
    writer = streams.lock(tree, actor=by.uid)
    opening = _Opening(tree, writer, by, parts)
    for part in parts:
        opening.open(part)
    writer.flush(many=True)
    return opening.opened, opening.uncited


class _Opening:
    """Claims being opened, a batch at a time: the nodes that they name, and the links of a file
    that their evidence goes on with."""

    def __init__(
        self, tree: Tree, writer: Writer, by: Participant, parts: Sequence[ClaimPart]
    ) -> None:
        self.tree, self.writer, self.by = tree, writer, by
        self.opened = 0
        self.uncited = 0  # pieces of evidence that were left out
        self.now = timezone.now()
        names = {part.id for part in parts} | {part.about for part in parts}
        names |= {cited.item for part in parts for cited in part.evidence}
        rows = Node.objects.filter(tree=tree, local_id__in=names).select_related("author")
        self.nodes = {node.local_id: node for node in rows}
        claims = [node.pk for part in parts if (node := self.nodes.get(part.id)) is not None]
        links = Link.objects.filter(tree=tree, target_id__in=claims, removed_at__isnull=True)
        self.links: dict[tuple[int, int, str], list[Link]] = defaultdict(list)
        for link in links.filter(type__in=SIDES.values()).order_by("-id"):
            self.links[link.source_id, link.target_id, link.type].append(link)

    def open(self, part: ClaimPart) -> None:
        """Opens one claim with its evidence, unless its node is none."""
        node = self.nodes.get(part.id)
        if node is None or not _is_claim(node):
            return
        is_withdrawn = part.state == "withdrawn"
        claim = _new_claim(self.tree, node, self.by, self.now)
        claim.about, claim.scope, claim.test = self._about(part.about), part.scope, part.test
        if is_withdrawn:
            claim.state, claim.why = "withdrawn", part.why
        claim.save(force_insert=True)
        self._cite(claim, part.evidence)
        reweigh(claim)
        claim.save()
        self.writer.append("claim.changed", {"claim": brief_body(claim)})
        self.opened += 1

    def _about(self, name: str) -> int | None:
        if name == "tree":
            return ids.of_tree(self.tree.pk)
        if name.startswith("doc:"):
            return grove_texts().item_of(self.tree.grove_id, name[4:])
        node = self.nodes.get(name)
        return ids.of_node(node.pk) if node is not None else None

    def _cite(self, claim: Claim, evidence: Sequence[EvidencePart]) -> None:
        """Stores the evidence of a claim as given by its claimant, so that no file can confirm it
        in the name of somebody else."""
        given: dict[int, Cite] = {}
        for place, part in enumerate(evidence):
            node = self.nodes.get(part.item)
            if node is not None and node.pk != claim.pk and part.side in SIDES:
                given[place] = self._new_cite(claim, part, node)
                given[place].link = self._link(claim, given[place])
        Cite.objects.bulk_create(given.values())
        undercutting = []
        for part in evidence:
            node, target = self.nodes.get(part.item), given.get(-1 if part.of is None else part.of)
            if node is not None and target is not None and part.side == "undercuts":
                cite = self._new_cite(claim, part, node)
                cite.undercuts = target
                undercutting.append(cite)
        Cite.objects.bulk_create(undercutting)
        self.uncited += len(evidence) - len(given) - len(undercutting)

    def _new_cite(self, claim: Claim, part: EvidencePart, node: Node) -> Cite:
        cite = Cite(
            claim=claim,
            item=ids.of_node(node.pk),
            side=part.side,
            part=part.part,
            why=part.why,
            answer=part.answer,
            answered_by=claim.by if part.answer else None,
            answered_at=self.now if part.answer else None,
            by=claim.by,
            at=part.at or self.now,
        )
        _quote(cite, part, node.text)
        return cite

    def _link(self, claim: Claim, cite: Cite) -> Link:
        """The link that came with a file for a piece of evidence; a new one if there is none."""
        kind, target = SIDES[cite.side], ids.of_node(claim.pk)
        if known := self.links[cite.item, target, kind]:
            return known.pop()
        make_items([cite.item, target])
        slots = slots_of([cite.item, target])
        link = Link.objects.create(
            tree=self.tree,
            type=kind,
            source_id=cite.item,
            target_id=target,
            source_slot=slots[cite.item],
            target_slot=slots[target],
            note=cite.why,
            by=claim.by,
            at=cite.at,
        )
        count_added(link, self.tree.grove_id)
        names = written([cite.item, target], self.tree.pk)
        body = link_body(link, names[cite.item], names[target])
        self.writer.append("link.added", {"link": body})
        return link


def _quote(cite: Cite, part: EvidencePart, text: str) -> None:
    """Looks the words of a cite up in the text again, whatever the file says of them."""
    try:
        place = place_of_part(text, part.part)
    except ParseError:
        place, cite.part = None, ""
    if part.is_quote:
        start, end = (0, len(text)) if place is None else (place.first, place.last)
        verdict = quotes.judged(part.words, text[start:end], [])
        cite.gate, cite.words = verdict.answer, part.words
        place = None
        if verdict.answer == "found" and verdict.place is not None:
            place = quotes.QuotePlace(start + verdict.place.first, start + verdict.place.last)
    if place is not None:
        cite.first, cite.last = place.first, place.last
        cite.before, words, cite.after = quotes.around(text, place)
        cite.words = words[: quotes.MOST]


def _is_claim(node: Node) -> bool:
    return node.kind == "claim" and node.slot_id == node.pk


def _new_claim(tree: Tree, node: Node, by: Participant, now: datetime) -> Claim:
    return Claim(
        node=node,
        tree=tree,
        statement_key=key_of(node.text),
        by=node.author,
        person=by,
        at=node.created_at,
        changed_at=now,
    )


# What a file of its own says nothing of.


def complete(tree: Tree, value: Any, by: Participant) -> list[str]:
    """Opens the claims of a new tree that came without a record, as hypotheses without evidence;
    returns what of the claims of a file was left out."""
    bare = _open_bare(tree, by)
    parts = _parts_in(value)
    opened = set(Claim.objects.filter(tree=tree).values_list("node__local_id", flat=True))
    here = [part for part in parts if part.id in opened]
    committed = sum(part.commitments > 0 for part in here)
    vetoed = sum(part.vetoes > 0 for part in here)
    concluded = sum(bool(part.conclusion) and not part.commitments for part in here)
    elsewhere = sum(part.elsewhere for part in here)
    said = []
    if committed:
        vetoes = f", {vetoed:,} of them vetoed" if vetoed else ""
        said.append(f"commitments of {_claims(committed)}{vetoes}: {_again(committed)}")
    if concluded:
        said.append(f"conclusions of {_claims(concluded)}: {_again(concluded)}")
    if elsewhere:
        pieces = counted(elsewhere, "piece of evidence", "pieces of evidence")
        said.append(f"{pieces} of claims that lies outside of the tree")
    if bare:
        said.append(f"evidence of {_claims(bare)}, of which the file says nothing")
    return said


def _open_bare(tree: Tree, by: Participant) -> int:
    rows = nodes_in(tree.pk).filter(kind="claim", slot=F("pk"), claim__isnull=True)
    nodes = list(rows.select_related("author").order_by("pk"))
    if nodes:
        with transaction.atomic():
            _open_all(tree, nodes, by)
    return len(nodes)


def _open_all(tree: Tree, nodes: Iterable[Node], by: Participant) -> None:
    writer, now = streams.lock(tree, actor=by.uid), timezone.now()
    for node in nodes:
        claim = _new_claim(tree, node, by, now)
        claim.save(force_insert=True)
        writer.append("claim.changed", {"claim": brief_body(claim)})
    writer.flush(many=True)


def _claims(many: int) -> str:
    return counted(many, "claim")


def _again(many: int) -> str:
    return "it begins again as a hypothesis" if many == 1 else "they begin again as hypotheses"


def losses(_: Actor, tree: Tree) -> list[PartLoss]:
    """What a file in Heddle's own format does not keep of the claims of a tree."""
    many = Claim.objects.filter(tree=tree).exclude(level="").count()
    if not many:
        return []
    noun = "commitment" if many == 1 else "commitments"
    return [PartLoss("commitments", many, f"{noun} of {_claims(many)}: {_again(many)}")]


PART = FeaturePart(write, read, complete, losses)
