"""What happens to explorations, and what goes with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.engine.event_kinds import Body, Payload, event
from loom.exploring.models import Exploration, ExploredText
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@event("exploration.changed", stream="tree")
class ExplorationChanged(Payload):
    """An exploration began, went on, or has ended."""

    exploration: Body


@erased_with_tree
def _explorations_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """The explorations of an erased tree."""
    return [
        ExploredText.objects.filter(exploration__tree=tree),
        Exploration.objects.filter(tree=tree),
    ]
