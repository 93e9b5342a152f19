"""Items: one row for each thing that a step, link, mark or source points at."""

from collections.abc import Iterable

from loom.language import ids
from loom.platform.inserts import insert_rows
from loom.trees.models import Item


def make_items(keys: Iterable[int]) -> None:
    """Makes the items that do not exist yet, so that rows can point at them; one query."""
    rows = []
    for key in sorted(set(keys)):
        node = ids.node_id(key)
        home, kind = ids.home_of(key), "tree" if node is None else "node"
        kind = "document" if ids.document_id(key) is not None else kind
        kind = "trail" if ids.trail_id(key) is not None else kind
        rows.append(Item(id=key, kind=kind, tree_id=home, node_id=node))
    insert_rows(Item, [vars(row) for row in rows], unless_there=True)
