"""Stars on nodes."""

from typing import ClassVar

from django.db import models

from loom.people.models import Participant
from loom.trees.models import Node


class Star(models.Model):
    """Somebody's star on a node."""

    id = models.BigAutoField(primary_key=True)
    node = models.ForeignKey(Node, models.CASCADE, related_name="+")
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    objects: ClassVar[models.Manager["Star"]] = models.Manager()

    def __str__(self) -> str:
        return f"star on {self.node}"
