"""What goes with an erased tree: its own map, its texts on the map of its grove, and what a model
was sent of them to name regions there."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.landscape.models import Landscape, LandscapeBlock
from loom.text.quotations import GONE
from loom.trees.erased_texts import clears_texts
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree
from loom.turns.models import TITLES, Call, Generation


@erased_with_tree
def _maps_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    return [
        LandscapeBlock.objects.filter(tree=tree),
        Landscape.objects.filter(tree=tree),
    ]


@clears_texts
def _clear_titles(tree: Tree) -> None:
    """Clears the titles of the map of its grove, and the requests for them, which other trees
    keep."""
    maps = Landscape.objects.filter(grove=tree.grove_id, tree__isnull=True)
    uids = list(maps.values_list("uid", flat=True))
    maps.update(titles=[])
    asked = Generation.objects.filter(
        tree__grove=tree.grove_id, round=TITLES, settings__landscape__in=uids
    )
    keys = asked.exclude(tree=tree).values_list("call", flat=True)
    Call.objects.filter(pk__in=[key for key in keys if key]).update(request={"erased": GONE})
