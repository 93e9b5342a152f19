"""The time stamps that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from agents.timestamps.models import StampProgress, TimeStamp
from loom.language.ids import ids_in
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _stamps_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """The stamps of its texts, and how far it was stamped."""
    first, last = ids_in(tree.pk)
    return [
        TimeStamp.objects.filter(node__gte=first, node__lte=last),
        StampProgress.objects.filter(tree=tree),
    ]
