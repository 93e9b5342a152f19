"""Which text the main line of a tree is marked to lead through."""

from loom.notes.models import Mark
from loom.trees.models import Node, Tree
from loom.trees.queries.main_line import marks_main_line


def main_mark(tree: Tree) -> Mark | None:
    """The mark of a tree's main line; one query."""
    marks = Mark.objects.filter(tree=tree, kind="main", removed_at__isnull=True)
    return marks.select_related("participant").order_by("-id").first()


@marks_main_line
def marked_node(tree: Tree) -> Node | None:
    """The text that somebody marked, None if nobody did."""
    mark = main_mark(tree)
    return Node.objects.filter(pk=mark.item_id).first() if mark is not None else None
