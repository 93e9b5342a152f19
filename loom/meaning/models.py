"""Vectors of texts: one for each text of a tree, and blocks of them in which a search reads."""

from urllib.parse import urlsplit

from django.db import models

from loom.people.models import Grove, Participant
from loom.trees.models import Tree


class TextVector(models.Model):
    """The vector of a text, by the SHA-256 of the text and the name of the embedder, so that no
    text of a tree is sent to an embedder twice. It belongs to the tree and is erased with it."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    embedder = models.CharField(max_length=120)
    digest = models.CharField(max_length=64)
    vector = models.BinaryField()  # signed bytes, scaled so that the largest is 127

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tree", "embedder", "digest"], name="vector_of_a_text_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.digest[:8]} by {self.embedder}"


class VectorBlock(models.Model):
    """Up to `rules.IN_BLOCK` versions of one tree with their vectors, packed as `rules.row_type`
    says, in the order of their ids: a search reads few long rows instead of many short ones."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    embedder = models.CharField(max_length=120)
    number = models.IntegerField()
    count = models.IntegerField()
    rows = models.BinaryField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tree", "embedder", "number"], name="vector_block_once")
        ]

    def __str__(self) -> str:
        return f"block {self.number} of {self.tree_id}"


class VectorState(models.Model):
    """How far a tree is indexed: `last` is the id of the newest version that was looked at, and
    `seen_at` the time of the tree's last change that was taken in."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    embedder = models.CharField(max_length=120)
    last = models.BigIntegerField(default=0)
    count = models.IntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tree", "embedder"], name="vector_state_once")
        ]

    def __str__(self) -> str:
        return f"{self.tree_id} up to {self.last}"


class TextScore(models.Model):
    """How likely a model found each token of a text that it did not write, by the SHA-256 of the
    text and the name of the model; packed as `tokens.packed_tokens` says. It belongs to the tree
    and is erased with it. `agent` was asked."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    model = models.CharField(max_length=120)
    agent = models.ForeignKey(Participant, models.CASCADE, related_name="+")
    tokens = models.BinaryField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tree", "digest", "model"], name="score_of_a_text_once")
        ]

    def __str__(self) -> str:
        return f"{self.digest[:8]} by {self.model}"


class EmbedderSettings(models.Model):
    """How a grove gets its vectors: from the embedded embedder (`model` is ""), or from an endpoint
    of a provider, `price` of which is in billionths of a dollar for a million tokens. `payer` is
    the owner who chose it: what it costs counts towards their day. `dimensions` are those of its
    first answer (0: none yet). `is_stopped`: no vectors are made until an owner goes on."""

    grove = models.OneToOneField(Grove, models.CASCADE, related_name="+")
    model = models.CharField(max_length=100, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    allow_private = models.BooleanField(default=False)  # as a participant's
    sealed_key = models.TextField(blank=True)  # as a participant's
    price = models.BigIntegerField(default=0)
    payer = models.ForeignKey(Participant, models.SET_NULL, null=True, related_name="+")
    dimensions = models.IntegerField(default=0)
    tokens = models.BigIntegerField(default=0)  # that it has read
    spent = models.BigIntegerField(default=0)  # billionths of a dollar
    is_stopped = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.model or 'embedded'} of {self.grove_id}"

    @property
    def name(self) -> str:
        """How its vectors are known: the host and the model. The colon marks an endpoint."""
        return f"{urlsplit(self.base_url).netloc}:{self.model}"[:120]
