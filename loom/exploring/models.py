"""Explorations: trees that grow by themselves within a budget, and what was thought of each."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Participant
from loom.trees.models import Node, Tree


class Exploration(PublicIdentity):
    """One exploration, from `point` on. In each of `depth` rounds `agent` writes `n` texts below
    each text of the `frontier`, of which `keep` are kept, chosen `by` judge, check, taste or
    variety; the last kept ones are where the next round begins.

    `phase` is what the worker does next: plan, ask, texts, judge, ratings, choose, sum. `plan` is
    what a round asks for: (version, how many) for each text of the frontier; it is stored before
    the first call, so that a worker that takes over asks for the same. `most_steps` (calls of
    models), `most_tokens` and `most_money` (billionths of a dollar, None: no limit of its own) are
    the budget. `scope` is that of the API key that started it. `begun_by` is the agent whose line
    began it for the person who asked that agent, in the `turn` (its uid, "": in none).
    """

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    point = models.ForeignKey(Node, models.CASCADE, related_name="+")
    asked_by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    agent = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    judge = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    begun_by = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    turn = models.CharField(max_length=32, blank=True, default="")
    scope = models.CharField(max_length=8, default="owner")
    n = models.IntegerField()
    depth = models.IntegerField()
    keep = models.IntegerField()
    by = models.CharField(max_length=8)
    goal = models.CharField(max_length=1000, blank=True)
    length = models.IntegerField()  # tokens of a text at most
    most_steps = models.IntegerField()
    most_tokens = models.IntegerField()
    most_money = models.BigIntegerField(null=True)
    status = models.CharField(max_length=8, default="running")  # done, stopped, failed
    phase = models.CharField(max_length=8, default="plan")
    round = models.IntegerField(default=0)  # rounds that are complete
    frontier = models.JSONField(default=list)
    plan = models.JSONField(default=list)
    stop_asked = models.BooleanField(default=False)
    said = models.CharField(max_length=300, blank=True)  # why it ended before its last round
    note = models.ForeignKey(Node, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["id"],
                condition=models.Q(ended_at__isnull=True),
                name="exploration_open",
            ),
            models.Index(fields=["turn"], condition=~models.Q(turn=""), name="exploration_of_turn"),
        ]

    def __str__(self) -> str:
        return self.uid


class ExploredText(models.Model):
    """A text that an exploration asked for: its generation, the node that it became (None: it
    failed, or is being written), what the judge answered, and whether it is kept (None: not
    decided). Texts that are not kept are folded where candidates are shown, never pruned."""

    exploration = models.ForeignKey(Exploration, models.CASCADE, related_name="texts")
    round = models.IntegerField()
    point = models.ForeignKey(Node, models.CASCADE, related_name="+")
    generation = models.CharField(max_length=32, unique=True)
    node = models.ForeignKey(Node, models.CASCADE, null=True, related_name="+")
    judged_by = models.CharField(max_length=32, blank=True)  # the generation of the judge
    score = models.FloatField(null=True)
    reason = models.CharField(max_length=300, blank=True)
    is_kept = models.BooleanField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.generation} of {self.exploration_id}"
