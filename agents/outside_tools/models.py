"""Outside MCP servers of a grove, their tools, who may use them, and what was called."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant


class ToolServer(PublicIdentity):
    """An MCP server that an owner has registered. `name` is what lines call it; the key is
    encrypted and bound to the address. `listed_at` is when its tools were last asked for, `error`
    why that failed."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="tool_servers")
    name = models.CharField(max_length=30)
    url = models.CharField(max_length=500)
    sealed_key = models.TextField(blank=True)
    allow_private = models.BooleanField(default=False)  # as a participant's
    error = models.CharField(max_length=300, blank=True)
    listed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["grove", "name"], name="tool_server_name_of_grove")
        ]

    def __str__(self) -> str:
        return self.name


class OutsideTool(PublicIdentity):
    """A tool of a server, as the server described it. `is_gone`: its server lists it no more.
    `fingerprint` is the SHA-256 of what it does according to its server: who agreed to it is asked
    again once that has changed."""

    server = models.ForeignKey(ToolServer, models.CASCADE, related_name="tools")
    name = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    schema = models.JSONField(default=dict)
    is_on = models.BooleanField(default=True)
    is_gone = models.BooleanField(default=False)
    fingerprint = models.CharField(max_length=64)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["server", "name"], name="outside_tool_of_server")
        ]

    def __str__(self) -> str:
        return self.full_name

    @property
    def full_name(self) -> str:
        """How lines name it: `weather.forecast`."""
        return f"{self.server.name}.{self.name}"


class AllowedTool(models.Model):
    """A tool that an agent may use."""

    agent = models.ForeignKey(Participant, models.CASCADE, related_name="allowed_tools")
    tool = models.ForeignKey(OutsideTool, models.CASCADE, related_name="allowed")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "tool"], name="allowed_tool_of_agent")
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} for {self.agent_id}"


class ToolConsent(models.Model):
    """That an agent may use a tool in the turns that `person` starts, as the tool was then (its
    fingerprint); `by` said so."""

    allowed = models.ForeignKey(AllowedTool, models.CASCADE, related_name="consents")
    person = models.ForeignKey(Participant, models.CASCADE, related_name="+")
    by = models.ForeignKey(Participant, models.CASCADE, related_name="+")
    fingerprint = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["allowed", "person"], name="tool_consent_of_person")
        ]

    def __str__(self) -> str:
        return f"{self.person_id} on {self.allowed_id}"


class ToolCall(PublicIdentity):
    """A call of a tool by a line: step `seq` of the workspace, which stores the result.

    `status` is asking (a person has to agree), queued, running (it may have been sent, and is never
    sent again), or, once ended, done, failed, refused or unknown. `arguments` are the JSON of the
    line. `leased_until`: until then a worker is calling it."""

    workspace = models.ForeignKey("trees.Workspace", models.CASCADE, related_name="tool_calls")
    seq = models.IntegerField()
    turn_uid = models.CharField(max_length=32)
    allowed = models.ForeignKey(AllowedTool, models.SET_NULL, null=True, related_name="calls")
    name = models.CharField(max_length=160)
    fingerprint = models.CharField(max_length=64)
    person = models.ForeignKey(Participant, models.PROTECT, related_name="+", db_index=False)
    arguments = models.TextField()
    status = models.CharField(max_length=8)
    characters = models.IntegerField(default=0)  # of its result, as it was kept
    leased_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "seq"], name="tool_call_of_a_step")
        ]
        indexes = [
            models.Index(fields=["turn_uid"], name="tool_call_of_turn"),
            models.Index(
                fields=["created_at"],
                condition=models.Q(ended_at__isnull=True),
                name="tool_call_open",
            ),
        ]

    def __str__(self) -> str:
        return self.uid
