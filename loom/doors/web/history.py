"""What was done in a tree, by whom, and what of it the reader may undo from here."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor
from loom.doors.web import sentences
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.lines import quoted
from loom.doors.web.shown import age_of
from loom.doors.web.who import Who, cast_of
from loom.models import Event, Step, Tree, Turn
from loom.models.turns import OPEN_TURN
from loom.queries.turns import turns

MAX_HISTORY = 40
MAX_TURNS = 20
MAX_WORDS = 90


@dataclass(frozen=True)
class Deed:
    """A step, or a whole turn, and the line that takes it back; empty: it is undone."""

    who: Who
    words: str
    age: str
    undo: str


@require_GET
@person
def history(request: PersonRequest, uid: str) -> HttpResponse:
    """What the reader did here, and where he may undo it what others and turns did; and what
    everybody's changes were."""
    actor, tree = access.get_tree(request.user, uid)
    cast = cast_of(actor)
    rows = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("-seq")
    events = list(rows[:MAX_HISTORY])
    me = actor.participant.uid
    context = {
        "steps": _deeds(_steps(tree).filter(workspace__participant__uid=me), cast),
        "others": _others(actor, tree, cast),
        "turns": _turns(actor, tree, cast),
        "events": [one for event in events if (one := sentences.told(event, cast)) is not None],
        "head": events[0].seq if events else 1,
        "tree": tree,
        "can": access.abilities(actor, tree),
    }
    return render(request, "parts/history.html", context)


def _steps(tree: Tree) -> QuerySet[Step]:
    """The steps that changed this tree, those of turns left out, newest first."""
    rows = Step.objects.filter(stream=f"tree:{tree.uid}", outcome="ok", inverse__isnull=False)
    rows = rows.filter(undoes__isnull=True, turn_uid="")
    return rows.select_related("actor").order_by("-id")


def _deeds(rows: QuerySet[Step], cast: dict[str, Who]) -> list[Deed]:
    return [
        Deed(
            who=cast[step.actor.uid],
            words=step.canonical[:MAX_WORDS],
            age=age_of(step.at),
            undo="" if step.is_undone else _line(step, cast[step.actor.uid]),
        )
        for step in rows[:MAX_HISTORY]
    ]


def _line(step: Step, who: Who) -> str:
    return f"undo step:{step.seq}" + ("" if who.is_me else f" by:{quoted(who.name)}")


def _others(actor: Actor, tree: Tree, cast: dict[str, Who]) -> list[Deed]:
    """What others did: an owner may undo it."""
    if not actor.is_owner:
        return []
    return _deeds(_steps(tree).exclude(workspace__participant=actor.participant), cast)


def _turns(actor: Actor, tree: Tree, cast: dict[str, Who]) -> list[Deed]:
    """The turns that have ended and whose undoing is the reader's: inviter or owner."""
    rows = turns().filter(tree=tree).exclude(status__in=OPEN_TURN).order_by("-id")
    if not actor.is_owner:
        rows = rows.filter(invoked_by=actor.participant)
    ended = list(rows[:MAX_TURNS])
    left = _left(ended)
    return [
        Deed(
            who=cast[turn.participant.uid],
            words=(turn.input_node.text if turn.input_node else turn.invoked_at.text)[:MAX_WORDS],
            age=age_of(turn.created_at),
            undo=f"undo turn:{turn.uid}" if turn.uid in left else "",
        )
        for turn in ended
    ]


def _left(ended: Sequence[Turn]) -> set[str]:
    """The turns of which something is left to undo."""
    steps = Step.objects.filter(turn_uid__in=[turn.uid for turn in ended], outcome="ok")
    steps = steps.filter(inverse__isnull=False, undoes__isnull=True, is_undone=False)
    nodes = {turn.uid for turn in ended if turn.node is not None and not turn.node.slot.pruned}
    return nodes | set(steps.values_list("turn_uid", flat=True))
