"""Links between items."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Item, Tree


class Link(PublicIdentity):
    """A typed link between two items, stored in the tree of its source; a link from a document in
    the tree where it was made. The versions are the revisions of documents when they were linked;
    "" for nodes, which never change, and for trees."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="links")
    type = models.CharField(max_length=40, default="related")
    source = models.ForeignKey(Item, models.PROTECT, related_name="+", db_index=False)
    target = models.ForeignKey(Item, models.PROTECT, related_name="+", db_index=False)
    source_version = models.CharField(max_length=64, blank=True)
    target_version = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True)
    confidence = models.FloatField(null=True)
    by = models.ForeignKey(Participant, models.PROTECT)
    at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["source"], name="link_source"),
            models.Index(fields=["target"], name="link_target"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.type} {self.target_id}"


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
