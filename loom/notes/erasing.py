"""The marks and mentions that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.notes.models import Mark, Mention
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Mentions and marks."""
    return [Mention.objects.filter(tree=tree), Mark.objects.filter(tree=tree)]
