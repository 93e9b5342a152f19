"""Receipts: stored answers to lines that were sent with a key, so that a repeat is harmless."""

from datetime import datetime
from itertools import takewhile
from typing import Any

from django.db import transaction

from loom.access import CLOSED, Actor, closed_steps
from loom.engine.answers import with_quoted
from loom.engine.context import Answer, Request
from loom.engine.models import Receipt, Step
from loom.errors import CommandError
from loom.text.hashes import digest
from loom.trees.models import Tree

DIGITS = 32  # of the SHA-256 of a line, to tell another line with the same key


def find(actor: Actor, tree: Tree, request: Request) -> dict[str, Any] | None:
    """The stored answer to this key and line; CONFLICT if the key was sent with another line."""
    if not request.key or request.dry_run:
        return None
    kept = _kept(actor, tree, request.key, request.line)
    if kept is None:
        return None
    steps = Step.objects.filter(workspace__participant=actor.participant, workspace__tree=tree)
    steps = steps.filter(seq=kept.answer["step"])
    step = steps.first()
    if step is None and "reply" not in kept.answer:  # the step was trimmed: as if it were too old
        kept.delete()
        return None
    body = {**_of_step(step), **kept.answer} if step is not None else dict(kept.answer)
    quoted = body.pop("quoted", None)
    if closed_steps(actor, steps):
        body.pop("did", None)
        return {**body, "reply": CLOSED, "refs": []}
    return {**body, "reply": with_quoted([(0, body["reply"], quoted)])[0]} if quoted else body


def keep(actor: Actor, tree: Tree, request: Request, answer: Answer) -> None:
    """Stores an answer, without what its step has and the texts that nodes hold, until
    `delete_before` deletes it. Refusals are not stored: the line is run again."""
    if not request.key:
        return
    body = answer.body
    if answer.step is not None:
        if answer.step.quoted:
            body = {**body, "reply": answer.step.message, "quoted": answer.step.quoted}
        known = _of_step(answer.step)
        if answer.running:  # the step will have the later answer
            del known["reply"]
        body = {name: value for name, value in body.items() if known.get(name, ...) != value}
        body["step"] = answer.step.seq
    _keep(actor, tree, request.key, request.line, body)


def find_made(actor: Actor, tree: Tree, key: str, request: str) -> str:
    """The id of what an earlier request with this key has made; "" if there is none. CONFLICT if
    that was another `request`, given as text."""
    kept = _kept(actor, tree, key, request) if key else None
    return str(kept.answer["made"]) if kept is not None else ""


def keep_made(actor: Actor, tree: Tree, key: str, request: str, made: str) -> None:
    """Stores the id of what a request with a key has made."""
    if key:
        _keep(actor, tree, key, request, {"made": made})


def _kept(actor: Actor, tree: Tree, key: str, sent: str) -> Receipt | None:
    """The receipt of a key; CONFLICT if something else was `sent` with it."""
    kept = Receipt.objects.filter(participant=actor.participant, tree=tree, key=key).first()
    if kept is not None and not digest(sent).startswith(kept.line_digest):
        raise CommandError(
            "CONFLICT",
            "This key was already used for another command.",
            hint="use a new key for a new command",
        )
    return kept


def _keep(actor: Actor, tree: Tree, key: str, sent: str, answer: dict[str, Any]) -> None:
    Receipt.objects.create(
        participant=actor.participant,
        tree=tree,
        key=key,
        line_digest=digest(sent)[:DIGITS],
        answer=answer,
    )


def _of_step(step: Step) -> dict[str, Any]:
    """What an answer has that its step has, too, and what it usually is."""
    return {
        "ok": True,
        "reply": step.message,
        "quoted": step.quoted,
        "canonical": step.canonical,
        "step": step.seq,
        "stream": step.stream,
        "events": step.events,
        "refs": [],
        "generations": [],
        "position": step.position,
    }


def delete_before(moment: datetime, *, batch: int = 1000) -> int:
    """Deletes the answers that were stored before a moment, the oldest first and `batch` in each
    transaction; returns how many. A key that is sent again afterwards runs its line again."""
    oldest = Receipt.objects.filter(pk__gt=0).order_by("pk").values_list("pk", "at")
    deleted = 0
    while ids := [pk for pk, _ in takewhile(lambda row: row[1] < moment, oldest[:batch])]:
        with transaction.atomic():
            deleted += Receipt.objects.filter(pk__in=ids).delete()[0]
    return deleted
