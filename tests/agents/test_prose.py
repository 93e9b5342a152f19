"""A chat goes on with a buffer: what it is sent, what becomes of its answer, what is kept."""

import gzip

import pytest

from agents.context.subject_request import ASKS, BEGINS
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.reading.queries.provenance import provenance_of
from loom.trees.models import Tree
from tests.agents.conftest import Say, run
from tests.agents.watching import Watcher
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import cuts, fails, says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def buffer(actor: Actor, tree: Tree) -> Tree:
    """A buffer that ends with a blank."""
    Tree.objects.filter(pk=tree.pk).update(mode="buffer")
    tree.refresh_from_db()
    execute_line(actor, tree, Request("respond root\nThe old clock struck nine, and \n←"))
    return tree


def able(model: Participant, *capabilities: str) -> None:
    Participant.objects.filter(pk=model.pk).update(capabilities=list(capabilities))


def test_a_begun_turn_ends_before_its_blanks_and_the_answer_brings_none(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    able(model, "prefill")
    provider.script(says(" Marie", " opened"))
    row = run(ask()[0])
    assert provider.seen[0].json["messages"] == [
        {"role": "user", "content": BEGINS},
        {"role": "assistant", "content": "The old clock struck nine, and"},
    ]
    assert row.shown == "Marie opened"
    assert row.note == "took off the blanks that the text ends with"
    assert row.point.text == "The old clock struck nine, and "


def test_an_endpoint_that_is_told_to_continue_the_last_message_does_so(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    able(model, "continue_final", "instruction")
    run(ask()[0])
    sent = provider.seen[0].json
    assert sent["messages"][-1]["role"] == "assistant"
    assert (sent["continue_final_message"], sent["add_generation_prompt"]) == (True, False)


def test_what_an_answer_repeats_is_never_shown_but_is_in_its_bytes(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree, actor: Actor
) -> None:
    able(model, "instruction")
    provider.script(says("struck ni", "ne, and Ma", "rie opened"))
    generation = ask()[0]
    with Watcher(buffer) as watcher:
        row = run(generation)
        watcher.wait_for_text("Marie opened")
    assert provider.seen[0].json["messages"][0] == {"role": "system", "content": ASKS}
    assert row.node is not None and row.node.text == "Marie opened"
    assert row.note == "took off 16 characters that repeat the end of the text"
    assert row.call is not None and b"struck ni" in gzip.decompress(bytes(row.call.response))
    provenance = provenance_of(actor, buffer, None, row.node).body()
    assert provenance["note"] == row.note
    assert provenance["call"]["strategy"] == "instruction"
    assert provenance["verify"]["status"] == "valid"


def test_an_answer_that_breaks_off_within_what_it_repeats_keeps_it(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    able(model, "instruction")
    provider.script(cuts("struck"))
    row = run(ask()[0])
    assert (row.shown, row.finish) == ("struck", "interrupted:network")
    assert len(provider.seen) == 1


def test_an_answer_that_only_repeats_is_an_empty_one(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    able(model, "instruction")
    provider.script(says("struck nine, and"))
    row = run(ask()[0])
    assert row.node is None and row.error is not None and row.error["reason"] == "empty"


def test_the_way_is_part_of_the_configuration(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    hashes = set()
    for way in ("prefill", "continue_final", "few_shot", "instruction", "grammar"):
        able(model, way)
        call = run(ask("continue root")[0]).call
        assert call is not None
        hashes.add(call.configuration)
    assert len(hashes) == 5


def test_another_attempt_after_a_failure_begins_a_new_overlap(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    able(model, "instruction")
    provider.script(fails(503), says("struck nine, and Marie"))
    assert run(ask()[0]).shown == "Marie"


def test_a_dialogue_and_a_plain_buffer_are_as_they_come(
    ask: Say, provider: ScriptedProvider, model: Participant, buffer: Tree
) -> None:
    provider.script(says(" Marie"))
    row = run(ask()[0])
    assert (row.shown, row.note) == (" Marie", "")
    assert row.call is not None and row.call.strategy == "plain"
