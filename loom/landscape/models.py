"""Maps by meaning: where the texts of a tree or of a grove stand, as one embedder sees them."""

from django.db import models
from django.utils import timezone

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Tree


class Landscape(PublicIdentity):
    """The map of a tree, or (tree None) of all trees of a grove. `status`: waiting, running, done,
    stopped or failed; while it is drawn again, the blocks of before are shown. `done` of 1,000 is
    how far it has come. `revision` counts how often it was drawn, `placed` the texts that found
    their place since then. A worker that draws says so in `moved_at`."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="+")
    tree = models.ForeignKey(Tree, models.CASCADE, null=True, related_name="+")
    embedder = models.CharField(max_length=120)
    status = models.CharField(max_length=8, default="waiting")
    done = models.IntegerField(default=0)
    stop_asked = models.BooleanField(default=False)
    said = models.CharField(max_length=200, blank=True)  # why it failed
    revision = models.IntegerField(default=0)
    placed = models.IntegerField(default=0)
    asked_by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    moved_at = models.DateTimeField(default=timezone.now)
    titles = models.JSONField(default=list)  # by a model, see titling: [level, x, y, title]
    titled = models.IntegerField(default=0)  # how often a model gave titles
    titling = models.CharField(max_length=32, blank=True)  # the generation that was asked last
    drawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tree", "embedder"],
                condition=models.Q(tree__isnull=False),
                name="landscape_of_a_tree_once",
            ),
            models.UniqueConstraint(
                fields=["grove", "embedder"],
                condition=models.Q(tree__isnull=True),
                name="landscape_of_a_grove_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["id"],
                condition=models.Q(status__in=("waiting", "running")),
                name="landscape_open",
            ),
        ]

    def __str__(self) -> str:
        return self.uid

    @property
    def is_open(self) -> bool:
        """Whether it waits for a worker or is being drawn."""
        return self.status in ("waiting", "running")

    def trees(self) -> "models.QuerySet[Tree]":
        """The trees whose texts are on the map, in the order of ids."""
        trees = Tree.objects.filter(grove=self.grove_id, erasing_at__isnull=True).order_by("pk")
        return trees if self.tree_id is None else trees.filter(pk=self.tree_id)


class LandscapeBlock(models.Model):
    """Up to `map_rows.IN_BLOCK` nodes of one tree with their places, packed as `map_rows.ROW` says,
    in the order of their ids; erased with its tree. `surprise` has a byte for each (see
    map_rows.surprise_bytes)."""

    landscape = models.ForeignKey(Landscape, models.CASCADE, related_name="blocks")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    number = models.IntegerField()
    count = models.IntegerField()
    last = models.BigIntegerField()  # the id of its last node
    rows = models.BinaryField()
    surprise = models.BinaryField(default=b"")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["landscape", "tree", "number"], name="landscape_block_once"
            )
        ]

    def __str__(self) -> str:
        return f"block {self.number} of {self.tree_id}"
