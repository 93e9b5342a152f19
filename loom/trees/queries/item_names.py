"""How items are named for a reader, and what is said of those that are gone."""

from collections.abc import Iterable

from loom.language import ids
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree
from loom.trees.queries.lookup import fetch, listed

PRUNED = "pruned"  # what is said of an item that was pruned
ERASED = "erased"  # the name of an item whose tree is gone: shown as broken


def erased_among(trees: Iterable[int]) -> set[int]:
    """Which of those trees were erased; one query."""
    every = set(trees)
    here = Tree.objects.filter(pk__in=every, erasing_at__isnull=True)
    return every - set(here.values_list("pk", flat=True))


def item_names(stored: Iterable[int], tree_id: int) -> dict[int, str]:
    """Each node, tree or text of the grove as a reference for a reader of the tree with that row
    id; two queries.

    A reader who may not see another tree gets its id, never its content.
    """
    every = set(stored)
    nodes = {item for item in every if ids.node_id(item) is not None}
    trees = {key: item for item in every if (key := ids.tree_id(item)) is not None}
    shown = dict.fromkeys(every, ERASED)
    shown.update(grove_texts().names(every))
    if nodes:
        sql = f"""SELECT n.id, n.local_id, n.tree_id, t.uid FROM trees_node n
            JOIN trees_tree t ON t.id = n.tree_id AND t.erasing_at IS NULL
            WHERE n.id IN ({listed(nodes)})"""
        for key, local_id, home, uid in fetch(sql):
            here = home == tree_id
            shown[key] = local_id if here else f"tree:{uid} node:{local_id}"
    if trees:
        sql = f"""SELECT id, uid FROM trees_tree WHERE erasing_at IS NULL
            AND id IN ({listed(trees)})"""
        shown.update({trees[key]: f"tree:{uid}" for key, uid in fetch(sql)})
    return shown
