"""What somebody decided about the manuscript of a tree: every state of it, none is changed."""

from django.db import models

from loom.people.models import Participant
from loom.trees.models import Tree


class ManuscriptVersion(models.Model):
    """One state of a manuscript, from number 1; the highest is the current one. `body` holds
    `order` (keys of chapters), `chapters` ({key: {target, note}}), `title`, `author`, `language`
    and `target`, each only if it was set; `what` names the one that this version changed."""

    id = models.BigAutoField(primary_key=True)
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="manuscript_versions")
    number = models.IntegerField()
    body = models.JSONField(default=dict)
    what = models.CharField(max_length=12)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+", db_index=False)
    at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["tree", "number"], name="manuscript_number_once")
        ]

    def __str__(self) -> str:
        return f"manuscript {self.number} of {self.tree_id}"
