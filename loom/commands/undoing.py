"""Undo and redo: steps of their own that apply the inverse of one's own earlier steps.

The log is never edited; what was undone is marked on its step.
"""

from collections.abc import Callable
from typing import Annotated

from django.db import transaction
from django.db.models import QuerySet

from loom import access
from loom.commands import inverse, records, registry
from loom.commands.args import Args, RefField, Written
from loom.commands.context import Context, Reply
from loom.commands.phrases import in_one_line
from loom.commands.registry import command
from loom.commands.undoing_turns import undo_turn
from loom.models import Participant, Step
from loom.rules.refusals import Refused, not_found

MAX = 20


class Undo(Args):
    """How many of one's last steps."""

    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MAX)] = 1


class UndoRef(Args):
    """Which step, one's own or by whom; or which turn."""

    ref: Annotated[RefField, Written("ref", refs=("step", "turn"))]
    by: Annotated[str, Written("option", key="by", value="quoted")] = ""


class Redo(Args):
    """How many undone steps."""

    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MAX)] = 1


@command("undo", group="Make", klass="write", letters="A", stream="tree")
def undo(context: Context, args: Undo) -> Reply:
    """Takes back your last changes in this tree, newest first, each as a step of its own."""
    return _repeated(context, args.n, _last_undoable, _undo_one, "undid")


@command("undo", group="Make", klass="write", letters="A", stream="tree")
def undo_ref(context: Context, args: UndoRef) -> Reply:
    """Takes back one step of yours (an owner: of anybody), or all of a turn you asked for."""
    if args.ref.kind == "turn":
        return undo_turn(context, args.ref.id, _undo_one)
    steps = _steps_by(context, args.by) if args.by else _own_steps(context)
    step = steps.filter(seq=int(args.ref.id)).first()
    if step is None:
        raise not_found(f"step:{args.ref.id}", "your steps are listed under History")
    if step.inverse is None or step.undoes_id is not None:
        raise Refused(
            "REJECTED",
            f"Step {step.seq} changed nothing that can be taken back.",
            hint="→ undo takes back the last change",
        )
    if step.is_undone:
        raise Refused("REJECTED", f"Step {step.seq} is undone already.", hint="→ redo")
    return Reply(f"✓ undid {_undo_one(context, step)}")


@command("redo", group="Make", klass="write", letters="A", stream="tree")
def redo(context: Context, args: Redo) -> Reply:
    """Does again what you undid last. A new change clears it."""
    return _repeated(context, args.n, _last_redoable, _redo_one, "redid")


def _repeated(
    context: Context,
    times: int,
    find: Callable[[Context], Step],
    act: Callable[[Context, Step], str],
    word: str,
) -> Reply:
    """Acts up to `times` times; the first that fails ends it, and is told."""
    lines: list[str] = []
    for _ in range(times):
        head = context.world.stream.head
        try:
            with transaction.atomic():
                lines.append(f"✓ {word} {act(context, find(context))}")
        except Refused as refused:
            context.world.rewind(head)
            if not lines:
                raise
            lines.append(refused.reply)
            break
    return Reply("\n".join(lines))


def _own_steps(context: Context) -> QuerySet[Step]:
    return Step.objects.select_for_update().filter(
        workspace=context.workspace, actor=context.actor.participant, outcome="ok"
    )


def _steps_by(context: Context, name: str) -> QuerySet[Step]:
    """The steps of a participant of the grove in this tree; for owners, else one's own."""
    grove = context.tree.grove
    who = Participant.objects.filter(grove=grove, name__iexact=name).first()
    if who == context.actor.participant:
        return _own_steps(context)
    if not context.actor.is_owner:
        raise Refused(
            "PERMISSION_DENIED",
            "Only owners undo what others did.",
            hint="→ undo takes back your own last change",
        )
    if who is None:
        raise not_found(f'by:"{name}"', "participants are listed under Participants")
    context.agent = who
    return Step.objects.select_for_update(of=("self",)).filter(
        workspace__tree=context.tree, workspace__participant=who, actor=who, outcome="ok"
    )


def _last_undoable(context: Context) -> Step:
    step = (
        _own_steps(context)
        .filter(inverse__isnull=False, undoes__isnull=True, is_undone=False)
        .order_by("-seq")
        .first()
    )
    if step is None:
        raise Refused(
            "REJECTED",
            "There is nothing of yours left to undo here.",
            hint="History shows what was done",
        )
    return step


def _last_redoable(context: Context) -> Step:
    last_change = (
        _own_steps(context)
        .filter(inverse__isnull=False, undoes__isnull=True)
        .order_by("-seq")
        .values_list("seq", flat=True)
        .first()
    )
    step = (
        _own_steps(context)
        .filter(undoes__isnull=False, redone=False, seq__gt=last_change or 0)
        .order_by("-seq")
        .first()
    )
    if step is None:
        raise Refused("REJECTED", "There is nothing to redo.", hint="a new change clears redo")
    return step


def _demand_letters(context: Context, step: Step) -> None:
    """The permission of undo is that of what is undone."""
    verb = step.canonical.removeprefix("→").split()[0]
    access.demand(context.actor, registry.find(verb).letters, f"undoing {verb}")


def _undo_one(context: Context, step: Step) -> str:
    _demand_letters(context, step)
    before = len(context.world.seqs)
    reverse = inverse.apply(context, step.inverse or [])
    step.is_undone = True
    step.save(update_fields=["is_undone"])
    _write(context, f"→ undo step:{step.seq}", before, inverse=reverse, undoes=step)
    return in_one_line(step.canonical)


def _redo_one(context: Context, undone: Step) -> str:
    original = Step.objects.get(pk=undone.undoes_id or 0)
    _demand_letters(context, original)
    before = len(context.world.seqs)
    again = inverse.apply(context, undone.inverse or [])
    undone.redone = True
    undone.save(update_fields=["redone"])
    original.is_undone, original.inverse = False, again
    original.save(update_fields=["is_undone", "inverse"])
    _write(context, "→ redo", before, inverse=None, undoes=None)
    return in_one_line(original.canonical)


def _write(
    context: Context,
    canonical: str,
    before: int,
    *,
    inverse: list[dict[str, object]] | None,
    undoes: Step | None,
) -> None:
    records.write_step(
        context,
        line=canonical,
        canonical=canonical,
        outcome="ok",
        stream=f"tree:{context.tree.uid}",
        events=context.world.seqs[before:],
        inverse=inverse,
        undoes=undoes,
    )
