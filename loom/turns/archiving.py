"""Ends the turns and generations of a tree that is archived: what they have written so far stays,
as nodes, and nothing is written in it afterwards."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet

from loom.engine.busy import NOT_REACHED
from loom.platform.prepared_queries import lock_rows
from loom.trees.archiving import stops_when_archived
from loom.trees.models import Tree
from loom.trees.queries import lookup
from loom.turns import generation_lifecycle, turn_lifecycle
from loom.turns.generation_lifecycle import OPEN_STATUSES, STOPPED
from loom.turns.models import OPEN_TURN, Generation, Turn

Row = TypeVar("Row", Turn, Generation)
log = logging.getLogger("heddle.turns")


def open_turns(tree: Tree, *, but: str = "") -> QuerySet[Turn]:
    """The turns that go on in a tree, but for one (`but`)."""
    going = Turn.objects.filter(ended_at=None, status__in=OPEN_TURN)  # found by an index
    return _in(going, tree).exclude(uid=but).order_by()


def open_generations(tree: Tree, *, but: str = "") -> QuerySet[Generation]:
    """The generations that wait or run in a tree, but for those of one turn."""
    going = Generation.objects.filter(ended_at__isnull=True, status__in=OPEN_STATUSES)
    rows = _in(going, tree).order_by()
    return rows.filter(Q(turn=None) | ~Q(turn__uid=but)) if but else rows


def _in(rows: QuerySet[Row], tree: Tree) -> QuerySet[Row]:
    """Those of a tree. Its index is kept from the planner, which else reads all that ever ran in
    the tree instead of the few that run anywhere."""
    return rows.alias(of_tree=lookup.compared("tree_id")).filter(of_tree=tree.pk)


@stops_when_archived
def _end_all(tree: Tree, turn: str) -> int:
    ended = 0
    # Workers lock generations in this order.
    for key in sorted(open_generations(tree, but=turn).values_list("pk", flat=True)):
        ended += _ended("generation", key, _end_generation)
    # Turns that another one has asked for end before it, which else would stop them.
    for key in sorted(open_turns(tree, but=turn).values_list("pk", flat=True), reverse=True):
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
