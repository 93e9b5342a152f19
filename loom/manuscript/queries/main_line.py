"""Which text the main line of a tree is marked to lead through."""

from loom.notes.models import Mark
from loom.trees.models import Node, Tree
from loom.trees.queries.main_line import MarkedText, marks_main_line


def main_mark(tree: Tree) -> Mark | None:
    """The mark of a tree's main line; one query."""
    marks = Mark.objects.filter(tree=tree, kind="main", removed_at__isnull=True)
    return marks.select_related("participant").order_by("-id").first()


@marks_main_line
def marked_text(tree: Tree) -> MarkedText | None:
    """The text that somebody marked, None if nobody did."""
    mark = main_mark(tree)
    node = Node.objects.filter(pk=mark.item_id).first() if mark is not None else None
    return MarkedText(node, mark.participant) if mark is not None and node is not None else None
