"""What undo does to generations, and `undo turn:ID`: everything that an agent did in a turn, for
its inviter or an owner."""

from collections.abc import Callable
from functools import partial

from loom.engine.context import Context, Op, Reply
from loom.engine.models import Step
from loom.engine.undo import (
    NOT_REDONE,
    UNDOABLE,
    Own,
    Undone,
    apply,
    redo_step,
    redoes_ref,
    undo_each,
    undo_step,
    undoes,
    undoes_ref,
    write,
)
from loom.errors import CommandError, not_found, require
from loom.trees.commands.undoing import undo_made, when_asked_for
from loom.trees.models import Node
from loom.trees.queries import lookup
from loom.turns import generation_lifecycle
from loom.turns.commands import continuing
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.turns.queries import turns
from loom.turns.turn_lifecycle import ask_stop


@when_asked_for
def _was_asked_for(node: Node, own: Own) -> bool:
    """Whether a model wrote the node because the caller asked for it."""
    return (
        Generation.objects.filter(uid=node.generation_uid, asked_by__in=own).exists()
        if node.generation_uid
        else False
    )


@undoes("generations")
def _generations(context: Context, op: Op, own: Own) -> list[Op]:
    """Stops what still runs (its text is pruned when it ends), and prunes what has ended."""
    reverse: list[Op] = []
    # Locked in the order in which a worker locks those that begin: two orders would deadlock.
    rows = Generation.objects.select_for_update().filter(uid__in=op["uids"]).order_by("id")
    for row in reversed(rows):
        if row.status in continuing.ENDED:
            if row.node_id and not lookup.rows().get(pk=row.node_id).pruned:
                reverse = [
                    *undo_made(context, {"op": "made", "node": row.node_id, "pruned": True}, own),
                    *reverse,
                ]
            continue
        row.discard = True
        row.save(update_fields=["discard"])
        generation_lifecycle.ask_stop(row)
        reverse = [{"op": "stopped", "uid": row.uid}, *reverse]
    return reverse


@undoes("stopped")
def _stopped(context: Context, op: Op, own: Own) -> list[Op]:
    """Redo of a stopped generation: restores the text it had by then."""
    row = Generation.objects.select_for_update().get(uid=op["uid"])
    row.discard = False
    row.save(update_fields=["discard"])
    if row.node_id and lookup.rows().get(pk=row.node_id).pruned:
        return undo_made(context, {"op": "made", "node": row.node_id, "pruned": False}, own)
    return [{"op": "generations", "uids": [row.uid]}]


@undoes("asked")
def _asked(_context: Context, op: Op, _own: Own) -> list[Op]:
    """Stops the turn that a question started; the question itself is pruned."""
    turn = Turn.objects.filter(ask__uid=op["ask"], status__in=OPEN_TURN).first()
    if turn is not None:
        ask_stop(turn)
    return []


@undoes_ref("turn")
def undo_turn(context: Context, uid: str) -> Reply:
    """Prunes the node of the turn, then undoes its lines, newest first; the first that fails ends
    it, and is reported."""
    turn = turns().filter(uid__iexact=uid, tree=context.tree).first()
    if turn is None:
        raise not_found(f"turn:{uid}")
    _demand_may(context, turn)
    own = [context.actor.participant, turn.participant]
    undos: list[Callable[[], Undone]] = [
        partial(undo_step, context, step, own, of_ref=f"turn:{turn.uid}") for step in _steps(turn)
    ]
    if _has_node(turn):
        undos.insert(0, partial(_undo_node, context, turn, own))
    if not undos:
        raise CommandError(
            "REJECTED", "Nothing in this turn is left to undo.", hint="→ undo undoes your own"
        )
    return undo_each(context, undos, "undid")


def _demand_may(context: Context, turn: Turn) -> None:
    """Refuses all but whoever started the turn, and owners; and while it runs."""
    if turn.status in OPEN_TURN:
        raise CommandError("REJECTED", "This turn is still running.", hint="stop it first")
    if turn.invoked_by != context.actor.participant and not context.actor.is_owner:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only the person who started a turn and owners can undo it.",
            hint=f"ask {turn.invoked_by.name}",
        )


def _has_node(turn: Turn) -> bool:
    return turn.node is not None and not turn.node.slot.pruned


def _steps(turn: Turn) -> list[Step]:
    rows = Step.objects.select_for_update().filter(turn_uid=turn.uid, outcome="ok")
    rows = rows.filter(UNDOABLE)
    return list(rows.order_by("-id"))


def _undo_node(context: Context, turn: Turn, own: Own) -> Undone:
    node = require(turn.node, "the node of the turn")
    before = len(context.world.seqs)
    reverse = apply(context, [{"op": "made", "node": node.pk, "pruned": True}], own)
    step = write(context, f"→ undo turn:{turn.uid}", before, inverse=reverse, undoes=None)
    return _of_turn(turn, node, step)


def _of_turn(turn: Turn, node: Node, step: Step) -> Undone:
    """What undoing or redoing the node of a turn has done."""
    name = turn.participant.name
    part = {"turn": turn.uid, "by": name}
    return Undone(f"[{node.local_id}], the answer of {name}", step, (part,))


@redoes_ref("turn")
def redo_turn(context: Context, uid: str) -> list[Undone]:
    """Repeats what `undo turn:ID` took back: the lines in their order, then the node. All of it or
    nothing."""
    turn = turns().filter(uid__iexact=uid, tree=context.tree).first()
    if turn is None:
        raise not_found(f"turn:{uid}")
    _demand_may(context, turn)
    own = [context.actor.participant, turn.participant]
    undone = Step.objects.select_for_update(of=("self",)).select_related("undoes")
    undone = undone.filter(undoes__turn_uid=turn.uid, undoes__is_undone=True, redone=False)
    redone = [
        redo_step(context, step, step.undoes, own)
        for step in undone.order_by("undoes__id")
        if step.undoes is not None
    ]
    hidden = Step.objects.select_for_update().filter(
        canonical=f"→ undo turn:{turn.uid}", stream=f"tree:{context.tree.uid}", outcome="ok"
    )
    pruning = hidden.filter(NOT_REDONE, undoes__isnull=True).order_by("-id").first()
    if turn.node is not None and pruning is not None and turn.node.slot.pruned:
        redone.append(_redo_node(context, turn, pruning, own))
    if not redone:
        raise CommandError(
            "REJECTED", "Nothing in this turn was undone.", hint="→ redo repeats your own"
        )
    return redone


def _redo_node(context: Context, turn: Turn, pruning: Step, own: Own) -> Undone:
    node = require(turn.node, "the node of the turn")
    before = len(context.world.seqs)
    apply(context, pruning.inverse or [], own)
    pruning.redone = True
    pruning.save(update_fields=["redone"])
    step = write(context, f"→ redo turn:{turn.uid}", before, inverse=None, undoes=None)
    return _of_turn(turn, node, step)
