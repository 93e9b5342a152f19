"""The evidence of a tree by claim, by source or by strength."""

from typing import Any

from loom.access import Actor
from loom.claims.models import Cite
from loom.claims.queries.claims import cite_body, seen_cites
from loom.links.queries import written
from loom.trees.models import Tree

GROUPS = ("claim", "source", "strength")
STRENGTHS = ("strong", "moderate", "weak")
MOST = 1_000  # pieces of evidence


def grouped(actor: Actor, tree: Tree, group: str) -> dict[str, Any]:
    """The newest evidence that the actor may see in groups, as the API carries it: those of the
    newest evidence first, strengths from strong to weak. Six queries."""
    rows = Cite.objects.filter(claim__tree=tree, claim__node__pruned=False)
    newest = rows.select_related("claim__node", "by", "undercuts").order_by("-id")[:MOST]
    cites = seen_cites(actor, tree, list(newest))
    names = written({one.item for one in cites}, tree.pk)
    groups: dict[str, list[dict[str, Any]]] = (
        {one: [] for one in STRENGTHS} if group == "strength" else {}
    )
    for one in cites:
        claim = one.claim.node.local_id
        key = {"claim": claim, "source": names[one.item], "strength": one.strength}[group]
        groups.setdefault(key, []).append({**cite_body(one, names), "claim": claim})
    return {
        "accessible": len(cites),
        "total": rows.count(),
        "groups": [
            {"group": key, "count": len(found), "evidence": found}
            for key, found in groups.items()
            if found
        ],
    }
