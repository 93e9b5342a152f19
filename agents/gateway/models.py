"""Keys of the gateway, sessions of other programs, their messages in trees, and their requests."""

from django.db import models
from django.utils import timezone

from loom.engine.fields import PackedJSON, PublicIdentity
from loom.participants.prices import TokenCounts, counts_of
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from loom.turns.models import Call


class Mode(models.TextChoices):
    """What the gateway does with the requests of a key."""

    OBSERVE = "observe", "observe"  # forwards their bytes unchanged, and records them
    WORKSPACE = "workspace", "workspace"  # adds the workspace of the session


class GatewayKey(PublicIdentity):
    """A key with which a program of a person calls the gateway. It names the model participant
    whose provider is called. Only its SHA-256 is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="gateway_keys")
    participant = models.ForeignKey(Participant, models.CASCADE, related_name="gateway_keys")
    name = models.CharField(max_length=80)
    mode = models.CharField(max_length=10, choices=Mode.choices, default=Mode.OBSERVE)
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=8)  # the last characters, to recognise it by
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(mode__in=Mode.values), name="gateway_mode")
        ]

    @property
    def is_over(self) -> bool:
        """Whether it was revoked or has expired."""
        expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return expired or self.revoked_at is not None

    def __str__(self) -> str:
        return f"{self.name} …{self.hint}"


class GatewaySession(PublicIdentity):
    """One session of a program: a tree. `name` is what the program calls it ("" if it sends no
    name), always scoped by the key. `agent` is the program's id of a subagent, whose `parent` is
    the session that started it. In the mode workspace, `hidden` are the ids of results that the
    provider is no longer sent, `attached` the tree whose workspace it is sent, if not that of its
    own, and `transcript` what it is told was said before (null: what was; empty: nothing)."""

    key = models.ForeignKey(GatewayKey, models.CASCADE, related_name="sessions")
    name = models.CharField(max_length=256, blank=True)
    agent = models.CharField(max_length=256, blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="gateway_sessions")
    program = models.CharField(max_length=80, blank=True)  # the start of its User-Agent
    hidden = models.JSONField(default=list)
    attached = models.ForeignKey(Tree, models.SET_NULL, null=True, related_name="+")
    transcript = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-seen_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["key", "name", "agent"],
                condition=~models.Q(name="", agent=""),
                name="gateway_session_once",
            )
        ]
        indexes = [models.Index(fields=["key", "seen_at"], name="gateway_session_seen")]

    def __str__(self) -> str:
        return self.name or self.uid


class GatewayMessage(models.Model):
    """Where a message of a session is in its tree. `digest` covers the message and all before it
    (`agents.gateway.messages.chain`), or stands for a conversation that the provider keeps
    (`conversation_digest`), whose newest answer the node is."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="gateway_messages")
    digest = models.CharField(max_length=64)
    node = models.ForeignKey(Node, models.CASCADE, related_name="+", db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tree", "digest"], name="gateway_message_once")
        ]
        # A session without a name is found by what was said in it.
        indexes = [models.Index(fields=["digest"], name="gateway_digest")]

    def __str__(self) -> str:
        return self.digest[:8]


HEAD = "head:"  # the names of added texts that stand in front of a conversation begin so


class Standing(models.TextChoices):
    """Where a message stands that a text is behind. Programs may begin all conversations with the
    same messages, so that a session without a name is only known by what is behind an answer, or by
    what its first request ended with."""

    LEAD = "lead", "lead"  # in the first request of its session
    LAST = "last", "last"  # at the end of that
    LATER = "later", "later"


class AddedText(models.Model):
    """A text that the provider is sent in addition to what a program says, in the mode workspace.
    It is stored before it is sent, and is the same in every later request. `session` is the uid of
    the session, whose own row is stored later if the text is of its first request; if it
    `is_unnamed`, it is found by what was said. `name` is the place in the chain of the message that
    the text stands behind, or `head:` with a hash of the program's system text and tools, which the
    text replaces ("": they go as they are).
    `lasts_a_turn` if it is a message that the provider shows for one turn alone. `left_out` are the
    tools that are not passed on, and with a message the results that were hidden when it was sent,
    by their ids. `names_results` if the results in the message are sent with their ids above."""

    key = models.ForeignKey(GatewayKey, models.CASCADE, related_name="+")
    session = models.CharField(max_length=32)
    is_unnamed = models.BooleanField(default=False)
    name = models.CharField(max_length=64)
    text = models.TextField(blank=True)
    stated = PackedJSON(default=dict)  # the sections that the provider knows after the text
    lasts_a_turn = models.BooleanField(default=False)
    stands = models.CharField(max_length=5, choices=Standing.choices, default=Standing.LATER)
    left_out = models.JSONField(default=list)
    names_results = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "name"], name="gateway_sent_once"),
            models.CheckConstraint(
                condition=models.Q(stands__in=Standing.values), name="gateway_standing"
            ),
        ]
        indexes = [
            models.Index(
                fields=["key", "name"],
                condition=models.Q(is_unnamed=True),
                name="gateway_sent_unnamed",
            )
        ]

    def __str__(self) -> str:
        return self.name[:12]


class AnswerProgress(models.TextChoices):
    """How far the answer to a request has come."""

    OPEN = "open", "open"
    DONE = "done", "done"
    BROKEN = "broken", "broken"  # the stream was cut, by the provider, the client or the server
    REFUSED = "refused", "refused"  # the provider answered with an error


class GatewayRequest(PublicIdentity):
    """One request of a program, and what came of it. `original` is the body that the program sent,
    if another was sent on; `partial` is what has arrived of the answer while it is open."""

    session = models.ForeignKey(GatewaySession, models.CASCADE, related_name="requests")
    call = models.OneToOneField(Call, models.CASCADE, related_name="+")
    shape = models.CharField(max_length=12)
    point = models.ForeignKey(Node, models.CASCADE, related_name="+")  # of the last message
    original = PackedJSON(default=dict)
    status = models.CharField(
        max_length=8, choices=AnswerProgress.choices, default=AnswerProgress.OPEN
    )
    bypass = models.CharField(max_length=200, blank=True)  # why the original was sent after all
    digest = models.CharField(max_length=64, blank=True)  # of the last message
    answer_digest = models.CharField(max_length=64, blank=True)  # of the answer's last message
    answer_said = models.CharField(max_length=32, blank=True)  # a hash of that message alone
    answer_id = models.CharField(max_length=128, blank=True)  # the provider's id of its answer
    partial = models.BinaryField(default=b"")
    alive_at = models.DateTimeField(auto_now_add=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=AnswerProgress.values), name="gateway_progress"
            )
        ]
        indexes = [
            models.Index(
                fields=["alive_at"],
                condition=models.Q(ended_at__isnull=True),
                name="gateway_request_open",
            ),
            # Without a condition: SQLite does not know of a parameter that it is not "".
            models.Index(fields=["answer_id", "session"], name="gateway_by_answer"),
            models.Index(fields=["answer_said", "session"], name="gateway_by_said"),
        ]

    @property
    def counts(self) -> TokenCounts:
        """The tokens that its provider says it has read and written."""
        return counts_of(self.call.usage)

    def __str__(self) -> str:
        return self.uid
