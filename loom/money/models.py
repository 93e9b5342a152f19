"""What each member spent in a day, and on what, where no generation says so."""

from django.db import models

from loom.people.models import Participant
from loom.trees.models import Tree


class DailySpending(models.Model):
    """What a member has spent on one day (UTC), in billionths of a dollar. Locked while money is
    reserved or settled; reserved amounts are stored with the generations."""

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="daily_spending")
    day = models.DateField()
    spent = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["-day", "id"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "day"], name="purse_of_a_day")
        ]

    def __str__(self) -> str:
        return f"{self.participant_id} on {self.day}"


class Purpose(models.TextChoices):
    """What money is spent on that is no generation."""

    GATEWAY = "gateway"
    SEARCH = "search"
    VECTORS = "vectors"


class OtherSpending(models.Model):
    """What a member spent on one day (UTC) on one thing that is no generation, with one model and
    in one tree, if it has them: one row, however often. `spent` in billionths of a dollar, null if
    no price is known. Locked with the money of the day."""

    payer = models.ForeignKey(Participant, models.CASCADE, related_name="other_spending")
    day = models.DateField()
    purpose = models.CharField(max_length=8, choices=Purpose.choices)
    model = models.ForeignKey(Participant, models.CASCADE, null=True, related_name="+")
    tree = models.ForeignKey(Tree, models.CASCADE, null=True, related_name="+")
    answers = models.IntegerField(default=0)
    tokens_in = models.BigIntegerField(default=0)
    tokens_out = models.BigIntegerField(default=0)
    tokens_cached = models.BigIntegerField(default=0)
    spent = models.BigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["payer", "day"], name="other_spending_of_a_day")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(purpose__in=Purpose.values), name="other_spending_purpose"
            )
        ]

    def __str__(self) -> str:
        return f"{self.purpose} of {self.payer_id} on {self.day}"
