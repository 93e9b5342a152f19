"""The evidence of a tree by claim, by source or by strength."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import cite_body, item_named, seen_cites
from loom.claims.queries.records import record_of_cite
from loom.links.queries import written
from loom.trees.models import Tree

GROUPS = ("claim", "source", "strength")
STRENGTHS = ("strong", "moderate", "weak")
CLAIMS = 200  # that changed last
MOST = 1_000  # pieces of evidence
MOST_COUNTED = 10_000  # of which `total` says how many there are


@dataclass(frozen=True)
class EvidenceFilter:
    """Which evidence is asked for: of one claim (a local id), about one item (a local id, or
    `doc:ID`), of one strength. "" leaves nothing out."""

    claim: str = ""
    source: str = ""
    strength: str = ""


def _asked(actor: Actor, tree: Tree, wanted: EvidenceFilter) -> QuerySet[Cite]:
    rows = Cite.objects.filter(claim__tree=tree, claim__node__pruned=False)
    if wanted.claim:
        rows = rows.filter(claim__node__local_id=wanted.claim.lower())
    if wanted.source:
        rows = rows.filter(item=item_named(actor, tree, wanted.source))
    return rows.filter(strength=wanted.strength) if wanted.strength else rows


def grouped(
    actor: Actor, tree: Tree, group: str, wanted: EvidenceFilter | None = None
) -> dict[str, Any]:
    """The evidence that is wanted of the claims that changed last, as far as the actor may see it,
    in groups, as the API carries it: those of the newest evidence first, strengths from strong to
    weak; that of one claim or about one item with its `record`. `total` counts what the filter lets
    through, up to MOST_COUNTED. Seven queries, and one for a filter by source."""
    wanted = wanted or EvidenceFilter()
    in_whole = bool(wanted.claim or wanted.source)
    rows = _asked(actor, tree, wanted)
    claims = Claim.objects.filter(tree=tree).order_by("-changed_at").values_list("pk", flat=True)
    # Not ordered by the database, which would sort all that came before it takes the first.
    some = rows.filter(claim__in=list(claims[:CLAIMS])).select_related(
        "claim__node", "by", "undercuts", "answered_by"
    )
    newest = sorted(some.order_by()[:MOST], key=lambda cite: -cite.pk)
    cites = seen_cites(actor, tree, newest)
    names = written({cite.item for cite in cites}, tree.pk)
    groups: dict[str, list[dict[str, Any]]] = (
        {strength: [] for strength in STRENGTHS} if group == "strength" else {}
    )
    for cite in cites:
        claim = cite.claim.node.local_id
        key = {"claim": claim, "source": names[cite.item], "strength": cite.strength}[group]
        record = record_of_cite(cite, names[cite.item]) if in_whole else None
        body = {**cite_body(cite, names), "claim": claim, "record": record}
        groups.setdefault(key, []).append(body)
    return {
        "accessible": len(cites),
        "total": rows.order_by()[:MOST_COUNTED].count(),
        "groups": [
            {"group": key, "count": len(bodies), "evidence": bodies}
            for key, bodies in groups.items()
            if bodies
        ],
    }
