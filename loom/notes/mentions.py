"""Where somebody was mentioned in an annotation with an @, or a claim waits for them, and whether
they have seen it."""

from django.db.models import QuerySet
from django.utils import timezone

from loom import access
from loom.notes.models import Mention
from loom.people.models import User
from loom.platform.prepared_queries import Given, PreparedQuery


def mentions_of(user: User, *, unseen: bool = False) -> "QuerySet[Mention]":
    """The annotations that mention the user and the claims that wait for them, newest first, in
    trees that they may see."""
    rows = Mention.objects.filter(
        participant__user=user, tree__in=access.visible_trees(user), node__version_pruned=False
    )
    rows = rows.filter(seen_at__isnull=True) if unseen else rows
    return rows.select_related("tree", "node__author", "node__parent_slot", "node__claim")


def count_unseen(user: User) -> int:
    """How many mentions the user has not looked at. One query where there are none, which is
    usual: then nobody asks which trees they may see."""
    if not _UNSEEN.first(user=user.pk):
        return 0
    return mentions_of(user, unseen=True).count()


_UNSEEN = PreparedQuery(
    lambda: (
        Mention.objects.filter(participant__user=Given("user"), seen_at__isnull=True)
        .order_by()
        .values_list("pk")[:1]
    )
)


def newest_mentions(user: User, *, most: int) -> list[Mention]:
    """The newest of `mentions_of`. Two queries: texts are read of these alone."""
    rows = mentions_of(user)
    newest = list(rows.values_list("pk", flat=True)[:most])
    return list(rows.filter(pk__in=newest))


def mark_mention_seen(mention: Mention) -> None:
    """Stores that the person has seen where they were mentioned. There is no event."""
    Mention.objects.filter(pk=mention.pk, seen_at__isnull=True).update(seen_at=timezone.now())
