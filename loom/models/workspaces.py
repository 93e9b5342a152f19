"""Each participant's own view of a tree, and the text a person has not yet committed."""

from django.db import models

from loom.models.base import PublicIdentity
from loom.models.groves import Grove, Participant
from loom.models.trees import Node, Tree


class Workspace(PublicIdentity):
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
    """The current version of a slot in one workspace; without a row it is the newest not pruned."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="choices")
    slot = models.ForeignKey(Node, models.CASCADE, related_name="+")
    node = models.ForeignKey(Node, models.CASCADE, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["workspace", "slot"], name="choice_once")]

    def __str__(self) -> str:
        return f"{self.slot_id}: {self.node_id}"


class Saved(PublicIdentity):
    """What somebody keeps by a name: a search, or a preset of samplers. Of one person; or, where
    `participant` is None, of all members of the grove."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="saved")
    participant = models.ForeignKey(Participant, models.CASCADE, null=True, related_name="saved")
    kind = models.CharField(max_length=8)  # search or preset
    name = models.CharField(max_length=100)
    body = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["grove", "participant", "kind", "name"], name="saved_once"
            ),
            models.UniqueConstraint(
                fields=["grove", "kind", "name"],
                condition=models.Q(participant__isnull=True),
                name="saved_of_grove_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name


# What a person has typed and not yet made a node of.


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
