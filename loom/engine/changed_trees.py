"""The trees that a worker looks at because they may have changed: those with new events, and the
next of all trees in turn, which finds what an event does not show (a lost task, another setting).
So a look costs the same in any number of trees."""

from datetime import timedelta

from django.core.cache import cache
from django.db.models import Max, Q
from django.utils import timezone

from loom.engine.models import Event
from loom.trees.models import Tree

LOOKED_AT = 200  # trees that each look takes in turn
MOST_EVENTS = 5_000  # events that each look reads
OVERLAP = timedelta(seconds=30)


class ChangedTrees:
    """How far somebody who looks for changed trees has come, in the cache under a name."""

    def __init__(self, name: str) -> None:
        self.looked_up_to = f"{name}:looked-up-to"
        self.events_up_to = f"{name}:events-up-to"

    def looked_at(self) -> Q:
        """The trees that this look concerns; the next look goes on behind them."""
        return Q(pk__in=self._next_trees()) | Q(uid__in=self._with_events())

    def _next_trees(self) -> list[int]:
        """The ids of the next `LOOKED_AT` trees, beginning again after the last one."""
        rows = Tree.objects.filter(pk__gt=cache.get(self.looked_up_to) or 0).order_by("pk")
        keys = list(rows.values_list("pk", flat=True)[:LOOKED_AT])
        cache.set(self.looked_up_to, keys[-1] if len(keys) == LOOKED_AT else 0, timeout=None)
        return keys

    def _with_events(self) -> set[str]:
        """The uids of trees with events since the last look. Events of the last `OVERLAP` are read
        again by the next one: a transaction that began earlier may commit later."""
        mark = cache.get(self.events_up_to)
        if mark is None:  # nothing is known of earlier events: all trees are looked at in turn
            mark = Event.objects.aggregate(last=Max("pk"))["last"] or 0
            cache.set(self.events_up_to, mark, timeout=None)
        rows = Event.objects.filter(pk__gt=mark).order_by("pk")
        events = list(rows.values_list("pk", "at", "stream__name")[:MOST_EVENTS])
        settled = timezone.now() - OVERLAP
        passed = [key for key, at, _ in events if at < settled]
        if passed:
            cache.set(self.events_up_to, passed[-1], timeout=None)
        names = {name for _, _, name in events}
        return {name.removeprefix("tree:") for name in names if name.startswith("tree:")}
