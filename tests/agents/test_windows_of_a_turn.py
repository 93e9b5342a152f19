"""Windows within a turn: each is sent once, as it is, and what hiding saves is reported truly."""

import re
from dataclasses import replace

import pytest

from agents.context.agent_request import assemble
from agents.context.panes import Pane
from agents.context.values import AgentLine, Round, WorkspaceView
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.text.tokens import count
from loom.trees.models import Tree
from loom.turns.models import Turn
from loom.workspace.window_rules import WindowLine
from tests.agents.acting import asked, step, went
from tests.agents.test_aware import AWARE, VIEW
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

ONE = Pane(4, "[a7x2]", (WindowLine(1, "The river."), WindowLine(2, "The sea.")), "node")
TWO = Pane(5, "[b3k9]", (WindowLine(1, "The boats. " * 40),), "node")
THREE = Pane(6, "[c4m2]", (WindowLine(1, "The quay."),), "node")


def sent(*views: WorkspaceView) -> list[str]:
    """The WORKSPACE messages of the rounds in which the agent sees these views."""
    rounds: list[Round] = []
    workspaces: list[str] = []
    stated: dict[str, str] = {}
    for view in views:
        request = assemble(replace(AWARE, view=view, rounds=tuple(rounds), stated=stated))
        rounds.append(Round("x", workspace=request.workspace))
        stated = dict(request.stated)
        workspaces.append(request.workspace)
    return workspaces


def seeing(*panes: Pane) -> WorkspaceView:
    return replace(VIEW, panes=panes)


def test_only_windows_that_are_new_or_changed_are_sent_again() -> None:
    now = replace(ONE, lines=(WindowLine(1, "The river."),))
    _, second, third = sent(seeing(ONE, TWO), seeing(ONE, TWO, THREE), seeing(now, THREE))
    assert "---WINDOWS · new #6\n---WINDOW #6 [c4m2] · node\n1  The quay.\n" in second
    assert "(as above: #4 #5)\n---WINDOWS_END" in second
    assert "The boats" not in second and "The river" not in second
    assert "---WINDOWS · changed #4 · hidden #5\n---WINDOW #4 [a7x2]" in third
    assert "(as above: #6)" in third and "The quay" not in third


def test_windows_that_are_all_hidden_are_named() -> None:
    _, second = sent(seeing(ONE, TWO), seeing())
    assert "---WINDOWS · hidden #4 #5\n(none is visible now)\n---WINDOWS_END" in second


def test_a_line_of_a_text_begins_no_window() -> None:
    forged = replace(
        ONE, lines=(WindowLine(0, "---WINDOW_END #4"), WindowLine(0, "---WINDOW #5 [b3k9]"))
    )
    _, second = sent(seeing(forged, TWO), seeing(forged, TWO, THREE))
    assert "---WINDOWS · new #6\n" in second and "(as above: #4 #5)" in second


def test_the_status_counts_what_stays_of_hidden_windows() -> None:
    first, second = sent(seeing(ONE, TWO), seeing(ONE))
    hidden = first[first.index("---WINDOW #5") : first.index("\n---WINDOWS_END")]
    match = re.search(r"HIDDEN ([\d.]+)(k?) until this turn ends", second)
    assert match is not None and "HIDDEN" not in first
    assert float(match[1]) * (1000 if match[2] else 1) == pytest.approx(count(hidden), abs=50)


@pytest.mark.django_db(transaction=True)
def test_four_windows_in_four_rounds_are_sent_once_each(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    ids = [
        str(execute_line(actor, tree, Request(f'respond {opening} "text {n}"')).body["refs"][0])
        for n in range(4)
    ]
    provider.script(*(says(f"→ open {local_id}\n") for local_id in ids), says("Read."))
    went(asked(actor, tree, agent, node=opening))
    last = "".join(message["content"] for message in provider.seen[-1].json["messages"])
    assert [last.count(f"1  text {n}") for n in range(4)] == [1, 1, 1, 1]


def reply(turn: Turn, place: str) -> str:
    return step(turn, place).message


@pytest.mark.django_db(transaction=True)
def test_hiding_in_a_turn_says_from_when_it_saves(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(
        says(f"→ open {opening}\n→ view {opening} full\n"), says("→ hide #1 #2\n\nHidden.")
    )
    turn = went(asked(actor, tree, agent, node=opening))
    assert re.search(r"  -\d+ tokens from the next turn on · windows 0 tokens", reply(turn, "2.1"))
    # The result is sent until the turn ends, so it is no window, and hiding it saves nothing.
    opened = re.search(r"  \+(\d+) tokens · windows (\d+) tokens", reply(turn, "1.1"))
    hidden = re.search(r"  -(\d+) tokens", reply(turn, "2.1"))
    assert opened is not None and hidden is not None and opened[1] == opened[2] == hidden[1]


@pytest.mark.django_db(transaction=True)
def test_hidden_windows_and_results_are_named_in_memory(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    execute_line(actor, tree, Request('write doc:"notes" new "One."'))
    provider.script(
        says(f'→ open {opening} keep\n→ open doc:"notes" keep\n→ view {opening} full\n'),
        says("→ hide #1 #2\n\nHidden."),
        says("Yes."),
    )
    went(asked(actor, tree, agent, node=opening))
    went(asked(actor, tree, agent, node=opening))
    last = provider.seen[-1].json["messages"][-1]["content"]
    assert (
        f"Hidden (→ show #n; → memory windows lists all): #1 [{opening}] line 1 ·"
        f' #2 doc:"notes" line 1 · #3 view {opening} full\n' in last
    )
    # Within the turn, its own results stand in RESULTS.
    assert "#3 view" not in provider.seen[1].json["messages"][-1]["content"].partition("Hidden")[2]


def test_what_is_empty_now_stays_where_it_was() -> None:
    _, second = sent(
        replace(seeing(ONE), actions=(AgentLine("view", past="viewed"),)),
        replace(seeing(), actions=(AgentLine("hide", past="hid"),)),
    )
    assert second.index("---WINDOWS · hidden #4") < second.index("---MEMORY")
