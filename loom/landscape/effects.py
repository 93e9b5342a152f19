"""What goes with an erased tree: its own map, and its texts on the map of its grove."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.landscape.models import Landscape, LandscapeBlock
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _maps_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    return [
        LandscapeBlock.objects.filter(tree=tree),
        Landscape.objects.filter(tree=tree),
    ]
