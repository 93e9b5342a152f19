"""What is recorded of the arguments of a line or action: no secrets, and of a long text its
beginning, its length and its hash."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from django.db import models
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from loom.engine.arguments import Secret

SHORT = 200  # characters; a step stores only the start of a longer text


def recorded(value: Any) -> Any:
    """Arguments as a step stores them: no secrets, no long texts, rows by their public id."""
    if isinstance(value, BaseModel):
        return {
            name: recorded(getattr(value, name))
            for name, field in type(value).model_fields.items()
            if name in value.model_fields_set and not _is_secret(field)
        }
    if isinstance(value, models.Model):
        return str(getattr(value, "uid", value))
    if isinstance(value, Mapping):
        return {storable(str(name)): recorded(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [recorded(item) for item in value]
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity or NaN
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _is_secret(field: FieldInfo) -> bool:
    return any(isinstance(mark, Secret) for mark in field.metadata)


def _short(text: str) -> Any:
    kept = storable(text)
    if len(text) <= SHORT:
        return kept
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return {"start": kept[:SHORT], "length": len(text), "sha256": digest}


def storable(text: str) -> str:
    """The text without what PostgreSQL and UTF-8 cannot store."""
    return text.replace("\0", "�").encode(errors="replace").decode()
