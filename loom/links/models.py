"""Links between items."""

from django.db import models
from django.db.models.functions import Lower

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Item, Tree


class Link(PublicIdentity):
    """A typed link between two items, stored in the tree of its source; a link from a document in
    the tree where it was made. The versions are the revisions of documents when they were linked;
    "" for nodes, which never change, and for trees.

    A link belongs to a place: `source_slot` and `target_slot` are the slots of ends that are nodes
    (the items themselves otherwise), so that later wordings have it too; `source` and `target` say
    on which wordings it was made, and `words` which words of the source it stands on."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="links")
    type = models.CharField(max_length=40, default="related")
    source = models.ForeignKey(Item, models.PROTECT, related_name="+", db_index=False)
    target = models.ForeignKey(Item, models.PROTECT, related_name="+", db_index=False)
    source_slot = models.BigIntegerField(default=0)
    target_slot = models.BigIntegerField(default=0)
    source_version = models.CharField(max_length=64, blank=True)
    target_version = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True)
    words = models.TextField(blank=True)
    confidence = models.FloatField(null=True)
    by = models.ForeignKey(Participant, models.PROTECT, db_index=False)
    at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["source", "target_slot", "type"], name="link_source_pair"),
            models.Index(fields=["target", "source_slot", "type"], name="link_target_pair"),
            models.Index(fields=["source_slot", "type", "id"], name="link_from"),
            models.Index(fields=["target_slot", "type", "id"], name="link_to"),
            models.Index(fields=["by", "id"], name="link_by"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.type} {self.target_id}"


class LinkCount(models.Model):
    """How many links of one type a place has in one direction to items of one tree: what the foot
    of an item is made of, however many links it has. `slot` as in a Link; `home` is the row id of
    the tree of the other ends, 0 for documents; `grove` is that of the links, whose types they
    are; `last` is one of the links, `targets` how many different items the other ends are, and
    `pruned` how many of these are pruned. Who sees
    them is decided when they are read."""

    slot = models.BigIntegerField()
    type = models.CharField(max_length=40)
    outward = models.BooleanField()
    grove = models.ForeignKey(Grove, models.CASCADE, related_name="+", db_index=False)
    home = models.BigIntegerField()
    count = models.IntegerField()
    targets = models.IntegerField(default=0)
    pruned = models.IntegerField(default=0)
    last = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slot", "type", "outward", "grove", "home"], name="link_count_once"
            )
        ]
        indexes = [models.Index(fields=["home"], name="link_count_home")]

    def __str__(self) -> str:
        return f"{self.slot} {self.type}: {self.count}"


class LinkType(PublicIdentity):
    """A link type of a grove (`loom.links.link_types.Type`). A new grove begins with the standard
    list. `key` is what links store; it stays when the type is renamed."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="link_types")
    key = models.CharField(max_length=40)
    name = models.CharField(max_length=40)
    reverse = models.CharField(max_length=40)
    group = models.CharField(max_length=16, default="semantic")
    colour = models.CharField(max_length=16, blank=True)
    archetypes = models.JSONField(default=list)  # that see it
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["grove", "key"], name="link_type_key_once"),
            models.UniqueConstraint(fields=["grove", "name"], name="link_type_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Trail(PublicIdentity):
    """A way that somebody took through items, kept under a name. A private one is its owner's
    alone; a shared one may be read by the members of the grove, each as far as they may read what
    it leads to. `steps` as `loom.links.trail_steps.TrailStep` reads them."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="trails")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="trails")
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(Participant, models.PROTECT, related_name="trails")
    forked_from = models.ForeignKey("self", models.SET_NULL, null=True, related_name="forks")
    shared = models.BooleanField(default=False)
    steps = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint("grove", Lower("name"), name="trail_name_once"),
        ]

    def __str__(self) -> str:
        return self.name
