"""Webhooks: where events are sent, and how far they have been."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Tree


class Webhook(PublicIdentity):
    """An address that the events of one stream are sent to, each once it was accepted before the
    next. `tree` None: the stream of the grove. `kinds` are the event kinds that are sent, all if
    empty. `cursor` is the last seq that was accepted or left out. The secrets are encrypted and
    bound to the address; the former one signs, too, until `former_until`. `tries` counts failures
    since the last success."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="webhooks")
    tree = models.ForeignKey(Tree, models.CASCADE, null=True, related_name="webhooks")
    url = models.CharField(max_length=500)
    kinds = models.JSONField(default=list)
    maker = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    sealed_secret = models.TextField()
    sealed_former = models.TextField(blank=True)
    former_until = models.DateTimeField(null=True)
    cursor = models.BigIntegerField(default=0)
    tries = models.IntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)  # of the next try; None: at once
    error = models.CharField(max_length=200, blank=True)
    stopped_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)  # a worker is sending to it
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(stopped_at__isnull=True),
                name="webhook_due",
            )
        ]

    @property
    def stream(self) -> str:
        """The name of the stream whose events are sent."""
        return f"grove:{self.grove.uid}" if self.tree is None else f"tree:{self.tree.uid}"

    def __str__(self) -> str:
        return self.url
