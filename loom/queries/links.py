"""The links of a tree or of one node, as they are stored, for whoever may see both ends."""

from typing import Any

from django.db.models import Q, QuerySet

from loom.access import Actor, home_of, trees_for
from loom.models import Link, Node, Tree
from loom.queries.items import erased_among, written
from loom.rules import addresses
from loom.rules.hashes import instant


def links_in(actor: Actor, tree: Tree, node: Node | None = None) -> list[Link]:
    """The links that start in a tree, or all that start or end at a node; oldest first. Those
    with an end in a tree the actor may not see are left out; one that was erased is told as
    `erased`."""
    rows = Link.objects.filter(removed_at__isnull=True).select_related("by", "tree")
    if node is None:
        return _seen(actor, rows.filter(tree=tree))
    own = addresses.of_node(node.pk)
    rows = rows.filter(Q(source=own) | Q(target=own), tree__in=trees_for(actor))
    return _seen(actor, rows)


def _seen(actor: Actor, rows: "QuerySet[Link]") -> list[Link]:
    found = list(rows.order_by("id"))
    homes = {link: {home_of(link.source), home_of(link.target)} for link in found}
    asked = {home for ends in homes.values() for home in ends if home is not None}
    seen = set(trees_for(actor).filter(pk__in=asked).values_list("pk", flat=True))
    seen |= erased_among(asked)
    return [link for link in found if homes[link] <= seen]


def link_bodies(links: list[Link], tree: Tree) -> list[dict[str, Any]]:
    """The links as the API shows them; ends as a reader of `tree` names them."""
    named = written((end for link in links for end in (link.source, link.target)), tree.pk)
    return [
        {
            "id": link.uid,
            "tree": link.tree.uid,
            "type": link.type,
            "source": named[link.source],
            "target": named[link.target],
            "note": link.note,
            "confidence": link.confidence,
            "by": link.by.uid,
            "at": instant(link.at),
        }
        for link in links
    ]
