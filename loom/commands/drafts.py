"""Drafts: keeping what a person has typed, and ending it once it has become a node.

Not a command: it has no line and no step. A draft is saved many times a minute, so its stream
gets an event when it begins, when it ends, and in between at most once in EVENT_EVERY.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands.context import Context
from loom.commands.node_writer import demand_text
from loom.events import streams
from loom.models import Draft, Node, Workspace
from loom.models.base import Given, Prepared
from loom.rules.errors import CommandError
from loom.rules.identity import instant
from loom.rules.permissions import WRITE

KINDS = ("buffer", "edit", "note")
MAX_DRAFTS = 1000  # of one person in one tree
EVENT_EVERY = timedelta(seconds=2)


@dataclass(frozen=True)
class Kept:
    """What is sent to be kept. `seen`: the `at` of the state the writer last saw ("" for
    none at all); None asks for nothing to be compared."""

    kind: str
    text: str
    seen: str | None = None


def save(actor: Actor, workspace: Workspace, slot: Node, kept: Kept) -> Draft | None:
    """Keeps the text as the person's draft at a slot; an empty one ends it (None).

    CONFLICT where the draft is another than `seen`, and not this text anyway.
    """
    _demand_own(actor, workspace)
    if kept.text:
        demand_text(kept.text)
    with transaction.atomic():
        writer = streams.lock(workspace, actor=actor.participant.uid)
        rows = Draft.objects.select_related("slot")
        found = rows.filter(workspace=workspace, slot=slot, kind=kept.kind).first()
        if (found.text if found else "") == kept.text:
            return found
        if kept.seen is not None and kept.seen != (instant(found.at) if found else ""):
            raise CommandError(
                "CONFLICT",
                "This draft was changed elsewhere, in another tab or on another device.",
                hint="look at it and keep one of the two",
            )
        if not kept.text:
            _end(writer, found)
            return None
        return _keep(writer, workspace, slot, kept, found)


def _demand_own(actor: Actor, workspace: Workspace) -> None:
    access.demand(actor, {WRITE}, "a draft")
    if workspace.participant_id != actor.participant.pk:
        raise CommandError(
            "PERMISSION_DENIED", "Only people have drafts.", hint="write in your own"
        )


def _keep(
    writer: streams.Writer, workspace: Workspace, slot: Node, kept: Kept, found: Draft | None
) -> Draft:
    if found is None and Draft.objects.filter(workspace=workspace).count() >= MAX_DRAFTS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"You have {MAX_DRAFTS:,} drafts in this tree.",
            hint="send or empty some of them",
        )
    now = timezone.now()
    draft = found or Draft(workspace=workspace, slot=slot, kind=kept.kind, told_at=now)
    draft.text, draft.at = kept.text, _after(draft.at, now) if found else now
    if found is None or now - draft.told_at >= EVENT_EVERY:
        draft.told_at = now
        _tell(writer, draft, ended=False)
    draft.save()
    return draft


def _after(before: datetime, now: datetime) -> datetime:
    """Now, but never the instant that already names an earlier state."""
    return max(now, before + timedelta(microseconds=1))


def _end(writer: streams.Writer, draft: Draft | None) -> None:
    if draft is not None:
        _tell(writer, draft, ended=True)
        draft.delete()


def _tell(writer: streams.Writer, draft: Draft, *, ended: bool) -> None:
    body = {"slot": draft.slot.local_id, "kind": draft.kind, "ended": ended}
    writer.append("draft.saved", body if ended else {**body, "at": instant(draft.at)})
    writer.flush()


_SAME = Prepared(
    lambda: Draft.objects.select_related("slot").filter(
        workspace=Given("workspace"), slot=Given("slot"), kind=Given("kind"), text=Given("text")
    )
)


def settle(context: Context, node: Node, kind: str, text: str) -> None:
    """Ends the actor's own draft at the node's slot, where its text has become a node: in
    the same transaction, so that a crash leaves it neither lost nor doubled."""
    at = {"workspace": context.workspace.pk, "slot": node.slot_id}
    draft = _SAME.first(**at, kind=kind, text=text)
    if draft is not None:
        _end(streams.lock(context.workspace, actor=context.actor.participant.uid), draft)


def demand_free(actor: Actor, node: Node) -> None:
    """Refuses CONFLICT where a model would edit what a person is editing now
    (docs/model.md §5.3)."""
    if actor.participant.kind != "model":
        return
    rows = Draft.objects.filter(slot=node.slot_id, kind="edit")
    pending = rows.select_related("workspace__participant").first()
    if pending is not None:
        raise CommandError(
            "CONFLICT",
            f"{pending.workspace.participant.name} is editing [{node.local_id}] and has not "
            "saved yet.",
            hint="write a note or a suggestion, or come back later",
        )
