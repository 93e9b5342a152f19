"""Items: one row for each thing that a step, link, mark or source points at."""

from collections.abc import Iterable

from loom.language import ids
from loom.trees.models import Item


def make_items(keys: Iterable[int]) -> None:
    """Makes the items that do not exist yet, so that rows can point at them; one query."""
    rows = []
    for one in sorted(set(keys)):
        node = ids.node_id(one)
        home, kind = ids.home_of(one), "tree" if node is None else "node"
        kind = "document" if ids.document_id(one) is not None else kind
        kind = "trail" if ids.trail_id(one) is not None else kind
        rows.append(Item(id=one, kind=kind, tree_id=home, node_id=node))
    Item.objects.bulk_create(rows, ignore_conflicts=True)
