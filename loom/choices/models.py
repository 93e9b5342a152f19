"""What was shown to a person, in which order, and what they allow to be done with it."""

from django.db import models

from loom.people.models import Participant
from loom.trees.models import Node, Tree

KEEP_DAYS = (30, 90, 365)  # what was shown is deleted after so many days; the last is the default


class ChoiceSettings(models.Model):
    """What a member has decided about their choices: whether what was shown to them is logged (it
    is, until they switch it off) and for how many days it is kept, whether candidates may be
    ordered by their taste, and whether their own words may be in the training data that other
    members export."""

    participant = models.OneToOneField(Participant, models.CASCADE, related_name="+")
    logs = models.BooleanField(default=True)
    keep_days = models.IntegerField(default=KEEP_DAYS[-1])  # one of KEEP_DAYS
    orders = models.BooleanField(default=False)
    consents = models.BooleanField(default=False)
    consented_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"of {self.participant_id}"


class Exposure(models.Model):
    """Candidates below `point` that a person saw: `shown` are their versions in the order in which
    they stood, `opened` those that were opened there. `order` is siblings, nearness or taste;
    `where` is tree or grid. What was taken or pruned afterwards is in the person's steps."""

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="+")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="+")
    point = models.ForeignKey(Node, models.CASCADE, related_name="+")
    where = models.CharField(max_length=8)
    order = models.CharField(max_length=8)
    shown = models.JSONField()
    opened = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["participant", "id"], name="exposure_by_person"),
            models.Index(fields=["at"], name="exposure_by_age"),
        ]

    def __str__(self) -> str:
        return f"{len(self.shown)} below {self.point_id}"
