"""What goes with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.choices.models import Exposure
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _exposures_in(tree: Tree) -> Iterable[QuerySet[Any]]:
    """What was shown of an erased tree."""
    return [Exposure.objects.filter(tree=tree)]
