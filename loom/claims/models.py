"""Checks and their results."""

from django.db import models

from loom.documents.models import Document
from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Tree


class Check(PublicIdentity):
    """A rule that texts shall keep, for all texts of a grove, those of a tree, or a document.
    `parameters` as `loom.claims.rules.checks` names them; `on_save`: it runs for each new text.
    `asks` is the agent of a judge."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="checks")
    tree = models.ForeignKey(Tree, models.CASCADE, null=True, related_name="checks")
    document = models.ForeignKey(Document, models.CASCADE, null=True, related_name="checks")
    name = models.CharField(max_length=40)
    name_key = models.CharField(max_length=80)  # the case-folded name
    kind = models.CharField(max_length=12)
    parameters = models.JSONField(default=dict)
    on_save = models.BooleanField(default=False)
    asks = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["grove", "name_key"],
                condition=models.Q(archived_at__isnull=True),
                name="check_name_once",
            )
        ]

    def __str__(self) -> str:
        return self.name


class CheckResult(models.Model):
    """What a check said about an item in one version: the revision of a document, "" for a node,
    which never changes. `item` as in `loom.language.ids`; `outcome` passed, failed, unsure, or
    asked while a judge reads. `call_uid` is the call of a judge."""

    id = models.BigAutoField(primary_key=True)
    rule = models.ForeignKey(Check, models.CASCADE, related_name="results", db_index=False)
    item = models.BigIntegerField()
    version = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=8)
    said = models.CharField(max_length=500, blank=True)
    call_uid = models.CharField(max_length=32, blank=True)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["item", "rule", "version"], name="result_of_a_version_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.item}"
