"""How large an installation was when it was last measured, and for how long old rows are kept."""

from django.db import models


class SizeMeasure(models.Model):
    """The sizes at one time. Only the newest row is kept. `tables` has the bytes of each table with
    its indexes, the largest first, as [[name, bytes], ...]."""

    at = models.DateTimeField()
    database = models.BigIntegerField()  # bytes
    tables = models.JSONField(default=list)
    images = models.BigIntegerField(default=0)  # bytes of their files
    image_files = models.IntegerField(default=0)
    old = models.JSONField(default=dict)  # what trimming would free: [rows, bytes] by rule

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.database} bytes"


class TrimSetting(models.Model):
    """For how many days the rows of a rule of trimming are kept, as an operator chose; 0: for
    ever."""

    name = models.CharField(max_length=40, unique=True)
    days = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.name}: {self.days} days"
