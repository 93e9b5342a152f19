"""The embedded model, played by the scripted provider: one call for many, and a short window."""

import pytest
from pytest_django import Settings

from agents.providers.transport import the_loop
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.people.models import Grove, Participant
from loom.trees.models import Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Call
from tests.agents.conftest import Running, Say, a_moment, again, run
from tests.agents.watching import Watcher
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, fails, holds, says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def embedded(settings: Settings, grove: Grove, provider: ScriptedProvider) -> Participant:
    """The embedded model, played by the scripted provider."""
    settings.LOCAL_MODEL_URL = provider.url
    return Participant.objects.create(
        grove=grove, kind="model", name="Muse", model_ref="local:smollm2"
    )


def test_candidates_of_the_embedded_model_share_one_call(
    ask: Say, tree: Tree, provider: ScriptedProvider, embedded: Participant
) -> None:
    rows = ask('continue n:3 using agent:"Muse"')
    with Watcher(tree):
        run(rows[1])
    rows = [again(row) for row in rows]
    assert [row.status for row in rows] == ["done"] * 3
    assert [row.shown for row in rows] == ["word1 word2 word3 "] * 3
    assert len({row.node_id for row in rows}) == 3
    assert len({row.call_id for row in rows}) == 1
    assert Call.objects.get().request["body"]["n"] == 3
    assert len(provider.seen) == 1
    sealed = Event.objects.get(kind="call.sealed").payload["nodes"]
    assert len(sealed) == 3


def test_one_of_many_candidates_is_stopped_alone(
    ask: Say, tree: Tree, provider: ScriptedProvider, embedded: Participant
) -> None:
    provider.script(holds("She ", HOLD, "was"))
    rows = ask('continue n:2 using agent:"Muse"')
    with Watcher(tree) as viewer:
        running = Running(rows[0])
        viewer.wait_for(2)
        generation_lifecycle.ask_stop(again(rows[0]))
        for _ in range(400):
            if again(rows[0]).status == "stopped":
                break
            the_loop().run(a_moment())
        provider.release()
        running.ended()
    assert [(again(row).status, again(row).shown) for row in rows] == [
        ("stopped", "She "),
        ("done", "She was"),
    ]


def test_a_long_path_is_cut_in_front_for_the_embedded_model(
    ask: Say, tree: Tree, actor: Actor, provider: ScriptedProvider, embedded: Participant
) -> None:
    execute_line(actor, tree, Request(f'respond "{"old words " * 1000}"'))
    execute_line(actor, tree, Request('respond "the new end"'))
    row = run(ask('continue using agent:"Muse"')[0])
    assert row.note == "read the last 1,200 tokens"
    message = provider.seen[0].json["messages"][-1]
    assert message["content"].endswith("the new end")
    assert 4700 < len(message["content"]) <= 4802
    assert provider.seen[0].json["max_tokens"] == 256


def test_text_that_needs_more_tokens_than_it_looks_is_cut_shorter(
    ask: Say, tree: Tree, actor: Actor, provider: ScriptedProvider, embedded: Participant
) -> None:
    execute_line(actor, tree, Request(f'respond "{"1 " * 4000}"'))
    provider.script(fails(400, code="exceed_context_size_error"), says("ok"))
    row = run(ask('continue using agent:"Muse"')[0])
    assert (row.shown, row.note) == ("ok", "read the last 600 tokens")


def test_what_was_left_out_of_a_request_is_said_once(
    ask: Say, actor: Actor, tree: Tree, provider: ScriptedProvider, model: Participant
) -> None:
    model.probe = {"found": {"seed": False}}
    model.save()
    execute_line(actor, tree, Request('respond "the kestrel came"'))
    provider.script(says("and went"))
    row = run(ask('continue settings:"seed=7"')[0])
    assert (row.status, row.note) == ("done", "without seed: this model does not take it")


def test_the_embedded_model_completes_a_buffer(
    ask: Say, provider: ScriptedProvider, embedded: Participant, buffer: Tree
) -> None:
    row = run(ask('continue using agent:"Muse"', tree=buffer)[0])
    assert row.shown
    assert provider.seen[0].path == "/v1/completions"
    assert provider.seen[0].json["prompt"] == "<|endoftext|>"
