"""Fields that rows of all features share: public ids and packed JSON."""

import gzip
import json
import secrets
from typing import Any

from django.db import models

ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"


def new_uid() -> str:
    """A fresh opaque id: 16 characters, 78 bits, safe in addresses and file names."""
    return "".join(secrets.choice(ALPHABET) for _ in range(16))


def tools_left_out() -> list[str]:
    """The tools of programs that a new participant is not sent over the gateway: a workspace has
    tasks of its own. Here because a migration names it."""
    return ["TodoWrite"]


class PublicIdentity(models.Model):
    """A row with a public id. `id` never leaves the program; `uid` is what the API calls id."""

    id = models.BigAutoField(primary_key=True)
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)

    class Meta:
        abstract = True


class PackedJSON(models.Field):  # type: ignore[type-arg]  # no generics at run time
    """A JSON value that is stored compressed and cannot be queried, for values with long
    repetitive texts. Migrations see a BinaryField."""

    empty_strings_allowed = False

    def get_internal_type(self) -> str:
        """The column of a BinaryField."""
        return "BinaryField"

    def deconstruct(self) -> Any:
        """A BinaryField with an empty default."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BinaryField", args, {**kwargs, "default": b""}

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """The packed bytes; none for an empty value."""
        packed = gzip.compress(json.dumps(value).encode(), mtime=0) if value else b""
        return connection.Database.Binary(packed)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The unpacked value; {} for an empty one."""
        return json.loads(gzip.decompress(bytes(value))) if value else {}
