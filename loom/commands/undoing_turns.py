"""`undo turn:ID`: takes back all that an agent did in a turn, for its inviter or an owner."""

from collections.abc import Callable
from functools import partial

from django.db import transaction

from loom.commands import inverse, records
from loom.commands.context import Context, Reply
from loom.models import Step, Turn
from loom.models.turns import OPEN_TURN
from loom.queries.turns import turns
from loom.rules.refusals import Refused, not_found

UndoOne = Callable[[Context, Step], str]


def undo_turn(context: Context, uid: str, undo_one: UndoOne) -> Reply:
    """Its node is pruned, then its lines are undone, newest first; the first that fails ends
    it, and is told."""
    turn = turns().filter(uid__iexact=uid, tree=context.tree).first()
    if turn is None:
        raise not_found(f"turn:{uid}")
    _demand_may(context, turn)
    context.agent = turn.participant
    done: list[str] = []
    deeds: list[Callable[[], str]] = [partial(undo_one, context, one) for one in _steps(turn)]
    if _has_node(turn):
        deeds.insert(0, partial(_undo_node, context, turn))
    for deed in deeds:
        head = context.world.stream.head
        try:
            with transaction.atomic():
                done.append(f"✓ undid {deed()}")
        except Refused as refused:
            context.world.rewind(head)
            if not done:
                raise
            done.append(refused.reply)
            break
    if not done:
        raise Refused(
            "REJECTED", "Nothing of this turn is left to undo.", hint="→ undo takes back your own"
        )
    return Reply("\n".join(done))


def _demand_may(context: Context, turn: Turn) -> None:
    if turn.status in OPEN_TURN:
        raise Refused("REJECTED", "This turn goes on.", hint="stop it first")
    if turn.invoked_by != context.actor.participant and not context.actor.is_owner:
        raise Refused(
            "PERMISSION_DENIED",
            "Only who asked for a turn and owners may undo it.",
            hint=f"ask {turn.invoked_by.name}",
        )


def _has_node(turn: Turn) -> bool:
    return turn.node is not None and not turn.node.slot.pruned


def _steps(turn: Turn) -> list[Step]:
    rows = Step.objects.select_for_update().filter(turn_uid=turn.uid, outcome="ok")
    rows = rows.filter(inverse__isnull=False, undoes__isnull=True, is_undone=False)
    return list(rows.order_by("-id"))


def _undo_node(context: Context, turn: Turn) -> str:
    assert turn.node is not None
    before = len(context.world.seqs)
    op = {"op": "made", "node": turn.node.pk, "pruned": True}
    line = f"→ undo turn:{turn.uid}"
    reverse = inverse.apply(context, [op])
    records.write_step(
        context,
        line=line,
        canonical=line,
        outcome="ok",
        stream=f"tree:{context.tree.uid}",
        events=context.world.seqs[before:],
        inverse=reverse,
    )
    return f"[{turn.node.local_id}], the answer of {turn.participant.name}"
