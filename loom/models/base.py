"""What rows share: opaque public ids, and fields that keep text as given."""

import secrets

from django.db import models

ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"


def new_uid() -> str:
    """A fresh opaque id: 16 characters, 78 bits, safe in addresses and file names."""
    return "".join(secrets.choice(ALPHABET) for _ in range(16))


class Item(models.Model):
    """A row with a public id. `id` never leaves the program; `uid` is what the API calls id."""

    id = models.BigAutoField(primary_key=True)
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)

    class Meta:
        abstract = True
