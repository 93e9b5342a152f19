"""Drafts: storing what a person is typing, and deleting it once it has become a node.

This is not a command: it has no line and no step. A draft is saved many times a minute, so its
stream gets an event when it begins, when it ends, and in between at most once per EVENT_EVERY.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine import streams
from loom.engine.context import Context
from loom.engine.views import stored
from loom.errors import CommandError
from loom.permissions import WRITE
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.hashes import instant
from loom.trees.commands.node_writer import demand_text
from loom.trees.models import Draft, Node, Workspace

_SAME_DRAFT = PreparedQuery(
    lambda: Draft.objects.select_related("slot").filter(
        workspace=Given("workspace"), slot=Given("slot"), kind=Given("kind"), text=Given("text")
    )
)

KINDS = ("buffer", "edit", "note")
MAX_DRAFTS = 1000  # of one person in one tree
EVENT_EVERY = timedelta(seconds=2)


@dataclass(frozen=True)
class SentDraft:
    """A draft as it was sent. `seen` is the `at` of the state that the writer last saw ("" for
    none); with None nothing is compared."""

    kind: str
    text: str
    seen: str | None = None


def save(actor: Actor, workspace: Workspace, slot: Node, sent: SentDraft) -> Draft | None:
    """Stores the text as the person's draft at a slot; an empty text deletes it (None). CONFLICT
    if the stored draft is not the one in `seen`, unless it already has this text.
    """
    _demand_own(actor, workspace, sent)
    if sent.text:
        demand_text(sent.text)
    workspace = stored(workspace)
    with transaction.atomic():
        writer = streams.lock(workspace, actor=actor.participant.uid)
        rows = Draft.objects.select_related("slot")
        stored_draft = rows.filter(workspace=workspace, slot=slot, kind=sent.kind).first()
        if (stored_draft.text if stored_draft else "") == sent.text:
            return stored_draft
        if sent.seen is not None and sent.seen != (
            instant(stored_draft.at) if stored_draft else ""
        ):
            raise CommandError(
                "CONFLICT",
                "This draft was changed elsewhere, in another tab or on another device.",
                hint="look at it and keep one of the two",
            )
        if not sent.text:
            end_draft(writer, stored_draft)
            return None
        return _keep(writer, workspace, slot, sent, stored_draft)


def _demand_own(actor: Actor, workspace: Workspace, kept: SentDraft) -> None:
    access.demand(actor, {WRITE}, "a draft", annotates=kept.kind == "note")
    if workspace.participant_id != actor.participant.pk:
        raise CommandError(
            "PERMISSION_DENIED", "Only people have drafts.", hint="write in your own"
        )


def _keep(
    writer: streams.Writer,
    workspace: Workspace,
    slot: Node,
    sent: SentDraft,
    stored_draft: Draft | None,
) -> Draft:
    if stored_draft is None and Draft.objects.filter(workspace=workspace).count() >= MAX_DRAFTS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"You have {MAX_DRAFTS:,} drafts in this tree.",
            hint="send or empty some of them",
        )
    now = timezone.now()
    draft = stored_draft or Draft(workspace=workspace, slot=slot, kind=sent.kind, told_at=now)
    draft.text, draft.at = sent.text, _after(draft.at, now) if stored_draft else now
    if stored_draft is None or now - draft.told_at >= EVENT_EVERY:
        draft.told_at = now
        append_draft(writer, draft, ended=False)
    draft.save()
    return draft


def _after(before: datetime, now: datetime) -> datetime:
    """The current time, but never the instant that already names an earlier state."""
    return max(now, before + timedelta(microseconds=1))


def demand_free(actor: Actor, node: Node) -> None:
    """Refuses with CONFLICT if a model would edit what a person is editing now (docs/model.md
    §5.3)."""
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


def end_draft(writer: streams.Writer, draft: Draft | None) -> None:
    """Deletes a draft and appends its event, if there is one."""
    if draft is not None:
        append_draft(writer, draft, ended=True)
        draft.delete()


def append_draft(writer: streams.Writer, draft: Draft, *, ended: bool) -> None:
    """Appends the event of a draft to the stream of its workspace."""
    body = {"slot": draft.slot.local_id, "kind": draft.kind, "ended": ended}
    writer.append("draft.saved", body if ended else {**body, "at": instant(draft.at)})
    writer.flush()


_BUFFER = PreparedQuery(
    lambda: Draft.objects.select_related("slot").filter(
        workspace=Given("workspace"), slot=Given("slot"), kind="buffer"
    )
)


def working_buffer(context: Context, node: Node) -> Draft | None:
    """What the actor has typed below a node of a buffer and not saved yet, if they may save it."""
    if context.tree.mode != "buffer" or WRITE not in context.actor.permissions:
        return None
    return _BUFFER.first(workspace=context.workspace.pk, slot=node.slot_id)


def settle_draft(context: Context, node: Node, kind: str, text: str) -> None:
    """Deletes the actor's own draft at the node's slot once its text has become a node. It runs in
    the same transaction, so that a crash neither loses nor duplicates the text."""
    at = {"workspace": context.workspace.pk, "slot": node.slot_id}
    draft = _SAME_DRAFT.first(**at, kind=kind, text=text)
    if draft is not None:
        end_draft(streams.lock(context.workspace, actor=context.actor.participant.uid), draft)
