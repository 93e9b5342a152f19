"""Each participant's own view of a tree: where he stands and which versions he reads."""

from django.db import models

from loom.models.base import Item
from loom.models.groves import Participant
from loom.models.trees import Node, Tree


class Workspace(Item):
    """One per participant and tree; survives restarts."""

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="workspaces")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="workspaces")
    position = models.ForeignKey(Node, models.PROTECT, related_name="+")
    last_used = models.ForeignKey(Participant, models.SET_NULL, null=True, related_name="+")
    revision = models.IntegerField(default=0)
    steps_made = models.IntegerField(default=0)
    checkpoint = models.IntegerField(default=0)
    outline = models.JSONField(default=dict)  # as loom.queries.workspaces.outline_of reads it
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "tree"], name="workspace_once")
        ]

    def __str__(self) -> str:
        return self.uid


class VersionChoice(models.Model):
    """The version that stands in a slot for one workspace; none: the newest not pruned."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="choices")
    slot = models.ForeignKey(Node, models.CASCADE, related_name="+")
    node = models.ForeignKey(Node, models.CASCADE, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["workspace", "slot"], name="choice_once")]

    def __str__(self) -> str:
        return f"{self.slot_id}: {self.node_id}"
