"""What each member spent in a day."""

from django.db import models

from loom.people.models import Participant


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
