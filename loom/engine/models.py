"""The log: locked and numbered streams, events, steps, receipts, and work that was put aside."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Item, Tree, Workspace


class Stream(models.Model):
    """The unit of locking and numbering: `tree:UID`, `grove:UID` or `workspace:UID`. `head` is the
    last seq that was used, and events up to `floor` were trimmed; `items` the last ordinal of a
    node of the tree. `leaves` and `deepest` are the size of the visible tree
    (`loom.trees.queries.outline`), updated as it grows; `leaves` None: unknown, and measured when
    it is needed. `unmeasured` is the seq of the last prune or restore of a part so large that its
    branches were not counted: until a worker has measured the tree again, `leaves` and `deepest`
    are those from before it, with what was added since. `words`: about how many words the texts of
    the tree have, each as it was first written and with what edits added to it; None: not counted.
    """

    name = models.CharField(max_length=48, unique=True)
    head = models.BigIntegerField(default=0)
    floor = models.BigIntegerField(default=0)
    items = models.BigIntegerField(default=0)
    words = models.BigIntegerField(null=True)
    leaves = models.BigIntegerField(null=True)
    deepest = models.IntegerField(null=True)
    unmeasured = models.BigIntegerField(null=True)
    erasing = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.name


class Event(models.Model):
    """One change. Never updated; only deleted while its stream is being erased, and up to the floor
    of its stream."""

    stream = models.ForeignKey(  # `seq_once` begins with it
        Stream, models.PROTECT, related_name="events", db_index=False
    )
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=24)
    actor = models.CharField(max_length=32, blank=True)  # a participant's uid
    origin = models.CharField(max_length=80, blank=True)  # the key, turn:ID, step:N
    payload = models.JSONField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["stream", "seq"]
        constraints = [models.UniqueConstraint(fields=["stream", "seq"], name="seq_once")]

    def __str__(self) -> str:
        return f"{self.seq} {self.kind}"


class Step(PublicIdentity):
    """One attempt by somebody, and its outcome. `inverse` is what undo would do.

    A line belongs to a workspace and is numbered there. An action (`loom.engine.actions`)
    belongs to none: it is numbered in its stream, and has its name in `canonical` and its
    arguments, without secrets, in `arguments`.
    """

    # Foreign keys without an index of their own are the first column of one below.
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, null=True, related_name="steps", db_index=False
    )
    seq = models.IntegerField()
    # Steps are not looked for by these, and a participant is never deleted.
    actor = models.ForeignKey(Participant, models.PROTECT, related_name="+", db_index=False)
    on_behalf_of = models.ForeignKey(
        Participant, models.PROTECT, null=True, related_name="+", db_index=False
    )
    turn_uid = models.CharField(max_length=32, blank=True)
    # "2.1": the first line of the second round. If a line has several steps, the last one has it.
    turn_place = models.CharField(max_length=16, blank=True)
    position = models.CharField(max_length=48, blank=True)  # where it was given: a local id
    line = models.TextField()
    canonical = models.TextField(blank=True)
    arguments = models.JSONField(null=True)
    because = models.TextField(blank=True)
    link_type = models.CharField(max_length=40, blank=True)
    outcome = models.CharField(max_length=40)  # "ok" or a code
    # The reply or the refusal, without quotations from nodes: `quoted` has the references to them
    # (loom.language.ids). Read it with loom.trees.queries.node_bodies.messages_of.
    message = models.TextField(blank=True)
    quoted = models.JSONField(null=True)
    hint = models.TextField(blank=True)
    stream = models.CharField(max_length=48, blank=True)
    events = models.JSONField(default=list)
    inverse = models.JSONField(null=True)
    undoes = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="undone_by", db_index=False
    )
    redone = models.BooleanField(default=False)
    is_undone = models.BooleanField(default=False)
    # Steps of one act of a person (all passages of one replacement) have its id, and are undone
    # and redone together; `doing` says in their words what the act was.
    act = models.CharField(max_length=64, blank=True)
    doing = models.CharField(max_length=200, blank=True)
    # What a line of a turn repeats: exact, structural or semantic; None: nothing.
    loop = models.CharField(max_length=10, null=True)
    # Windows were hidden because others needed their room.
    evicts = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "seq"], name="step_seq_once"),
            models.UniqueConstraint(
                fields=["stream", "seq"],
                condition=models.Q(workspace__isnull=True),
                name="step_of_stream_once",
            ),
            models.UniqueConstraint(
                fields=["turn_uid", "turn_place"],
                condition=~models.Q(turn_place=""),
                name="step_of_turn_once",
            ),
        ]
        indexes = [
            models.Index(fields=["turn_uid", "id"], name="step_by_turn"),
            models.Index(fields=["workspace", "at"], name="step_by_time"),
            models.Index(
                fields=["workspace", "seq"],
                condition=models.Q(evicts=True),
                name="step_evicts",
            ),
            models.Index(fields=["stream", "id"], name="step_by_stream"),
            models.Index(
                fields=["undoes"], condition=models.Q(undoes__isnull=False), name="step_undoes"
            ),
            models.Index(
                fields=["workspace", "act"],
                condition=~models.Q(act=""),
                name="step_by_act",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.canonical or self.line}"


class StepItem(models.Model):
    """An item that a step touched; `place` is its order, `led_to` says that the line led there (it
    opened or expanded it)."""

    step = models.ForeignKey(Step, models.CASCADE, related_name="touched", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="+")
    place = models.SmallIntegerField()
    led_to = models.BooleanField(default=False)

    class Meta:
        ordering = ["step_id", "place"]
        constraints = [models.UniqueConstraint(fields=["step", "place"], name="step_item_once")]

    def __str__(self) -> str:
        return f"{self.step_id} touched {self.item_id}"


class Receipt(models.Model):
    """The stored answer to a request with a key, which is returned for a repeat: `answer` is what
    the step does not have (`loom.engine.receipts`). It is kept for HEDDLE_RECEIPT_DAYS; the sweeper
    deletes older ones, in the order of their ids."""

    # The tree is the first column of the index below; a participant is never deleted.
    participant = models.ForeignKey(Participant, models.CASCADE, db_index=False)
    tree = models.ForeignKey(Tree, models.CASCADE, db_index=False)
    key = models.CharField(max_length=64)
    line_digest = models.CharField(max_length=64)  # the first digits of its SHA-256
    answer = models.JSONField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tree", "participant", "key"], name="key_once")
        ]

    def __str__(self) -> str:
        return self.key


class PutAside(models.Model):
    """A unit of work that failed, or did not come to an end: a document that does not settle, a
    lost generation. After `tries` attempts it is left alone until its `version` changes (for a
    document: until somebody writes in it) or an owner asks for another attempt. `dropped_at`: an
    operator has decided to leave it as it is, so it is not shown until it fails anew."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=16)  # document or generation
    uid = models.CharField(max_length=32)  # of the unit
    grove = models.ForeignKey(Grove, models.CASCADE, null=True, related_name="+")
    version = models.BigIntegerField(default=0)
    reason = models.CharField(max_length=300)
    tries = models.IntegerField(default=0)
    at = models.DateTimeField()
    dropped_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [models.UniqueConstraint(fields=["kind", "uid"], name="put_aside_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.uid}: {self.reason}"


class KeptJob(models.Model):
    """A task that a worker has to do (`loom.engine.kept_jobs`): its row is deleted once it is done.
    `due_at`: when it is sent again; `taken_until`: how long the worker that does it has."""

    id = models.BigAutoField(primary_key=True)
    task = models.CharField(max_length=80)
    args = models.JSONField()
    queue = models.CharField(max_length=16)
    tries = models.IntegerField(default=0)
    due_at = models.DateTimeField(db_index=True)
    taken_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.task
