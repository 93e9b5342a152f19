"""What execute writes besides the world: the step, the view's changes, and the kept answer."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from loom.access import Actor, demand
from loom.commands.command_args import Secret
from loom.commands.node_writer import make_items, stored
from loom.commands.registry import Answer, Attempt, Context, Reply, Request
from loom.events import streams
from loom.grammar.lines import makes_window
from loom.models import (
    DocumentView,
    Node,
    Participant,
    Receipt,
    Step,
    StepItem,
    Tree,
    VersionChoice,
    Window,
    Workspace,
)
from loom.models.base import Given, Prepared
from loom.queries import lookup, workspace_bodies
from loom.queries.node_bodies import with_quoted
from loom.queries.windows import opened_by
from loom.queries.workspaces import window_brief
from loom.rules.errors import CommandError, not_found
from loom.rules.limits import WRITE
from loom.rules.node_values import block_of, digest, take_out_quotations
from loom.rules.windows import OF_WORKSPACE, demand_settings

SHORT = 200  # characters of a text that a step keeps as it is; of longer ones it keeps this start


def find(actor: Actor, tree: Tree, request: Request) -> dict[str, Any] | None:
    """The kept answer to this key and line; CONFLICT where the key came with another line."""
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
    return {**body, "reply": with_quoted([(0, body["reply"], quoted)])[0]} if quoted else body


def keep(actor: Actor, tree: Tree, request: Request, answer: Answer) -> None:
    """Keeps an answer, without the texts that nodes hold, until `delete_before` deletes it.
    Refusals are not kept: the line is run again."""
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
    """Deletes the answers that were kept before a moment, `batch` in each transaction; how
    many. A key that is sent again afterwards runs its line again."""
    old = Receipt.objects.filter(at__lt=moment).order_by("at").values_list("pk", flat=True)
    deleted = 0
    while ids := list(old[:batch]):
        with transaction.atomic():
            deleted += Receipt.objects.filter(pk__in=ids).delete()[0]
    return deleted


# What execute writes besides the world: the step, the view's changes, and the answer.


def done(attempt: Attempt, context: Context, reply: Reply) -> Answer:
    """Writes the step and the moves of a line that ran; its answer. In a transaction."""
    workspace = attempt.workspace
    attempt.is_held = _is_held(attempt, context)
    position = _move(attempt, workspace, context)
    message, quoted = take_out_quotations(reply.text, [(one.id, one.text) for one in reply.quotes])
    if context.steps:
        last = context.steps[-1]
        last.message, last.quoted = message, quoted or None
        last.turn_place = attempt.request.place
        last.save(update_fields=["message", "quoted", "turn_place"])
    else:
        last = _step(
            attempt,
            workspace,
            outcome="ok",
            message=message,
            quoted=quoted or None,
            items=reply.items,
            link_type=reply.link_type,
            inverse=list(reply.inverse) or None,
        )
    _keep_windows(attempt, workspace, context, last)
    for document, revision in context.seen.items():
        DocumentView.objects.update_or_create(
            workspace=workspace, document_id=document, defaults={"revision": revision}
        )
    _keep_tasks(attempt, workspace, context)
    _write_line_event(attempt, workspace, last.seq)
    return replace(_answer(attempt, reply, position, step=last.seq), step=last)


def _keep_windows(attempt: Attempt, workspace: Workspace, context: Context, step: Step) -> None:
    """Stores the windows that a line opened or changed, and writes their events. The result of
    a look in a turn becomes a window too; the event of its line names it."""
    if attempt.request.turn and makes_window(attempt.line):
        Window.objects.create(
            workspace=workspace,
            number=step.seq,
            kind="result",
            step=step,
            turn_uid=attempt.request.turn,
            opened_at=context.now,
        )
    # A label is free for the stash that replaces another once that one is closed.
    for window in sorted(context.windows, key=lambda one: (one.pk is None, one.number)):
        is_new = window.pk is None
        make_items([window.item_id] if window.item_id is not None else [])
        if is_new:
            is_first = window.number == step.seq
            window.step = step if is_first else _step_of(attempt, workspace, context, window)
        window.save()
        kind = "opened" if is_new else "closed" if window.is_closed else "changed"
        _write_window_event(attempt, workspace, kind, window)
    for canonical, because in context.asides:
        fields = {"canonical": canonical, "line": canonical, "because": because}
        _aside(attempt, workspace, **fields, message="✓")


def _step_of(attempt: Attempt, workspace: Workspace, context: Context, window: Window) -> Step:
    """The step of one of several windows that a line opened: as if it had been opened alone."""
    canonical = f"→ open {opened_by(window, context.tree)}"
    items = [window.item_id] if window.item_id is not None else []
    said = f"✓ opened #{window.number}"
    return _aside(
        attempt, workspace, canonical=canonical, line=canonical, message=said, items=items
    )


def _aside(attempt: Attempt, workspace: Workspace, **fields: Any) -> Step:
    """A step that follows from that of a line. It is none of the turn's lines."""
    actor = attempt.actor
    return _numbered(
        workspace,
        actor=actor.participant,
        on_behalf_of=None if actor.person == actor.participant else actor.person,
        turn_uid=attempt.request.turn,
        position=attempt.position[:8],
        outcome="ok",
        **fields,
    )


def _write_window_event(attempt: Attempt, workspace: Workspace, kind: str, window: Window) -> None:
    _write_view_event(attempt, workspace, f"window.{kind}", {"windows": [window_brief(window)]})


def _keep_tasks(attempt: Attempt, workspace: Workspace, context: Context) -> None:
    """Stores the tasks that a line added or changed, and writes an event for each kind."""
    added = [one for one in context.tasks if one.pk is None]
    changed = [one for one in context.tasks if one.pk is not None]
    for task in context.tasks:
        task.save()
    for kind, rows in (("added", added), ("changed", changed)):
        if rows:
            bodies = [workspace_bodies.task_brief(one) for one in rows]
            _write_view_event(attempt, workspace, f"task.{kind}", {"tasks": bodies})


def would_answer(attempt: Attempt, context: Context, reply: Reply) -> Answer:
    """The answer of a line of a dry run: as `done`, but nothing is written."""
    workspace = attempt.workspace
    position = _position_after(workspace, context)
    if workspace.position_id == position.pk and not context.chosen:
        position = lookup.visible_at_or_above(position, workspace, _would_be_pruned(context))
    attempt.seqs = []
    return _answer(attempt, replace(reply, generations=()), position, step=None)


def _would_be_pruned(context: Context) -> dict[int, bool]:
    """The slots that a line would prune or restore."""
    flags = [one.payload for one in context.world.pending if one.kind == "node.flagged"]
    slots = [(lookup.find_node(context.tree, one["slot"]), one) for one in flags]
    return {
        slot.pk: one["value"] for slot, one in slots if slot is not None and one["flag"] == "pruned"
    }


def _answer(attempt: Attempt, reply: Reply, position: Node, *, step: int | None) -> Answer:
    body = {
        "ok": True,
        "reply": reply.text,
        "canonical": attempt.canonical,
        "step": step,
        "stream": attempt.stream,
        "events": attempt.seqs,
        "refs": list(reply.refs),
        "generations": list(reply.generations),
        "position": lookup.node_ref(position, attempt.tree.pk),
    }
    return Answer(body, running=reply.running)


def _is_held(attempt: Attempt, context: Context) -> bool:
    """Whether a node that the line made holds its content: then the log only names it. What
    is stored nowhere else, such as a thought or a refused text, stays in the step."""
    if attempt.line is None or context.writer is None:
        return False
    block = block_of(attempt.line.canonical)
    texts = [node.text for node in context.writer.nodes]
    return any(block in text for text in (*texts, *context.writer.texts))


def refused(attempt: Attempt, why: CommandError) -> int:
    """Writes the step of a refused line, after its transaction was rolled back; returns its
    number."""
    with transaction.atomic():
        workspace = locked(attempt.workspace)
        step = _step(attempt, workspace, outcome=why.code, message=why.message, hint=why.hint)
        _write_line_event(attempt, workspace, step.seq)
        return step.seq


_LOCKED = Prepared(
    lambda: (
        Workspace.objects.select_for_update(of=("self",))
        .select_related("position")
        .filter(pk=Given("pk"))
    )
)


def locked(workspace: Workspace) -> Workspace:
    """The workspace as it is now, locked: its steps are numbered."""
    found = _LOCKED.first(pk=workspace.pk)
    if found is None:  # its tree was erased meanwhile
        raise not_found("This workspace")
    return found


def next_step(workspace: Workspace) -> str:
    """The reference of the step that a locked workspace will have next."""
    return f"step:{workspace.steps_made + 1}"


def write_step(context: Context, **fields: Any) -> Step:
    """A step that a command writes itself (undo: one for each inverse)."""
    actor = context.actor
    is_own_origin = context.world.origin == next_step(context.workspace)
    step = _numbered(
        context.workspace,
        actor=actor.participant,
        on_behalf_of=None if actor.person == actor.participant else actor.person,
        turn_uid=context.turn,
        **fields,
    )
    context.steps.append(step)
    if is_own_origin:
        context.world.origin = next_step(context.workspace)
    return step


def _step(attempt: Attempt, workspace: Workspace, **fields: Any) -> Step:
    actor = attempt.actor
    return _numbered(
        workspace,
        actor=actor.participant,
        on_behalf_of=None if actor.person == actor.participant else actor.person,
        turn_uid=attempt.request.turn,
        position=attempt.position[:8],
        turn_place=attempt.request.place,
        loop=attempt.request.loop or None,
        line=attempt.as_given,
        canonical=attempt.canonical,
        because=attempt.line.because if attempt.line else "",
        stream=attempt.stream if attempt.seqs else "",
        events=attempt.seqs,
        **fields,
    )


def _numbered(workspace: Workspace, *, items: Sequence[int] = (), **fields: Any) -> Step:
    workspace.steps_made += 1
    workspace.save(update_fields=["steps_made"])
    step = Step.objects.create(
        workspace=workspace, seq=workspace.steps_made, at=timezone.now(), **fields
    )
    touch(step, items)
    return step


def touch(step: Step, items: Sequence[int]) -> None:
    """Keeps which items a step touched; no query where there are none, else two."""
    if items:
        make_items(items)
        StepItem.objects.bulk_create(
            StepItem(step=step, item_id=one, place=place) for place, one in enumerate(items)
        )


def _position_after(workspace: Workspace, context: Context) -> Node:
    """Where a line leaves the workspace."""
    return context.moved_to or (context.here if context.at else workspace.position)


def _move(attempt: Attempt, workspace: Workspace, context: Context) -> Node:
    """Moves the workspace to where the line led, selects versions and writes the event of the
    workspace; returns the position."""
    position = _position_after(workspace, context)
    for slot_id, node in context.chosen.items():
        VersionChoice.objects.update_or_create(
            workspace=workspace, slot_id=slot_id, defaults={"node": node}
        )
    moves = workspace.position_id != position.pk or bool(context.chosen)
    changed: dict[str, Any] = {"outline": context.outline} if context.outline is not None else {}
    if context.augments is not None and context.augments != workspace.augments:
        changed["augments"] = context.augments
    if moves:
        workspace.position = position
        changed |= {
            "position": lookup.node_ref(position, attempt.tree.pk),
            "versions": {str(n.slot.local_id): n.local_id for n in context.chosen.values()},
        }
    if changed:
        _write_view_event(attempt, workspace, "view.changed", changed)
    return position if moves else lookup.visible_at_or_above(position, workspace)


def _write_line_event(attempt: Attempt, workspace: Workspace, seq: int) -> None:
    """Writes the event that a line of a turn was answered; a step changes no tree."""
    if attempt.request.turn:
        said = {"step": seq, "turn": attempt.request.turn}
        _write_view_event(attempt, workspace, "view.changed", said)


def _write_view_event(
    attempt: Attempt, workspace: Workspace, kind: str, changed: dict[str, Any]
) -> None:
    """Stores what changed in the view and writes its event."""
    workspace.outline = changed.get("outline", workspace.outline)
    workspace.augments = changed.get("augments", workspace.augments)
    workspace.revision += 1
    workspace.save(update_fields=["position", "outline", "augments", "revision"])
    writer = streams.lock(workspace, actor=attempt.actor.participant.uid)
    writer.append(kind, {**changed, "revision": workspace.revision})
    writer.flush()


# Changing a workspace outside of a line: a turn begins, goes back, or ends; an answer comes later.


def answered(workspace: Workspace, seq: int, *, turn: str) -> None:
    """Writes the event that the answer of a step came later, in a turn (its uid) or ("") outside of
    one. Needs a transaction in which the workspace is locked."""
    workspace.revision += 1
    workspace.save(update_fields=["revision"])
    writer = streams.lock(workspace, actor=workspace.participant.uid)
    said = {"step": seq, **({"turn": turn} if turn else {})}
    writer.append("view.changed", {**said, "revision": workspace.revision})
    writer.flush()


def set_position_now(workspace: Workspace, node: Node, *, actor: Participant) -> None:
    """The same in a transaction of its own."""
    with transaction.atomic():
        set_position(workspace, node, actor=actor)


def set_position(workspace: Workspace, node: Node, *, actor: Participant) -> None:
    """Moves a workspace to a node and writes the event. Needs a transaction."""
    row = locked(workspace)
    if row.position_id == node.pk:
        return
    row.position = node
    row.revision += 1
    row.save(update_fields=["position", "revision"])
    writer = streams.lock(row, actor=actor.uid)
    changed = {"position": lookup.node_ref(node, row.tree_id), "versions": {}}
    writer.append("view.changed", {**changed, "revision": row.revision})
    writer.flush()


def set_settings(actor: Actor, workspace: Workspace, settings: Mapping[str, Any]) -> Workspace:
    """Changes settings of a workspace, None going back to those of its grove or tree, and writes
    the event; the workspace. PERMISSION_DENIED for an agent's where the actor may not write."""
    if workspace.participant_id != actor.participant.pk:
        demand(actor, {WRITE}, "changing the settings of an agent's windows")
    unknown = next((name for name in settings if name not in OF_WORKSPACE), None)
    if unknown is not None:
        hint = " or ".join(OF_WORKSPACE)
        raise CommandError("INVALID_SYNTAX", f"There is no setting {unknown!r}.", hint=hint)
    given = {name: value for name, value in settings.items() if value is not None}
    demand_settings(given)
    with transaction.atomic():
        row = locked(stored(workspace))
        kept = {name: value for name, value in row.settings.items() if name not in settings}
        row.settings = {**kept, **given}
        row.revision += 1
        row.save(update_fields=["settings", "revision"])
        writer = streams.lock(row, actor=actor.participant.uid)
        writer.append("view.changed", {"settings": row.settings, "revision": row.revision})
        writer.flush()
    workspace.settings, workspace.revision = row.settings, row.revision
    return stored(workspace)


def set_checkpoint(workspace: Workspace, head: int, *, actor: Participant) -> None:
    """Moves the checkpoint of a workspace: events of its tree up to `head` are no longer
    news. Needs a transaction."""
    row = locked(workspace)
    row.checkpoint = head
    row.revision += 1
    row.save(update_fields=["checkpoint", "revision"])
    writer = streams.lock(row, actor=actor.uid)
    writer.append("view.changed", {"checkpoint": head, "revision": row.revision})
    writer.flush()


def recorded(value: Any) -> Any:
    """Arguments as a step keeps them: no secrets, no long texts, rows by their public id."""
    if isinstance(value, BaseModel):
        return {
            name: recorded(getattr(value, name))
            for name, one in type(value).model_fields.items()
            if name in value.model_fields_set and not _is_secret(one)
        }
    if isinstance(value, models.Model):
        return str(getattr(value, "uid", value))
    if isinstance(value, Mapping):
        return {str(name): recorded(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [recorded(one) for one in value]
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _is_secret(one: FieldInfo) -> bool:
    return any(isinstance(mark, Secret) for mark in one.metadata)


def _short(text: str) -> Any:
    kept = storable(text)
    if len(text) <= SHORT:
        return kept
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return {"start": kept[:SHORT], "length": len(text), "sha256": digest}


def storable(text: str) -> str:
    """The text without what PostgreSQL and UTF-8 cannot store."""
    return text.replace("\0", "�").encode(errors="replace").decode()
