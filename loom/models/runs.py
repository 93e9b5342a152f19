"""What runs: generations, the calls that feed them, and imports."""

from django.db import models

from loom.models.base import Item
from loom.models.groves import Grove, Participant
from loom.models.trees import Node, Tree


class Call(Item):
    """One exchange with a provider: the evidence behind the nodes it made."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="calls")
    participant = models.ForeignKey(Participant, models.PROTECT)
    purpose = models.CharField(max_length=12, default="continue")
    provider = models.CharField(max_length=40)
    configuration = models.CharField(max_length=64)
    request = models.JSONField(default=dict)  # url, headers without keys, body
    response = models.BinaryField(default=b"")  # gzip of the body bytes as received
    bytes = models.CharField(max_length=12, default="exact")
    status = models.IntegerField(null=True)
    headers = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64, blank=True)
    usage = models.JSONField(default=dict)
    note = models.TextField(blank=True)  # such as "read the last 1,200 tokens"
    started_at = models.DateTimeField(auto_now_add=True)
    first_at = models.DateTimeField(null=True)
    sealed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.uid


class Generation(Item):
    """One streamed answer. Its row holds what was shown, so nothing shown is lost."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="generations")
    call = models.ForeignKey(Call, models.PROTECT, null=True, related_name="generations")
    participant = models.ForeignKey(Participant, models.PROTECT, related_name="generations")
    asked_by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    step_uid = models.CharField(max_length=32, blank=True)
    batch = models.CharField(max_length=32)  # the same for all candidates of one line
    point = models.ForeignKey(Node, models.PROTECT, related_name="+")
    index = models.IntegerField()
    tokens = models.IntegerField(null=True)
    temperature = models.FloatField(null=True)
    status = models.CharField(max_length=12, default="queued")
    stop_asked = models.BooleanField(default=False)
    discard = models.BooleanField(default=False)  # undone: its node is pruned when it comes
    text = models.TextField(blank=True)
    chunk = models.IntegerField(default=0)
    note = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(default=dict)
    finish = models.CharField(max_length=80, blank=True)
    error = models.JSONField(null=True)
    node = models.ForeignKey(Node, models.PROTECT, null=True, related_name="+")
    leased_until = models.DateTimeField(null=True)
    lease = models.CharField(max_length=32, blank=True)
    tries = models.IntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["status"],
                condition=models.Q(status__in=["queued", "running"]),
                name="generation_open",
            )
        ]

    def __str__(self) -> str:
        return self.uid


class Import(Item):
    """A file on its way to becoming a tree, all or nothing."""

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
    leased_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
