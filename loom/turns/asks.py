"""Questions between participants (docs/model.md §5.3): who asked whom, in which turn, and what was
answered. A question is an annotation; that of an agent starts a turn of the one who is asked."""

from collections.abc import Iterator
from datetime import datetime

from django.utils import timezone

from loom.engine.jobs import enqueue
from loom.people.models import Participant
from loom.people.names import as_sent
from loom.trees.models import Node
from loom.turns.models import OPEN_TURN, Ask, Turn

WAITS = "ask:"  # before the uid of a question in `Turn.waits_for`


def asking_turns(turn: Turn) -> Iterator[Turn]:
    """The turn that asked for this one, the one that asked for that, and so on."""
    asking = turn.asking_id
    while asking is not None:
        above = Turn.objects.select_related("participant", "tree__grove").get(pk=asking)
        yield above
        asking = above.asking_id


def open_among(waits_for: list[str]) -> bool:
    """Whether one of the questions that a turn waits for has no answer yet."""
    uids = [name.removeprefix(WAITS) for name in waits_for if name.startswith(WAITS)]
    return bool(uids) and Ask.objects.filter(uid__in=uids, ended_at__isnull=True).exists()


def end(ask: Ask, answer: Node | None, *, at: datetime | None = None) -> None:
    """Stores the answer to a question (None: there will be none); a worker brings it to the
    asker."""
    ask.answer, ask.ended_at = answer, at or timezone.now()
    ask.save(update_fields=["answer", "ended_at"])
    enqueue("agents.tasks.bring_answer", [ask.uid], queue="continue")


def answered_by(who: Participant, question: Node, answer: Node) -> Ask | None:
    """Ends the question if `who` was asked and this is the first reply; None if not. One query for
    any other question."""
    rows = Ask.objects.filter(node=question.slot_id, asked=who, ended_at__isnull=True)
    ask = rows.select_related("asker").first()
    if ask is not None:
        end(ask, answer)
    return ask


def after_answer(answer: Node) -> tuple[str, dict[str, str]]:
    """A further line for the reply to an answer: who got it, and, if the turn that asked has ended,
    that another one goes on with it; and the same for programs. Nothing if it answers no question.
    One query."""
    ask = Ask.objects.filter(answer=answer.pk).select_related("asker", "asking").first()
    if ask is None:
        return "", {}
    name = as_sent(ask.asker.name)
    if ask.asking is None or ask.asking.status in OPEN_TURN:
        return f"\n  {name} is sent this answer", {"answered": "sent"}
    more = f"{name} asked in a turn that has ended; start another one to go on with the answer"
    return f"\n  {more}", {"answered": "late"}


def turn_ended(turn: Turn, answer: Node | None) -> None:
    """Ends the question that a turn was asked to answer."""
    for ask in Ask.objects.filter(turn=turn, ended_at__isnull=True):
        end(ask, answer)
