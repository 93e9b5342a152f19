"""Turns that make no progress for two minutes: they hold nothing, and what they have is kept."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agents import sweeper, worker
from agents.turns import run_turn
from loom.access import Actor
from loom.commands import turn_lifecycle
from loom.models import Generation, Node, Participant, Tree, Turn
from loom.queries.turns import turns as rows
from loom.rules.errors import CommandError
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
SAID = 'One.\n→ annotate here "a"\n'


def _two_minutes_later() -> None:
    """As if nothing had moved for as long as a turn may stand still."""
    Turn.objects.update(moved_at=timezone.now() - turn_lifecycle.STALLED)


def _half_way(actor: Actor, tree: Tree, agent: Participant) -> Turn:
    """A turn whose first round has come, held by a worker that is gone."""
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    worker.run_generation(Generation.objects.get(turn=turn).uid)
    turn_lifecycle.take(turn.uid, "gone")
    return turn


@pytest.mark.parametrize("who", ["the sweeper", "who asks next"])
def test_a_turn_without_progress_frees_its_slot_and_keeps_what_it_has(
    who: str, actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says(SAID))
    turn = _half_way(actor, tree, agent)
    _two_minutes_later()
    if who == "the sweeper":
        assert sweeper.sweep() == 1
    point = turn.invoked_at.local_id
    asked(actor, tree, agent, node=point)
    turn = went(turn)
    assert (turn.status, turn.finish) == ("interrupted", "interrupted:no progress")
    assert turn.node is not None
    assert (turn.node.text, turn.node.finish) == ("One.", "interrupted:no progress")
    assert not Node.objects.filter(kind="annotation").exists()


def test_a_turn_that_moves_holds_its_slot(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    turn = _half_way(actor, tree, agent)
    Turn.objects.update(moved_at=timezone.now() - turn_lifecycle.STALLED + timedelta(seconds=30))
    sweeper.sweep()
    with pytest.raises(CommandError, match="is working at"):
        asked(actor, tree, agent, node=turn.invoked_at.local_id)


def test_a_turn_that_waits_for_a_model_is_not_still(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    _two_minutes_later()
    sweeper.sweep()
    assert rows().get(pk=turn.pk).status == "generating"


def test_a_turn_that_cannot_even_be_finished_ends_without_an_answer(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says(SAID))
    turn = _half_way(actor, tree, agent)
    for _ in range(2):
        _two_minutes_later()
        sweeper.sweep()
    turn = rows().get(pk=turn.pk)
    assert (turn.status, turn.node) == ("interrupted", None)
