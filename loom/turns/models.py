"""What runs: turns, generations, and the calls behind them."""

from django.db import models

from loom.engine.fields import PackedJSON, PublicIdentity
from loom.people.models import Participant
from loom.trees.models import Node, Tree

# The statuses of a running turn, and of one that has ended.
OPEN_TURN = ("queued", "leased", "assembling", "generating", "executing", "finishing")
ENDED_TURN = ("done", "interrupted", "halted", "failed", "stopped")


class Turn(PublicIdentity):
    """One turn. `form` is continuation or aside; `invoked_at` is the node where it was started,
    whose slot is leased while it runs; `answers_below` is the node that it answers below.

    `rounds` are the finished ones, each `{generation, length, text, prose, replies, tools, dropped,
    notes, changed, workspace, stated}`, where `tools` are what the provider did with tools of its
    own; after the end of the turn they have no `text`, `prose`, `tools`, `workspace`, `stated` or
    texts in `replies`, because their generations, steps and nodes store them
    (loom.workspace.queries.workspace_bodies.said_in). `replies` are those of the lines of the
    current round that ran; `waits_for` are the generations that one of its lines started and that
    have not been reported yet. `extension` is what the agent asks for: `{steps, tokens, why}`, and
    `tool` if a person has to allow one.
    `asking` is the turn in which an agent asked for this one, whose budget it uses.
    `scope` is that of the API key that started the turn. `prepared` is the request of the current
    round, assembled once, priced and sent (agents.generation_requests.prepared); None once the
    turn has ended. `system_text` is what a program sent to be in front of the conversation, in
    place of the tree's instructions (None: those), and `settings` what it asked of each round:
    `tokens`, `temperature` and samplers.
    """

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="turns", db_index=False)
    participant = models.ForeignKey(Participant, models.PROTECT, related_name="turns")
    invoked_by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    invoked_at = models.ForeignKey(Node, models.PROTECT, related_name="+")
    answers_below = models.ForeignKey(Node, models.PROTECT, related_name="+")
    input_node = models.ForeignKey(Node, models.PROTECT, null=True, related_name="+")
    asking = models.ForeignKey("self", models.PROTECT, null=True, related_name="asked_for")
    form = models.CharField(max_length=12, default="continuation")
    status = models.CharField(max_length=12, default="queued")
    stop_asked = models.BooleanField(default=False)
    preset = models.CharField(max_length=12)
    scope = models.CharField(max_length=8, default="owner")
    prepared = models.JSONField(null=True)
    system_text = models.TextField(null=True)
    settings = models.JSONField(default=dict)
    more_steps = models.IntegerField(default=0)  # granted beyond the preset
    more_tokens = models.IntegerField(default=0)
    extension = models.JSONField(null=True)
    round = models.IntegerField(default=0)
    rounds = models.JSONField(default=list)
    replies = models.JSONField(default=list)
    waits_for = models.JSONField(default=list)
    is_concluding = models.BooleanField(default=False)
    tokens = models.IntegerField(default=0)
    summary_tokens = models.IntegerField(default=0)  # of summaries that its lines and path needed
    generation = models.ForeignKey("turns.Generation", models.PROTECT, null=True, related_name="+")
    finish = models.CharField(max_length=80, blank=True)
    error = models.JSONField(null=True)
    node = models.ForeignKey(Node, models.PROTECT, null=True, related_name="+")
    lease = models.CharField(max_length=32, blank=True)
    leased_until = models.DateTimeField(null=True)
    moved_at = models.DateTimeField(auto_now_add=True)  # its last progress
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["tree", "id"], name="turn_of_tree"),
            models.Index(
                fields=["status"], condition=models.Q(ended_at__isnull=True), name="turn_open"
            ),
        ]

    def __str__(self) -> str:
        return self.uid

    @property
    def used_tokens(self) -> int:
        """The tokens of its own rounds and of the summaries that were made for it."""
        return self.tokens + self.summary_tokens


class Ask(PublicIdentity):
    """A question that a participant put to an agent or a person: `node` is the annotation that
    holds it. `asking` is the asker's turn, None for a person's own line; `turn` the one that
    answers it, None where a person is asked. `answer` is the first reply."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    node = models.OneToOneField(Node, models.CASCADE, related_name="ask")
    asker = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    asked = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    asking = models.ForeignKey(Turn, models.CASCADE, null=True, related_name="+")
    turn = models.OneToOneField(Turn, models.CASCADE, null=True, related_name="ask")
    answer = models.ForeignKey(Node, models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.uid


# Generations, their calls, and imports.


class Call(PublicIdentity):
    """One exchange with a provider: the evidence for the nodes that it produced."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="calls")
    participant = models.ForeignKey(Participant, models.PROTECT)
    turn = models.ForeignKey("turns.Turn", models.PROTECT, null=True, related_name="calls")
    # For an imported call: its id in the original installation, which its nodes name.
    origin = models.CharField(max_length=32, blank=True, default="")
    purpose = models.CharField(max_length=12, default="continue")
    provider = models.CharField(max_length=40)
    configuration = models.CharField(max_length=64)
    # url, headers without keys, body
    request = PackedJSON(default=dict, db_column="request_packed")
    response = models.BinaryField(default=b"")  # gzip of the body bytes as received
    bytes = models.CharField(max_length=12, default="exact")
    status = models.IntegerField(null=True)
    headers = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64, blank=True)
    usage = models.JSONField(default=dict)
    note = models.TextField(blank=True)  # such as "read the last 1,200 tokens"
    strategy = models.CharField(max_length=16, blank=True, default="")  # how a buffer was sent
    started_at = models.DateTimeField(auto_now_add=True)
    first_at = models.DateTimeField(null=True)
    sealed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.uid


SUMMARY = -1  # the `round` of a generation that becomes the summary of its point
JUDGE = -2  # of one that answers the question of a check about a text
RATING = -3  # of one that says how good a text is for a goal, from 0 to 10
TITLES = -4  # of one that gives titles to the regions of a map
TOKENS = -5  # of a request for probabilities of tokens, which has no text


class Generation(PublicIdentity):
    """One streamed answer. Its row stores the text that was shown, so that none is lost; once it
    has become a node, only the node stores it. Read it with `shown`."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="generations")
    call = models.ForeignKey(Call, models.PROTECT, null=True, related_name="generations")
    participant = models.ForeignKey(Participant, models.PROTECT, related_name="generations")
    asked_by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    # The turn it belongs to: it is its `round` (from 1), or was started by one of its lines (0).
    turn = models.ForeignKey("turns.Turn", models.PROTECT, null=True, related_name="generations")
    round = models.IntegerField(default=0)
    for_turn = models.CharField(max_length=32, blank=True, default="")  # that needs the summary
    # The id of what goes on once it has ended, see generation_lifecycle.when_ended.
    wakes = models.CharField(max_length=32, blank=True, default="")
    batch = models.CharField(max_length=32)  # the same for all candidates of one line
    point = models.ForeignKey(Node, models.PROTECT, related_name="+")
    # The item of the text of the grove that it is about, of a summary or judge; `point` is then the
    # root of the tree that keeps the call.
    about = models.BigIntegerField(null=True)
    index = models.IntegerField()
    # The newest node of the tree when it was asked for, by its ordinal.
    after = models.BigIntegerField(null=True)
    tokens = models.IntegerField(null=True)
    temperature = models.FloatField(null=True)
    settings = models.JSONField(default=dict)  # samplers, as loom.participants.addresses names them
    without = models.JSONField(default=list)  # parts of the request, as loom.turns.left_out
    # Of a program, in place of the tree's instructions (None: those).
    system_text = models.TextField(null=True)
    status = models.CharField(max_length=12, default="queued")
    stop_asked = models.BooleanField(default=False)
    discard = models.BooleanField(default=False)  # undone: its node is pruned when it is made
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
    lane = models.CharField(max_length=64, blank=True)
    rank = models.BigIntegerField(default=0)  # the order of a lane: the lowest goes first
    # Money in billionths of a dollar, by `prices` (empty: unknown, and nothing is counted),
    # from the daily spending of the member who pays.
    payer = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    prices = models.JSONField(null=True)
    reading = models.IntegerField(default=0)  # tokens of the path, estimated
    reserved = models.BigIntegerField(default=0)  # of the day's money, until it ends
    spent = models.BigIntegerField(null=True)
    day = models.DateField(null=True)  # UTC, when it was asked for
    tokens_in = models.IntegerField(default=0)
    tokens_out = models.IntegerField(default=0)
    tokens_cached = models.IntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            # For running ones. A query must say `ended_at__isnull=True` to use them: SQLite
            # cannot match a condition with parameters.
            models.Index(
                fields=["status"],
                condition=models.Q(ended_at__isnull=True),
                name="generation_open",
            ),
            models.Index(
                fields=["lane", "rank", "id"],
                condition=models.Q(ended_at__isnull=True),
                name="generation_in_lane",
            ),
            models.Index(
                fields=["payer", "day"],
                condition=models.Q(ended_at__isnull=True),
                name="generation_unpaid",
            ),
            models.Index(
                fields=["about", "id"],
                condition=models.Q(about__isnull=False),
                name="generation_about_text",
            ),
        ]

    def __str__(self) -> str:
        return self.uid

    @property
    def shown(self) -> str:
        """The text so far, or that of the node it became; loads `node` if necessary."""
        return self.node.text if self.node is not None else self.text


class Lane(models.Model):
    """The requests that share one provider key, in a fair order. `reached`: the rank of the last
    one that began; a new one is queued behind it. Locked while a generation begins."""

    name = models.CharField(max_length=64, unique=True)
    reached = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name
