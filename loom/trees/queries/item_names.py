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
    homes: dict[int, tuple[str, int]] = {}
    if nodes:
        sql = f"SELECT id, local_id, tree_id FROM trees_node WHERE id IN ({listed(nodes)})"
        homes = {key: (local_id, home) for key, local_id, home in fetch(sql)}
    uids: dict[int, str] = {}
    if asked := {*trees, *(home for _, home in homes.values())} - ({tree_id} - trees.keys()):
        # By itself: joined with nodes, SQLite read all trees for each node where many were new.
        sql = f"""SELECT id, uid FROM trees_tree
            WHERE erasing_at IS NULL AND id IN ({listed(asked)})"""
        uids = dict(fetch(sql))
    shown.update({item: f"tree:{uids[key]}" for key, item in trees.items() if key in uids})
    for key, (local_id, home) in homes.items():
        if home == tree_id:
            shown[key] = local_id
        elif home in uids:
            shown[key] = f"tree:{uids[home]} node:{local_id}"
    return shown
