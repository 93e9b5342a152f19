"""Turns without progress, or whose time is over: they hold nothing, and keep what they have."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import IntegrityError
from django.utils import timezone

from agents import runs, tasks
from agents.turns import run_turn
from loom.access import Actor
from loom.engine import put_aside
from loom.engine.models import PutAside
from loom.errors import CommandError
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.turns import turn_lifecycle
from loom.turns.models import Call, Generation, Turn
from loom.turns.queries import turns as rows
from tests.agents.acting import asked, run_queued, went
from tests.agents.conftest import Running, again
from tests.kills.heddle import until
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, never_ends, says

pytestmark = pytest.mark.django_db(transaction=True)
SAID = 'One.\n→ annotate here "a"\n'


def _two_minutes_later() -> None:
    """As if nothing had moved for as long as a turn may stand still."""
    then = timezone.now() - turn_lifecycle.STALLED
    Turn.objects.update(moved_at=then)
    Generation.objects.filter(ended_at__isnull=False).update(ended_at=then)


def _half_way(actor: Actor, tree: Tree, agent: Participant) -> Turn:
    """A turn whose first round has come, held by a worker that is gone."""
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    run_queued(turn)
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
        assert tasks.sweep() == 1
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
    tasks.sweep()
    with pytest.raises(CommandError, match="is working at"):
        asked(actor, tree, agent, node=turn.invoked_at.local_id)


def test_a_turn_that_waits_for_a_model_is_not_still(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    _two_minutes_later()
    tasks.sweep()
    assert rows().get(pk=turn.pk).status == "generating"


def test_an_answer_that_took_long_is_taken_by_its_turn(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says("One."))
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    _two_minutes_later()
    run_queued(turn)
    tasks.sweep()
    with pytest.raises(CommandError, match="is working at"):
        asked(actor, tree, agent, node=turn.invoked_at.local_id)
    turn = went(turn)
    assert (turn.status, turn.finish) == ("done", "")
    assert turn.node is not None and turn.node.text == "One."


def test_what_a_turn_has_waits_for_as_long_as_no_worker_stores_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says(SAID))
    turn = _half_way(actor, tree, agent)
    for _ in range(3):
        _two_minutes_later()
        assert tasks.sweep() == 1
    assert rows().get(pk=turn.pk).status == "finishing"
    turn = went(turn)
    assert (turn.status, turn.finish) == ("interrupted", "interrupted:no progress")
    assert turn.node is not None and turn.node.text == "One."
    assert not PutAside.objects.exists()


def _not_stored(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> Turn:
    """A turn whose answer the database has refused as often as it is tried."""

    def refused(*_: object) -> Node:
        raise IntegrityError("this text is not taken")

    provider.script(says("One."))
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    run_queued(turn)
    with monkeypatch.context() as patch:
        patch.setattr(turn_lifecycle, "_answer", refused)
        for _ in range(put_aside.MOST_TRIES):
            assert not put_aside.everywhere().exists()
            run_turn(turn.uid)
            Turn.objects.update(lease="", leased_until=None)
    return rows().get(pk=turn.pk)


def test_a_turn_whose_end_cannot_be_stored_is_put_aside_with_its_text(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn = _not_stored(actor, tree, agent, provider, monkeypatch)
    aside = put_aside.everywhere().get()
    assert (aside.kind, aside.uid, aside.grove) == ("turn", turn.uid, tree.grove)
    assert aside.reason == "IntegrityError: this text is not taken"
    for _ in range(3):  # nobody tries it, ends it, or waits for it
        _two_minutes_later()
        assert tasks.sweep() == 0
    run_turn(turn.uid)
    Turn.objects.update(lease="", leased_until=None)
    assert rows().get(pk=turn.pk).status == "finishing"
    turn_lifecycle._demand_free(turn.invoked_at)
    assert put_aside.again(put_aside.everywhere(), "turn", turn.uid)
    assert tasks.sweep() == 1
    turn = went(turn)
    assert (turn.status, turn.finish) == ("done", "")
    assert turn.node is not None and turn.node.text == "One."
    assert not PutAside.objects.exists()


def test_a_turn_that_was_put_aside_and_is_dropped_fails_and_its_text_is_kept(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn = _not_stored(actor, tree, agent, provider, monkeypatch)
    assert put_aside.drop(put_aside.everywhere(), "turn", turn.uid)
    turn = rows().get(pk=turn.pk)
    assert (turn.status, turn.node) == ("failed", None)
    assert turn.error is not None and "an operator gave it up" in turn.error["message"]
    assert Generation.objects.get(turn=turn).text == "One."
    assert tasks.sweep() == 0 and not put_aside.everywhere().exists()


def test_a_stream_ends_with_the_time_of_its_turn_and_what_came_is_kept(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider.script(says("One and", HOLD, " more."))
    turn = asked(actor, tree, agent, input="Begin.", budget="quick")
    run_turn(turn.uid)
    row = Generation.objects.get(turn=turn)
    running = Running(row)
    until(lambda: again(row).text, what="the first text")
    later = SimpleNamespace(now=lambda: timezone.now() + timedelta(seconds=61))
    monkeypatch.setattr(runs, "timezone", later)
    running.ended()
    Turn.objects.filter(pk=turn.pk).update(created_at=timezone.now() - timedelta(seconds=61))
    turn = went(turn)
    assert (turn.status, turn.finish) == ("interrupted", "interrupted:time")
    assert turn.node is not None
    assert (turn.node.text, turn.node.finish) == ("One and", "interrupted:time")


def test_a_stream_ends_at_twice_the_tokens_that_were_asked_for(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    Participant.objects.filter(pk=agent.pk).update(max_tokens=10)
    provider.script(never_ends(word="word "))
    turn = went(asked(actor, tree, agent, input="Begin."))
    row = Generation.objects.get(turn=turn)
    assert row.finish == "length"
    assert turn.status == "done" and turn.node is not None
    assert 16 <= len(turn.node.text.split()) <= 60


def test_a_silent_provider_is_not_waited_for_longer_because_it_is_tried_again(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "SILENT_S", 0.3)
    provider.default = says(HOLD, "late")
    turn = went(asked(actor, tree, agent, input="Begin."))
    assert (turn.status, turn.error["reason"] if turn.error else "") == ("failed", "timeout")
    assert Call.objects.count() == 1
