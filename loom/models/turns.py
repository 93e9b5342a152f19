"""Turns: pieces of a loom-aware agent's participation, as a machine whose states are rows."""

from django.db import models

from loom.models.base import Item
from loom.models.groves import Participant
from loom.models.trees import Node, Tree

# The statuses of a turn that goes on, and those in which it has ended.
OPEN_TURN = ("queued", "leased", "assembling", "generating", "executing", "finishing")
ENDED_TURN = ("done", "interrupted", "halted", "failed", "stopped")


class Turn(Item):
    """One turn. `form` is continuation or aside; `invoked_at` the node it was asked at, whose
    slot is leased while it goes on; `stands_at` the node it answers below.

    `rounds` are those that ended, each `{generation, text, prose, results, asks, changed}`;
    `replies` those of the lines of the round in hand that ran; `waits_for` the generations
    that one of its lines started and that have not been told of yet. `extension` is what
    the agent asks its people for: `{steps, why}`.
    """

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="turns")
    participant = models.ForeignKey(Participant, models.PROTECT, related_name="turns")
    invoked_by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    invoked_at = models.ForeignKey(Node, models.PROTECT, related_name="+")
    stands_at = models.ForeignKey(Node, models.PROTECT, related_name="+")
    input_node = models.ForeignKey(Node, models.PROTECT, null=True, related_name="+")
    form = models.CharField(max_length=12, default="continuation")
    status = models.CharField(max_length=12, default="queued")
    stop_asked = models.BooleanField(default=False)
    preset = models.CharField(max_length=12)
    more_steps = models.IntegerField(default=0)  # granted beyond the preset
    extension = models.JSONField(null=True)
    round = models.IntegerField(default=0)
    rounds = models.JSONField(default=list)
    replies = models.JSONField(default=list)
    waits_for = models.JSONField(default=list)
    is_concluding = models.BooleanField(default=False)
    tokens = models.IntegerField(default=0)
    generation = models.ForeignKey("loom.Generation", models.PROTECT, null=True, related_name="+")
    finish = models.CharField(max_length=80, blank=True)
    error = models.JSONField(null=True)
    node = models.ForeignKey(Node, models.PROTECT, null=True, related_name="+")
    lease = models.CharField(max_length=32, blank=True)
    leased_until = models.DateTimeField(null=True)
    moved_at = models.DateTimeField(auto_now_add=True)  # its last progress
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["status"], condition=models.Q(ended_at__isnull=True), name="turn_open"
            ),
        ]

    def __str__(self) -> str:
        return self.uid
