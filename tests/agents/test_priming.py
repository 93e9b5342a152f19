"""Prime, then fan out: one candidate reads a long path first, the others from the cache."""

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.participants.prices import counts_of
from loom.people.models import Participant
from loom.trees.models import Tree
from tests.agents.conftest import Running, Say, again, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, fails, holds, says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def keeper(model: Participant, provider: ScriptedProvider) -> Participant:
    """A provider that keeps marked beginnings from 1,024 tokens on, at a lower price."""
    model.model_ref = "anthropic:scripted"
    model.prices = {"input": 3, "output": 15, "cached": 0.3, "written": 3.75}
    model.context_limit = 100_000
    model.save()
    return model


@pytest.fixture
def long(actor: Actor, tree: Tree) -> None:
    """A path of some 2,500 tokens."""
    execute_line(actor, tree, Request(f"respond\n{'Marie waits. ' * 770}\n←"))


def test_the_others_wait_for_the_first_word_and_read_from_the_cache(
    ask: Say, long: None, provider: ScriptedProvider
) -> None:
    provider.script(holds(HOLD, "She ", HOLD, "smiled."), says("b"), says("c"))
    asked = ask("continue n:3")
    running = Running(asked[0])
    provider.wait_for(1)
    provider.release()
    assert len(provider.wait_for(3)) == 3
    provider.release()
    running.ended()
    counts = sorted(
        (counts_of(again(generation).usage) for generation in asked),
        key=lambda counted: counted.cached,
    )
    assert counts[0].cached == 0
    assert all(count.cached > 0.9 * count.read for count in counts[1:])
    first, *rest = sorted((again(generation).spent or 0 for generation in asked), reverse=True)
    assert all(spent < first / 2 for spent in rest)


def test_where_the_first_fails_the_others_go_all_the_same(
    ask: Say, long: None, provider: ScriptedProvider
) -> None:
    provider.script(fails(401, "no"), says("b"), says("c"))
    asked = ask("continue n:3")
    run(asked[0])
    assert sorted(again(generation).status for generation in asked) == ["done", "done", "failed"]


def asked_at_once(ask: Say, provider: ScriptedProvider) -> bool:
    """Whether the second of two is asked before the first has had a word."""
    provider.script(holds(HOLD, "a"), holds(HOLD, "b"))
    running = Running(ask("continue n:2")[0])
    provider.wait_for(2)
    provider.release()
    provider.release()
    running.ended()
    return True


def test_a_short_path_is_never_waited_for(ask: Say, provider: ScriptedProvider) -> None:
    assert asked_at_once(ask, provider)


def test_where_reading_again_is_not_cheaper_nobody_waits(
    ask: Say, long: None, provider: ScriptedProvider, keeper: Participant
) -> None:
    Participant.objects.filter(pk=keeper.pk).update(prices={"input": 3, "output": 15})
    assert asked_at_once(ask, provider)
