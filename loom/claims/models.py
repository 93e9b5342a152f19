"""Checks and their results; claims with their evidence and commitments."""

from django.db import models

from loom.claims.rules.levels import TAKEN_BACK
from loom.engine.fields import PublicIdentity
from loom.links.models import Link
from loom.people.models import Grove, Participant
from loom.trees.models import Node, Tree


class Check(PublicIdentity):
    """A rule that texts shall keep, for all texts of a grove, those of a tree, or one text of
    the grove outside of trees (`about`, its item).
    `parameters` as `loom.claims.rules.checks` names them; `on_save`: it runs for each new text.
    `asks` is the agent of a judge."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="checks")
    tree = models.ForeignKey(Tree, models.CASCADE, null=True, related_name="checks")
    about = models.BigIntegerField(null=True)
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


class Claim(models.Model):
    """A statement and where it is in its life. Its node holds the words. `statement_key` finds the
    same statement again (`loom.claims.rules.levels`); `about` is an item, null for the tree.
    `person` is responsible for the claimant. The counts are of its evidence, each item once."""

    node = models.OneToOneField(Node, models.CASCADE, primary_key=True, related_name="claim")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="claims")
    statement_key = models.CharField(max_length=64)  # of the normalised statement, SHA-256
    about = models.BigIntegerField(null=True)
    scope = models.CharField(max_length=5, default="node")
    test = models.TextField(blank=True)
    state = models.CharField(max_length=10, default="hypothesis")
    conclusion = models.TextField(blank=True)
    why = models.TextField(blank=True)  # it was withdrawn
    level = models.CharField(max_length=10, blank=True)  # of its last commitment
    proofs = models.SmallIntegerField(default=0)  # levels of commitments below that one
    is_vetoed = models.BooleanField(default=False)
    strong = models.IntegerField(default=0)
    moderate = models.IntegerField(default=0)
    weak = models.IntegerField(default=0)
    open = models.IntegerField(default=0)
    unanswered = models.IntegerField(default=0)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    person = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["node"]
        indexes = [
            models.Index(fields=["statement_key"], name="claim_statement"),
            models.Index(fields=["tree", "-changed_at"], name="claim_newest"),
            models.Index(fields=["tree", "by", "-changed_at"], name="claim_own"),
        ]

    def __str__(self) -> str:
        return f"claim {self.node_id}"


class Cite(PublicIdentity):
    """One piece of evidence: an item for or against a claim, or against another cite (undercuts).
    `version` is the revision of a document; `first` and `last` are the place of the words, in code
    points, with a little before and after. `gate` is what the gate said about a quote. Never
    deleted, only addressed."""

    claim = models.ForeignKey(Claim, models.CASCADE, related_name="cites", db_index=False)
    link = models.OneToOneField(Link, models.PROTECT, null=True, related_name="+")
    undercuts = models.ForeignKey("self", models.PROTECT, null=True, related_name="undercut_by")
    item = models.BigIntegerField()
    side = models.CharField(max_length=9)  # for, against or undercuts
    version = models.CharField(max_length=64, blank=True)
    part = models.CharField(max_length=80, blank=True)  # the slice, as a line names it
    first = models.IntegerField(null=True)
    last = models.IntegerField(null=True)
    words = models.TextField(blank=True)
    before = models.CharField(max_length=64, blank=True)
    after = models.CharField(max_length=64, blank=True)
    gate = models.CharField(max_length=9, blank=True)
    why = models.TextField(blank=True)
    strength = models.CharField(max_length=8, default="weak")
    reason = models.CharField(max_length=40, blank=True)
    answer = models.TextField(blank=True)  # how it was addressed
    answered_by = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    at = models.DateTimeField()

    @property
    def is_taken_back(self) -> bool:
        """Whether whoever gave it has undone that: it stays, and counts for nothing."""
        return self.answer == TAKEN_BACK and self.answered_by_id == self.by_id

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["claim", "item"], name="cite_of_claim"),
            models.Index(fields=["item"], name="cite_of_item"),
        ]

    def __str__(self) -> str:
        return f"{self.side} {self.claim_id}"


class Commitment(PublicIdentity):
    """The proof of a claim at a level: `record` is what `hash` is of. Never changed; a veto is
    added to it."""

    claim = models.ForeignKey(Claim, models.CASCADE, related_name="commitments")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+", db_index=False)
    level = models.CharField(max_length=10)
    record = models.JSONField()
    hash = models.CharField(max_length=64)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    approved_by = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField()
    vetoed_by = models.ForeignKey(Participant, models.PROTECT, null=True, related_name="+")
    vetoed_at = models.DateTimeField(null=True)
    veto = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["tree", "-id"], name="commitment_newest")]

    def __str__(self) -> str:
        return f"{self.level} {self.claim_id}"


class Pipe(PublicIdentity):
    """Lines that are run one after the other, saved for a grove under a name: as they were given,
    some without their target or text. `kinds` says what they take and give; `by` is a person if
    models may run it."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="pipes")
    name = models.CharField(max_length=100)
    name_key = models.CharField(max_length=200)  # the case-folded name
    lines = models.JSONField()
    kinds = models.CharField(max_length=200)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)
    ran_at = models.DateTimeField(null=True)  # the last time

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["grove", "name_key"],
                condition=models.Q(archived_at__isnull=True),
                name="pipe_name_once",
            )
        ]

    def __str__(self) -> str:
        return self.name


class TokenState(models.Model):
    """The state of a token that is written in an item (`loom.claims.rules.inline_tokens`), where
    its text does not say it: of a node always, of a document if a line checked or archived it, or
    if it has notes; there the text says whether its box is checked."""

    id = models.BigAutoField(primary_key=True)
    item = models.BigIntegerField()
    key = models.CharField(max_length=16)
    kind = models.CharField(max_length=12)
    state = models.CharField(max_length=12)
    data = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["item", "key"], name="token_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} of {self.item}"
