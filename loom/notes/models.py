"""Marks on items: bookmarks and tags, and the text that the main line of a tree leads to."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Participant
from loom.trees.models import Item, Node, Tree


class Mark(PublicIdentity):
    """A bookmark, tag or read mark on an item; of kind `main`, the text through which the main line
    of its tree leads; of kind `plus` or `minus`, a rating. A removed mark stays as a row."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="marks")
    kind = models.CharField(max_length=8)
    label = models.CharField(max_length=200, blank=True)
    item = models.ForeignKey(Item, models.PROTECT, related_name="+", db_index=False)
    participant = models.ForeignKey(Participant, models.PROTECT)
    at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["item", "kind"], name="mark_item"),
            models.Index(
                fields=["tree"],
                condition=models.Q(kind="main", removed_at__isnull=True),
                name="mark_main",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.label}"


class Mention(models.Model):
    """An annotation that mentions a member with an @, or a claim that waits for them to commit it;
    `seen_at`: when they looked at its tree; `mailed_at`: when they were written to about it."""

    id = models.BigAutoField(primary_key=True)
    participant = models.ForeignKey(Participant, models.CASCADE, related_name="mentions")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="mentions")
    node = models.ForeignKey(Node, models.CASCADE, related_name="+")
    at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["at"],
                condition=models.Q(seen_at__isnull=True, mailed_at__isnull=True),
                name="mention_unmailed",
            ),
            models.Index(
                fields=["participant"],
                condition=models.Q(seen_at__isnull=True),
                name="mention_unseen",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.node_id} names {self.participant_id}"
