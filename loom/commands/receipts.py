"""Answers kept by the caller's key: a repeat is answered, not run again (docs/model.md §14.3.5)."""

from typing import Any

from loom.access import Actor
from loom.commands.request import Request
from loom.models import Receipt, Tree
from loom.rules.hashes import digest
from loom.rules.refusals import Refused


def find(actor: Actor, tree: Tree, request: Request) -> dict[str, Any] | None:
    """The kept answer to this key and line; CONFLICT where the key came with another line."""
    if not request.key or request.dry_run:
        return None
    kept = Receipt.objects.filter(participant=actor.participant, tree=tree, key=request.key).first()
    if kept is None:
        return None
    if kept.line_digest != digest(request.line):
        raise Refused(
            "CONFLICT",
            "This key was used for another line.",
            hint="send a new line with a new key",
        )
    return dict(kept.answer)


def keep(actor: Actor, tree: Tree, request: Request, answer: dict[str, Any]) -> None:
    """Keeps an answer for good. Refusals are not kept: the line is tried anew."""
    if not request.key:
        return
    Receipt.objects.create(
        participant=actor.participant,
        tree=tree,
        key=request.key,
        line_digest=digest(request.line),
        answer=answer,
    )
