"""How large an installation was when it was last measured."""

from django.db import models


class SizeMeasure(models.Model):
    """The sizes at one time. Only the newest row is kept. `tables` has the bytes of each table with
    its indexes, the largest first, as [[name, bytes], ...]."""

    at = models.DateTimeField()
    database = models.BigIntegerField()  # bytes
    tables = models.JSONField(default=list)
    images = models.BigIntegerField(default=0)  # bytes of their files
    image_files = models.IntegerField(default=0)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.database} bytes"
