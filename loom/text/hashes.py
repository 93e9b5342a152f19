"""Canonical JSON and SHA-256: what a node, a call and a file are recognised by. Pure."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

# Hashes of nodes, configurations (docs/model.md §11), secrets and texts.

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys, no blanks, no ASCII escaping. See docs/model.md §11."""
    return _CANONICAL.encode(value).encode()


def sha256(value: Any) -> str:
    """The hex SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def digest(secret: str) -> str:
    """The stored form of keys, invitations and links: the hex SHA-256 of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def digest_of(text: str) -> str:
    """The hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def instant(at: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as everywhere in the API."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant_or_none(at: datetime | None) -> str | None:
    """A moment as `instant` writes it; None for what has not happened."""
    return instant(at) if at else None


def proof(
    *,
    author: str,
    call: str,
    configuration: str,
    content: list[dict[str, Any]],
    created_at: datetime,
    edited_from: str,
    kind: str,
    parent: str,
) -> dict[str, Any]:
    """The values that a node's hash covers; empty strings stand for null."""
    return {
        "author": author,
        "call": call or None,
        "configuration": configuration or None,
        "content": content,
        "created_at": instant(created_at),
        "edited_from": edited_from or None,
        "kind": kind,
        "parent": parent or None,
    }
