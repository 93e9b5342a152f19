"""Answers kept by the caller's key: a repeat is answered, not run again (docs/model.md §14.3.5)."""

from datetime import datetime
from typing import Any

from django.db import transaction

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
    """Keeps an answer until `delete_before` deletes it. Refusals are not kept: the line is
    run again."""
    if not request.key:
        return
    Receipt.objects.create(
        participant=actor.participant,
        tree=tree,
        key=request.key,
        line_digest=digest(request.line),
        answer=answer,
    )


def delete_before(moment: datetime, *, batch: int = 1000) -> int:
    """Deletes the answers that were kept before a moment, `batch` in each transaction; how
    many. A key that is sent again afterwards runs its line again."""
    old = Receipt.objects.filter(at__lt=moment).order_by("at").values_list("pk", flat=True)
    deleted = 0
    while ids := list(old[:batch]):
        with transaction.atomic():
            deleted += Receipt.objects.filter(pk__in=ids).delete()[0]
    return deleted
