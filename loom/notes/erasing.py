"""The marks, mentions and decisions that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.notes.models import Decision, Mark, Mention
from loom.trees.erasing import erased_with_tree, heir_of
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Decisions, mentions and marks; marks on documents stay, in another tree."""
    if (heir := heir_of(tree)) is not None:
        Mark.objects.filter(tree=tree, item__kind="document").update(tree=heir)
    return [kind.objects.filter(tree=tree) for kind in (Decision, Mention, Mark)]
