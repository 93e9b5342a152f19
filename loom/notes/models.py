"""Marks on items: bookmarks and tags, and the text that the main line of a tree leads to."""

from typing import Any

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.notes.tag_keys import tag_key
from loom.people.models import Participant
from loom.trees.models import Item, Node, Tree


class TagKeyField(models.CharField):  # type: ignore[type-arg]  # no generics at run time
    """The `tag_key` of a tag, computed whenever the row is stored whole; empty for other marks.
    Migrations see a CharField."""

    is_computed = True  # by `pre_save`, also for `insert_row`

    def deconstruct(self) -> Any:
        """A CharField."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """The key of the row's label."""
        row: Any = model_instance
        row.label_key = tag_key(row.label) if row.kind == "tag" else ""
        return str(row.label_key)


class Mark(PublicIdentity):
    """A bookmark, tag or read mark on an item; of kind `main`, the text through which the main line
    of its tree leads; of kind `plus` or `minus`, a rating. A removed mark stays as a row."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="marks")
    kind = models.CharField(max_length=8)
    label = models.CharField(max_length=200, blank=True)
    # A letter becomes up to three of them when it is folded.
    label_key = TagKeyField(max_length=600, blank=True, default="", editable=False)
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
            models.Index(
                fields=["label_key", "tree"],
                condition=models.Q(kind="tag", removed_at__isnull=True),
                name="mark_tag",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.label}"


class Decision(models.Model):
    """How a suggestion was decided: `accepted`, `edited` (accepted with another wording) or
    `rejected`; `node` is its first version. Deleted when that is undone. Suggestions that came with
    a file or were decided before there were decisions have none."""

    node = models.OneToOneField(Node, models.CASCADE, primary_key=True, related_name="+")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    decision = models.CharField(max_length=8)

    def __str__(self) -> str:
        return f"{self.node_id} {self.decision}"


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
