"""Time stamps of texts, and how far each tree is stamped."""

from urllib.parse import urlsplit

from django.db import models

from loom.trees.models import Node, Tree

REPLY = "application/timestamp-reply"  # what an answer is


def host_of(address: str) -> str:
    """The host of an authority, as people read it."""
    return urlsplit(address).netloc


class TimeStamp(models.Model):
    """What an authority answered for the hash of a version: a signed statement that the hash was
    known at `at`. It speaks for all versions on which this one was built, as their hashes are in
    its own: `first` and `last` are the ids between which those are that it was asked for."""

    node = models.OneToOneField(Node, models.CASCADE, related_name="+")
    authority = models.CharField(max_length=500)  # its address
    at = models.DateTimeField()
    answer = models.BinaryField()  # the TimeStampResp, as it came
    first = models.BigIntegerField()
    last = models.BigIntegerField()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["last", "node"], name="time_stamp_by_last")]

    @property
    def host(self) -> str:
        """The host of the authority, as people read it."""
        return host_of(self.authority)

    def __str__(self) -> str:
        return f"{self.node_id} at {self.at}"


class StampProgress(models.Model):
    """How far a tree is stamped: `last` is the id of the newest version that was looked at, and
    `seen_at` the time of the tree's last change that was taken in. `error` says why the last
    attempt failed."""

    tree = models.OneToOneField(Tree, models.CASCADE, related_name="+")
    last = models.BigIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.tree_id} up to {self.last}"
