"""Where somebody was mentioned in an annotation with an @, or a claim waits for them, and whether
they have seen it."""

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from loom import access
from loom.notes.models import Mention
from loom.people.models import User
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.models import Node
from loom.trees.queries.places import hidden_among


def mentions_of(user: User, *, unseen: bool = False) -> "QuerySet[Mention]":
    """The annotations that mention the user and the claims that wait for them, newest first, in
    trees that they may see."""
    rows = Mention.objects.filter(participant__user=user, tree__in=access.visible_trees(user))
    rows = standing(rows.filter(seen_at__isnull=True) if unseen else rows)
    return rows.select_related("tree", "node__author", "node__parent_slot", "node__claim")


def standing(rows: "QuerySet[Mention]") -> "QuerySet[Mention]":
    """Those whose annotation says so still: it was not pruned, and has no newer version. Some may
    be below a pruned text (`shown_of`)."""
    newer = Node.objects.filter(
        slot=OuterRef("node__slot"), id__gt=OuterRef("node_id"), version_pruned=False
    )
    return rows.filter(~Exists(newer), node__version_pruned=False, node__slot__pruned=False)


def shown_of(rows: "QuerySet[Mention]") -> list[int]:
    """The keys of those that are not below a pruned text, in their order; two queries."""
    slots = dict(rows.values_list("pk", "node__slot_id"))
    hidden = hidden_among(slots.values())
    return [key for key, slot in slots.items() if slot not in hidden]


def count_unseen(user: User) -> int:
    """How many mentions the user has not looked at. One query where there are none, which is
    usual: then nobody asks which trees they may see."""
    if not _UNSEEN.first(user=user.pk):
        return 0
    return len(shown_of(mentions_of(user, unseen=True)))


_UNSEEN = PreparedQuery(
    lambda: (
        Mention.objects.filter(participant__user=Given("user"), seen_at__isnull=True)
        .order_by()
        .values_list("pk")[:1]
    )
)


def newest_mentions(user: User, *, most: int) -> list[Mention]:
    """Those of the newest of `mentions_of` that are not below a pruned text. Three queries: texts
    are read of these alone."""
    rows = mentions_of(user)
    return list(rows.filter(pk__in=shown_of(rows[:most])))


def mark_mention_seen(mention: Mention) -> None:
    """Stores that the person has seen where they were mentioned. There is no event."""
    Mention.objects.filter(pk=mention.pk, seen_at__isnull=True).update(seen_at=timezone.now())
