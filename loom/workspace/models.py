"""What a workspace has besides its place in the tree: windows, tasks, and what people save."""

from django.db import models
from django.db.models.functions import Lower

from loom.engine.fields import PublicIdentity
from loom.people.models import Grove, Participant
from loom.trees.models import Item, Workspace

SCRATCHPAD_TOKENS = 200  # of the one text that every request of an agent shows it


class Saved(PublicIdentity):
    """Something saved under a name: a search, a preset of samplers, or an arrangement of windows.
    It belongs to one person or, if `participant` is None, to all members of the grove."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="saved")
    participant = models.ForeignKey(Participant, models.CASCADE, null=True, related_name="saved")
    kind = models.CharField(max_length=8)  # search, preset or windows
    name = models.CharField(max_length=100)
    body = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["grove", "participant", "kind", "name"], name="saved_once"
            ),
            models.UniqueConstraint(
                fields=["grove", "kind", "name"],
                condition=models.Q(participant__isnull=True),
                name="saved_of_grove_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Window(models.Model):
    """What a participant keeps in view, `#number`: lines of a node (also a search hit), a branch
    or range of nodes, a tree's outline, the result of a line of a turn, or a stash. Its states are
    in `loom.workspace.window_lifetime`; a closed one stays as a row.

    A node never changes, so its row identifies the version seen; for a branch or range `nodes` are
    the ids of those seen. The text of a result is in its step; that of a stash is in `text`.
    `step` is the line that opened the window.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="windows")
    number = models.IntegerField()
    kind = models.CharField(max_length=8)  # node, search, document, branch, range, tree, …
    step = models.ForeignKey(
        "engine.Step", models.CASCADE, null=True, related_name="+", db_index=False
    )
    item = models.ForeignKey(Item, models.PROTECT, null=True, related_name="+", db_index=False)
    version_seen = models.CharField(max_length=64, blank=True)
    first = models.IntegerField(default=0)  # lines of a node, from 1, both included
    last = models.IntegerField(default=0)
    text = models.TextField(blank=True)
    label = models.CharField(max_length=200, blank=True)
    turn_uid = models.CharField(max_length=32, blank=True)  # in which it was opened
    is_visible = models.BooleanField(default=True)
    is_kept = models.BooleanField(default=False)
    is_extended = models.BooleanField(default=False)
    is_closed = models.BooleanField(default=False)
    opened_at = models.DateTimeField()
    form = models.CharField(max_length=8, blank=True)  # diff, of a node; prose, of several
    place = models.CharField(max_length=200, blank=True)  # §motive, head:200: how lines were named
    pad = models.SmallIntegerField(default=0)  # lines of padding around them
    is_live = models.BooleanField(default=False)  # it follows the current version
    query = models.CharField(max_length=500, blank=True)  # of the search whose hit it is
    score = models.FloatField(null=True)  # from 0 to 1, of the best hit
    via = models.CharField(max_length=40, blank=True)  # the link type that led there
    parent_number = models.IntegerField(default=0)  # the window that it was opened from; 0: none
    nodes = models.JSONField(default=list)  # row ids
    shown_step = models.IntegerField(default=0)  # the number of the step that last showed it
    # That of the `collapse` which hid it: what is expanded again brings it back. 0: none.
    collapsed_step = models.IntegerField(default=0)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "number"], name="window_number_once"),
            models.UniqueConstraint(
                models.F("workspace"),
                Lower("label"),
                condition=models.Q(kind="stash", is_closed=False),
                name="stash_label_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "number"],
                condition=models.Q(is_visible=True),
                name="window_visible",
            ),
            models.Index(fields=["workspace", "kind", "number"], name="window_kind"),
            models.Index(
                fields=["workspace", "turn_uid"],
                condition=models.Q(parent_number__gt=0),
                name="window_nested",
            ),
            models.Index(
                fields=["workspace", "collapsed_step"],
                condition=models.Q(collapsed_step__gt=0),
                name="window_collapsed",
            ),
            models.Index(fields=["step"], name="window_step"),
            models.Index(fields=["item"], name="window_item"),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"


class Task(models.Model):
    """A line of the task list of a workspace, `t` and its number. `place`: its order among those
    that are not archived, from 1. A removed one stays as a row, because numbers are never used
    again.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="tasks")
    number = models.IntegerField()
    text = models.TextField()
    state = models.CharField(max_length=9, default="unchecked")  # checked, archived
    place = models.IntegerField(default=0)
    notes = models.JSONField(default=list)  # texts, oldest first
    is_removed = models.BooleanField(default=False)
    made_at = models.DateTimeField()

    class Meta:
        ordering = ["place", "number"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "number"], name="task_number_once")
        ]
        indexes = [
            models.Index(
                fields=["workspace", "state", "number"],
                condition=models.Q(is_removed=False),
                name="task_listed",
            )
        ]

    def __str__(self) -> str:
        return f"t{self.number}"
