"""What is deleted with an erased tree of what was spent in it; the day of the member keeps it."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.money.models import OtherSpending
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """What was spent in it that no generation says."""
    return [OtherSpending.objects.filter(tree=tree)]
