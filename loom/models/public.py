"""Links by which anybody may read one tree."""

from django.db import models

from loom.models.base import Item
from loom.models.groves import Participant
from loom.models.trees import Tree


class PublicLink(Item):
    """Opens one tree for reading, to whoever has it. Only the secret's SHA-256 is kept."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="public_links")
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(Participant, models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"public link to {self.tree_id}"
