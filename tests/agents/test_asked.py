"""Whom the composer offers again: who was asked for candidates, and not who acted."""

import pytest

from loom.access import Actor
from loom.people.models import Participant
from loom.reading.queries.path_page import AskedSettings, candidates_of
from loom.trees.models import Node, Tree
from tests.agents.acting import asked, went
from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


def _last_asked(actor: Actor, path: list[int]) -> tuple[int | None, dict[str, AskedSettings]]:
    """Where on the path, and of whom, the actor asked for candidates last."""
    candidates = candidates_of((), (), by=actor.participant, path=path)
    return candidates.asked_at, candidates.asked


def test_an_agent_that_acted_is_not_offered_for_candidates(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str, ask: Say
) -> None:
    provider.script(says("She answers."))
    path = [Node.objects.get(tree=tree, local_id=opening).pk]
    went(asked(actor, tree, agent, node=opening))
    assert _last_asked(actor, path) == (None, {})
    for generation in ask(f"continue from {opening} n:2"):
        run(generation)
    assert _last_asked(actor, path) == (path[0], {"Marie": AskedSettings(2, None, None, "")})


def test_who_is_asked_again_at_once_is_counted_once(
    actor: Actor, tree: Tree, agent: Participant, opening: str, ask: Say
) -> None:
    path = [Node.objects.get(tree=tree, local_id=opening).pk]
    ask("continue n:3")
    ask("continue n:1")
    assert _last_asked(actor, path) == (path[0], {"Marie": AskedSettings(1, None, None, "")})
