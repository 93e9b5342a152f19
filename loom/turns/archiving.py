"""Ends the turns and generations of a tree that is archived: what they have written so far stays,
as nodes, and nothing is written in it afterwards."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet

from loom.engine.busy import NOT_REACHED
from loom.platform.prepared_queries import lock_rows
from loom.trees.archiving import stops_when_archived
from loom.trees.models import Tree
from loom.turns import generation_lifecycle, turn_lifecycle
from loom.turns.generation_lifecycle import OPEN_STATUSES
from loom.turns.models import OPEN_TURN, Generation, Turn

STOPPED = "interrupted:stopped"
log = logging.getLogger("heddle.turns")


def open_turns(tree: Tree, *, but: str = "") -> QuerySet[Turn]:
    """The turns that go on in a tree, but for one (`but`). Those that another one has asked for
    come before it."""
    return Turn.objects.filter(tree=tree, status__in=OPEN_TURN).exclude(uid=but).order_by("-pk")


def open_generations(tree: Tree, *, but: str = "") -> QuerySet[Generation]:
    """The generations that wait or run in a tree, but for those of one turn, in the order in which
    workers lock them."""
    rows = Generation.objects.filter(tree=tree, status__in=OPEN_STATUSES).order_by("pk")
    return rows.filter(Q(turn=None) | ~Q(turn__uid=but)) if but else rows


@stops_when_archived
def _end_all(tree: Tree, turn: str) -> int:
    ended = 0
    for key in list(open_generations(tree, but=turn).values_list("pk", flat=True)):
        ended += _ended("generation", key, _end_generation)
    for key in list(open_turns(tree, but=turn).values_list("pk", flat=True)):
        ended += _ended("turn", key, _end_turn)
    return ended


def _ended(kind: str, key: int, end: Callable[[int], None]) -> int:
    """How many were ended: 1, or 0 for one whose end cannot be stored. That keeps no tree out of
    the archive: an operator sees it (loom.engine.put_aside)."""
    try:
        with transaction.atomic():
            end(key)
    except NOT_REACHED:
        raise
    except DatabaseError:
        log.warning("could not end the %s %s of an archived tree", kind, key, exc_info=True)
        return 0
    return 1


def _end_generation(key: int) -> None:
    lock_rows(Generation, pk=key)  # a worker may be storing its text at this moment
    row = Generation.objects.get(pk=key)
    if not row.lane:  # its caller writes its text, and sees that it has to stop
        Generation.objects.filter(pk=key).update(stop_asked=True)
        return
    generation_lifecycle.end_generation(
        row.uid, lease=row.lease, text=row.text, chunk=row.chunk, finish=STOPPED
    )


def _end_turn(key: int) -> None:
    lock_rows(Turn, pk=key)
    rows = Turn.objects.filter(pk=key, status__in=OPEN_TURN)
    rows.exclude(status="finishing").update(status="finishing", finish=STOPPED)
    rows.update(stop_asked=True, lease="", leased_until=None)
    turn = turn_lifecycle.turn_again(key)
    turn_lifecycle.finish(turn, text=turn_lifecycle.answer_of(turn))
