"""Receipts: stored answers to lines that were sent with a key, so that a repeat is harmless."""

from datetime import datetime
from typing import Any

from django.db import transaction

from loom.access import CLOSED, Actor, closed_steps
from loom.engine.answers import with_quoted
from loom.engine.context import Answer, Request
from loom.engine.models import Receipt, Step
from loom.errors import CommandError
from loom.text.hashes import digest
from loom.trees.models import Tree


def find(actor: Actor, tree: Tree, request: Request) -> dict[str, Any] | None:
    """The stored answer to this key and line; CONFLICT if the key was sent with another line."""
    if not request.key or request.dry_run:
        return None
    kept = Receipt.objects.filter(participant=actor.participant, tree=tree, key=request.key).first()
    if kept is None:
        return None
    if kept.line_digest != digest(request.line):
        raise CommandError(
            "CONFLICT",
            "This key was already used for another command.",
            hint="use a new key for a new command",
        )
    body = dict(kept.answer)
    quoted = body.pop("quoted", None)
    steps = Step.objects.filter(workspace__participant=actor.participant, workspace__tree=tree)
    if closed_steps(actor, steps.filter(seq=body["step"])):
        return {**body, "reply": CLOSED, "refs": []}
    return {**body, "reply": with_quoted([(0, body["reply"], quoted)])[0]} if quoted else body


def keep(actor: Actor, tree: Tree, request: Request, answer: Answer) -> None:
    """Stores an answer, without the texts that nodes hold, until `delete_before` deletes it.
    Refusals are not stored: the line is run again."""
    if not request.key:
        return
    body = answer.body
    if answer.step is not None and answer.step.quoted:
        body = {**body, "reply": answer.step.message, "quoted": answer.step.quoted}
    Receipt.objects.create(
        participant=actor.participant,
        tree=tree,
        key=request.key,
        line_digest=digest(request.line),
        answer=body,
    )


def delete_before(moment: datetime, *, batch: int = 1000) -> int:
    """Deletes the answers that were stored before a moment, `batch` in each transaction; returns
    how many. A key that is sent again afterwards runs its line again."""
    old = Receipt.objects.filter(at__lt=moment).order_by("at").values_list("pk", flat=True)
    deleted = 0
    while ids := list(old[:batch]):
        with transaction.atomic():
            deleted += Receipt.objects.filter(pk__in=ids).delete()[0]
    return deleted
