"""Exploring: rounds within a budget, judged, stopped, resumed, noted."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.claims.commands.checks import declare_check
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.exploring import progress
from loom.exploring.commands import stop
from loom.exploring.models import Exploration, ExploredText
from loom.exploring.queries import used_by
from loom.links.models import Link
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.turns.models import OPEN_TURN, RATING, Generation
from tests.agents.acting import run_lane
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
MOST = 60  # phases and lanes: more mean that it does not end
Began = Callable[[str], Exploration]


@pytest.fixture
def begin(actor: Actor, tree: Tree, opening: str, model: Participant) -> Began:
    """Begins to explore from the first text, by the words after the verb."""

    def began(words: str) -> Exploration:
        execute_line(actor, tree, Request(f"explore from {opening} {words}"))
        return Exploration.objects.latest("id")

    return began


def went(row: Exploration, rounds: int = MOST) -> Exploration:
    """Goes on as the worker does, to the end; its row afterwards."""
    for _ in range(rounds):
        progress.advance(row.uid)
        for lane in set(Generation.objects.filter(status="queued").values_list("lane", flat=True)):
            run_lane(lane)
    return Exploration.objects.get(pk=row.pk)


def texts(row: Exploration) -> list[tuple[int, str, float | None, bool | None]]:
    rows = ExploredText.objects.filter(exploration=row).select_related("node").order_by("id")
    return [(one.round, one.node.text if one.node else "", one.score, one.is_kept) for one in rows]


def test_the_best_of_three_is_kept_with_the_reason_of_the_judge(
    actor: Actor, tree: Tree, begin: Began, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("A."), says("B."), says("C."))
    provider.script(says("3 - dull"), says("9 - it lives"), says("4/10, flat"))
    row = went(begin('n:3 depth:1 keep:1 by:judge "surprise"'), 4)
    assert (row.status, row.round, row.said) == ("done", 1, "")
    found = texts(row)
    assert sorted(score or 0 for *_, score, _ in found) == [3, 4, 9]
    (best,) = [one for one in found if one[3]]
    assert best[2] == 9
    asked = provider.seen[3].json["messages"]
    assert "rate one text" in asked[0]["content"] and "surprise" in asked[-1]["content"]
    assert "Who is Marie?" in asked[-1]["content"]
    # What is not kept is still there.
    point = Node.objects.get(tree=tree, local_id=opening)
    assert Node.objects.filter(parent_slot=point.slot, kind="text", pruned=False).count() == 3
    note = Node.objects.get(pk=row.note_id)
    assert "9/10 – it lives" in note.text and "Goal: surprise" in note.text
    link = Link.objects.get()
    assert link.note == "9/10 – it lives"
    assert Generation.objects.filter(round=RATING).count() == 3
