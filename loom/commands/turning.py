"""The states of a turn as rows: each change is one transaction, and safe to repeat.

A worker holds a turn by its lease while it moves it on; nothing waits under it for a model.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from loom.commands import growth, landing, money, queueing, turns
from loom.commands.continuing import started_body
from loom.commands.growth import NewNode
from loom.commands.money import Wish
from loom.log import streams
from loom.log.jobs import enqueue
from loom.models import Generation, Node, Step, Turn
from loom.models.base import new_uid
from loom.models.turns import OPEN_TURN
from loom.queries import lookup
from loom.queries.turns import turns as rows

# Each stored state begins it anew. A line that takes longer may be run by a second worker:
# the step of its place is taken once, so that only one of them changes anything.
LEASE_S = 12


def take(uid: str, lease: str) -> Turn | None:
    """The turn, held under `lease`; None where it has ended or somebody else holds it."""
    moment = timezone.now()
    named = Turn.objects.filter(uid=uid, status__in=OPEN_TURN, tree__erasing_at__isnull=True)
    with transaction.atomic():
        row = named.select_for_update(of=("self",)).first()
        if row is None or (row.lease and row.leased_until and row.leased_until > moment):
            return None
        named.update(lease=lease, leased_until=moment + timedelta(seconds=LEASE_S))
    return rows().get(pk=row.pk)


def let_go(turn: Turn) -> None:
    """Gives the lease back."""
    Turn.objects.filter(pk=turn.pk, lease=turn.lease).update(lease="", leased_until=None)


def keep(turn: Turn, **changed: Any) -> bool:
    """Stores a state of a held turn, and begins its lease anew. False where it is lost."""
    moment = timezone.now()
    held = Turn.objects.filter(pk=turn.pk, lease=turn.lease, status__in=OPEN_TURN)
    if not held.update(
        **changed, moved_at=moment, leased_until=moment + timedelta(seconds=LEASE_S)
    ):
        return False
    for name, value in changed.items():
        setattr(turn, name, value)
    return True


def begin_round(turn: Turn, *, tokens: int) -> Generation:
    """Queues the generation of the turn's round, and lets it be generating.

    Raises Refused LIMIT_EXCEEDED where the day's money does not reach for `tokens` read.
    """
    agent, payer = turn.participant, turn.invoked_by
    lane = queueing.lane_of(agent)
    with transaction.atomic():
        writer = streams.lock(turn.tree, actor=agent.uid, origin=f"turn:{turn.uid}")
        day, (share,) = money.reserve(payer, [Wish(agent, 1, None)], tokens)
        made = Generation.objects.create(
            tree=turn.tree,
            participant=agent,
            asked_by=payer,
            payer=payer,
            batch=new_uid(),
            point=turn.stands_at,
            index=1,
            turn=turn,
            round=turn.round,
            lane=lane,
            rank=next(queueing.ranks(lane, payer)),
            day=day,
            prices=share.prices,
            reading=share.reading,
            reserved=share.reserved,
        )
        if not keep(turn, status="generating", generation=made):
            raise LostError
        writer.append("generation.started", {"generation": started_body(made)})
        writer.flush()
        enqueue("agents.tasks.run_generation", [made.uid], queue="continue")
    return made


def now() -> datetime:
    """The time, for those who read none themselves."""
    return timezone.now()


class LostError(Exception):
    """Somebody else holds the turn by now; what was begun is rolled back."""


def step_at(turn: Turn, place: str) -> Step | None:
    """The step of a line that ran already, before a worker was lost."""
    return Step.objects.filter(turn_uid=turn.uid, turn_place=place).first()


def finish(turn: Turn, *, text: str) -> None:
    """Ends a turn that is finishing: its text becomes a node below where it stands, or a note
    at the point of an aside; no text, no node."""
    with transaction.atomic():
        writer = streams.lock(turn.tree, actor=turn.participant.uid, origin=f"turn:{turn.uid}")
        row = rows().select_for_update(of=("self",)).get(pk=turn.pk)
        if row.status != "finishing":
            return
        node = _answer(writer, row, text) if text else None
        turns.end(writer, row, _status(row), finish=row.finish, error=row.error, node=node)
        writer.flush()


def _answer(writer: streams.Writer, turn: Turn, text: str) -> Node:
    is_aside = turn.form == "aside"
    below = turn.input_node if is_aside and turn.input_node else turn.stands_at
    call = _last_call(turn)
    new = NewNode(
        text,
        kind="annotation" if is_aside else "text",
        form="note" if is_aside else "",
        parent=lookup.rows().get(pk=below.pk),
        call_uid=call.call.uid if call and call.call else "",
        configuration=call.call.configuration if call and call.call else "",
        generation_uid=call.uid if call else "",
        finish=turn.finish or "complete",
    )
    return growth.add_node(writer, turn.tree, turn.participant, new)


def _last_call(turn: Turn) -> Generation | None:
    """The last round that said something: its call is what the node names."""
    found = Generation.objects.filter(turn=turn, round__gt=0, call__isnull=False)
    found = found.exclude(text="")
    return found.select_related("call").order_by("-round", "-id").first()


def give_up(turn: Turn) -> None:
    """Ends a turn that cannot even write down what it has, without an answer."""
    with transaction.atomic():
        writer = streams.lock(turn.tree, actor=turn.participant.uid, origin=f"turn:{turn.uid}")
        row = rows().select_for_update(of=("self",)).get(pk=turn.pk)
        if row.status == "finishing":
            turns.end(writer, row, "interrupted", finish=row.finish, error=row.error)
            writer.flush()


def _status(turn: Turn) -> str:
    if not turn.finish:
        return "done"
    if turn.finish == "interrupted:stopped":
        return "stopped"
    if turn.finish == "interrupted:loop":
        return "halted"
    return "failed" if turn.error else "interrupted"


def waiting() -> Iterator[str]:
    """The turns that go on and that nobody holds, or whose holder is gone: for the sweeper.
    One without progress is to write down what it has; where it could not do that, it ends."""
    moment = timezone.now()
    for turn in rows().filter(ended_at__isnull=True, tree__erasing_at__isnull=True):
        if turns.is_still(turn):
            if turn.finish == turns.TIMED_OUT:
                give_up(turn)
                continue
            turns.time_out(turn)
        is_held = turn.lease and turn.leased_until is not None and turn.leased_until > moment
        if not is_held and (turn.stop_asked or not is_generating(turn)):
            yield turn.uid


def is_stopping(turn: Turn) -> bool:
    """Whether somebody has asked the turn to stop by now."""
    return Turn.objects.filter(pk=turn.pk, stop_asked=True).exists()


def is_generating(turn: Turn) -> bool:
    """Whether the turn waits for a model: its own round's, or one that a line asked."""
    open_ones = Generation.objects.filter(turn=turn, status__in=landing.OPEN)
    return open_ones.exists()
