"""What happens to explorations, and what goes with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.engine.event_kinds import Body, Payload, event
from loom.exploring.models import Exploration, ExploredText
from loom.trees.archiving import stops_when_archived
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@event("exploration.changed", stream="tree")
class ExplorationChanged(Payload):
    """An exploration began, went on, or has ended."""

    exploration: Body


@stops_when_archived
def _stop_explorations(tree: Tree, turn: str) -> int:
    """Asks the explorations of a tree to stop: they end without a note when their texts have."""
    Exploration.objects.filter(tree=tree, ended_at__isnull=True).update(stop_asked=True)
    return 0


@erased_with_tree
def _explorations_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """The explorations of an erased tree."""
    return [
        ExploredText.objects.filter(exploration__tree=tree),
        Exploration.objects.filter(tree=tree),
    ]
