"""Imports, and the trees in the file of one."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Tree


class Import(PublicIdentity):
    """A file that is being imported as trees, each all or nothing. If it contains several, or a
    text that can be split in several ways, its status is `waiting` until somebody has chosen; the
    choices are in `options`."""

    grove = models.ForeignKey(Grove, models.CASCADE)
    participant = models.ForeignKey(Participant, models.PROTECT)
    name = models.CharField(max_length=300)
    file = models.CharField(max_length=300)
    format = models.CharField(max_length=20, blank=True)
    status = models.CharField(max_length=8, default="queued")
    stop_asked = models.BooleanField(default=False)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    tree = models.ForeignKey(Tree, models.SET_NULL, null=True)
    report = models.JSONField(default=dict)
    error = models.JSONField(null=True)
    options = models.JSONField(default=dict)
    leased_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["status", "created_at"], name="import_by_status")]

    def __str__(self) -> str:
        return self.name


class ImportPart(models.Model):
    """One tree of a file that contains several: listed, then chosen, then done or failed."""

    of = models.ForeignKey(Import, models.CASCADE, related_name="parts")
    number = models.IntegerField()  # its place in the file, from 0
    title = models.CharField(max_length=300, blank=True)
    at = models.DateTimeField(null=True)
    count = models.IntegerField(default=0)  # messages; 0: unknown
    status = models.CharField(max_length=8, default="listed")
    tree = models.ForeignKey(Tree, models.SET_NULL, null=True)
    error = models.JSONField(null=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["of", "number"], name="part_once")]

    def __str__(self) -> str:
        return self.title
