"""The evidence of a tree by claim, by source or by strength."""

from typing import Any

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import cite_body, seen_cites
from loom.links.queries import written
from loom.trees.models import Tree

GROUPS = ("claim", "source", "strength")
STRENGTHS = ("strong", "moderate", "weak")
CLAIMS = 200  # that changed last
MOST = 1_000  # pieces of evidence


def grouped(actor: Actor, tree: Tree, group: str) -> dict[str, Any]:
    """The evidence of the claims that changed last, as far as the actor may see it, in groups, as
    the API carries it: those of the newest evidence first, strengths from strong to weak. Seven
    queries."""
    rows = Cite.objects.filter(claim__tree=tree, claim__node__pruned=False)
    claims = Claim.objects.filter(tree=tree).order_by("-changed_at").values_list("pk", flat=True)
    # Not ordered by the database, which would sort all that came before it takes the first.
    some = rows.filter(claim__in=list(claims[:CLAIMS])).select_related(
        "claim__node", "by", "undercuts"
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
        groups.setdefault(key, []).append({**cite_body(cite, names), "claim": claim})
    return {
        "accessible": len(cites),
        "total": rows.count(),
        "groups": [
            {"group": key, "count": len(bodies), "evidence": bodies}
            for key, bodies in groups.items()
            if bodies
        ],
    }
