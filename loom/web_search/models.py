"""The search service of a grove, and searches that lines asked for."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant


class SearchService(models.Model):
    """The service with which a grove searches the web: its kind
    (`loom.participants.provider_kinds`), its address if the kind has no default, its key, and the
    price of a search."""

    grove = models.OneToOneField(Grove, models.CASCADE, related_name="search_service")
    kind = models.CharField(max_length=12)
    base_url = models.CharField(max_length=500, blank=True)
    allow_private = models.BooleanField(default=False)  # as a participant's
    sealed_key = models.TextField(blank=True)  # as a participant's
    price = models.BigIntegerField(default=0)  # billionths of a dollar; 0: not known

    def __str__(self) -> str:
        return f"{self.kind} of {self.grove_id}"


class WebSearch(PublicIdentity):
    """A web search started by a line: step `seq` of the workspace, which stores the result. `asks`
    are the arguments of the line; `turn_uid` the turn that waits for it."""

    workspace = models.ForeignKey("trees.Workspace", models.CASCADE, related_name="web_searches")
    seq = models.IntegerField()
    payer = models.ForeignKey(Participant, models.PROTECT, related_name="+", db_index=False)
    turn_uid = models.CharField(max_length=32, blank=True)
    asks = models.JSONField(default=dict)
    status = models.CharField(max_length=8, default="queued")  # queued, running, done or failed
    error = models.JSONField(null=True)
    day = models.DateField()
    spent = models.BigIntegerField(default=0)  # billionths of a dollar
    created_at = models.DateTimeField(auto_now_add=True)
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "seq"], name="web_search_of_a_step")
        ]
        indexes = [
            models.Index(
                fields=["created_at"],
                condition=models.Q(ended_at__isnull=True),
                name="web_search_open",
            ),
        ]

    def __str__(self) -> str:
        return self.uid
