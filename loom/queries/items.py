"""Stored addresses as they are written for a reader: `a7x2`, `tree:ID node:x9y3`, `tree:ID`."""

from collections.abc import Iterable

from loom.models import Tree
from loom.queries.rows import fetch, listed
from loom.rules import addresses

ERASED = "erased"  # what an address names once its tree is gone: shown as broken


def written(stored: Iterable[str], tree_id: int) -> dict[str, str]:
    """Each address as a reference for a reader of the tree with that row id; two queries.

    Who may not see another tree learns its id from this, never its content.
    """
    every = set(stored)
    nodes = {key: one for one in every if (key := addresses.node_id(one)) is not None}
    trees = {key: one for one in every if (key := addresses.tree_id(one)) is not None}
    shown = dict.fromkeys(every, ERASED)
    if nodes:
        sql = f"""SELECT n.id, n.local_id, n.tree_id, t.uid FROM loom_node n
            JOIN loom_tree t ON t.id = n.tree_id AND t.erasing_at IS NULL
            WHERE n.id IN ({listed(nodes)})"""
        for key, local_id, home, uid in fetch(sql):
            here = home == tree_id
            shown[nodes[key]] = local_id if here else f"tree:{uid} node:{local_id}"
    if trees:
        sql = f"""SELECT id, uid FROM loom_tree WHERE erasing_at IS NULL
            AND id IN ({listed(trees)})"""
        shown.update({trees[key]: f"tree:{uid}" for key, uid in fetch(sql)})
    return shown


def erased_among(trees: Iterable[int]) -> set[int]:
    """The row ids of those trees that were erased; one query."""
    every = set(trees)
    here = Tree.objects.filter(pk__in=every, erasing_at__isnull=True)
    return every - set(here.values_list("pk", flat=True))
