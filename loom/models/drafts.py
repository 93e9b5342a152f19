"""What a person has typed and not yet made a node of."""

from django.db import models

from loom.models.trees import Node
from loom.models.views import Workspace


class Draft(models.Model):
    """Uncommitted text, each person's own: what will go below a slot (`buffer`), a pending
    wording of it (`edit`), or a note on it (`note`). Ended drafts have no row. `at` tells one
    state from the next."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="drafts")
    slot = models.ForeignKey(Node, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=6)
    text = models.TextField()
    at = models.DateTimeField()
    told_at = models.DateTimeField()  # when the workspace's stream last heard of it

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "slot", "kind"], name="draft_once")
        ]
        indexes = [models.Index(fields=["slot", "kind"], name="draft_at_slot")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.slot_id}"
