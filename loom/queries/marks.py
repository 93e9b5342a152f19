"""The bookmarks and tags of a whole tree."""

from loom.access import Actor
from loom.models import Tree
from loom.queries import items
from loom.queries.rows import fetch

_ON = """SELECT uid, kind, label, item FROM loom_mark
    WHERE tree_id = %s AND kind IN ('bookmark', 'tag') AND removed_at IS NULL ORDER BY id"""


def marks_of(actor: Actor, tree: Tree) -> list[tuple[str, str, str, str]]:
    """(id, kind, label, local id) of what is on nodes of the tree, oldest first. Two queries."""
    rows = fetch(_ON, [tree.pk])
    shown = items.written((item for *_, item in rows), tree.pk)
    return [
        (uid, kind, label, shown[item]) for uid, kind, label, item in rows if item.startswith("n")
    ]
