"""Loops of a turn: what repeats in vain, and what only looks as if it did."""

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.trees.models import Tree
from tests.agents.acting import asked, outcomes, went
from tests.agents.test_windows import Talk
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Talk:
    return Talk(actor, tree, agent, provider, opening)


def test_an_agent_invited_five_times_begins_five_times(talk: Talk) -> None:
    for number in range(5):
        turn = talk.turn(f"→ view {talk.node}\n", f"Answer {number}.")
        assert [outcome for _, outcome in outcomes(turn)] == ["ok"]
        assert "! This is step" not in talk.sent()


@pytest.mark.parametrize(
    "lines",
    [
        ["→ todo toggle t1"] * 4,
        ["→ hide #1", "→ show #1"] * 3,
        ["→ switch to parent"] * 3,
        ["→ back"] * 5,
        ["→ expand supports of focus max:1"] * 4,
    ],
    ids=lambda lines: lines[0],
)
def test_what_changes_the_view_is_no_loop(talk: Talk, actor: Actor, lines: list[str]) -> None:
    ids = [talk.node]
    for number in range(6):
        line = f'respond {ids[-1]} "Part {number}."'
        ids.append(execute_line(actor, talk.tree, Request(line)).body["refs"][0])
        execute_line(actor, talk.tree, Request(f"link {ids[-2]} to {ids[-1]} as:supports"))
    first = f'→ open {ids[0]} keep\n→ todo add "a"\n→ expand supports of {ids[0]}'
    moves = [f"→ switch to {local_id}" for local_id in ids[:5]]
    batch = "\n".join([first, *moves, *lines]).split("\n")
    turn = talk.turn("\n".join(batch), "Done.")
    assert [outcome for _, outcome in outcomes(turn)] == ["ok"] * len(batch)
    assert "Next time it is not run" not in str(turn.rounds)


def test_a_line_that_was_refused_may_be_said_again_once_something_else_has_run(
    talk: Talk, actor: Actor
) -> None:
    execute_line(actor, talk.tree, Request('write doc:"notes" new "Nobody came."'))
    write = '→ write doc:"notes" at:end "More."\n'
    turn = talk.turn(write, '→ view doc:"notes" full\n', write)
    assert [outcome for _, outcome in outcomes(turn)] == ["CONFLICT", "ok", "ok"]
    assert "Next time it is not run" not in str(turn.rounds)


def test_the_same_look_at_the_same_view_is_still_a_loop(talk: Talk) -> None:
    talk.provider.default = says(f"→ view {talk.node}\n→ hide #999\n")
    turn = went(asked(talk.actor, talk.tree, talk.agent, node=talk.node))
    assert turn.status == "halted"


def test_three_looks_in_turn_over_unchanged_things_are_a_loop(talk: Talk, actor: Actor) -> None:
    ids = [talk.node]
    for number in range(2):
        line = f'respond {talk.node} "Part {number}."'
        ids.append(execute_line(actor, talk.tree, Request(line)).body["refs"][0])
    talk.provider.default = says("\n".join(f"→ view {local_id}" for local_id in ids) + "\n")
    turn = went(asked(talk.actor, talk.tree, talk.agent, node=talk.node))
    assert turn.status == "halted"
    assert [outcome for _, outcome in outcomes(turn)][:6] == ["ok"] * 6
    assert "LOOP" in [outcome for _, outcome in outcomes(turn)]
