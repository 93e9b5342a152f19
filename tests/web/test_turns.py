"""Turns as the page draws them: their place, their lines, and who may press what."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from loom.access import Actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.permissions import named
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.turns.models import Generation, Turn
from tests.web.conftest import Visitor
from tests.web.test_pages import text

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def point(actor: Actor, tree: Tree) -> Node:
    """The node at which turns are asked for."""
    node_id = execute_line(actor, tree, Request('respond root "Who is Marie?"')).body["refs"][0]
    return Node.objects.get(tree=tree, local_id=node_id)


@pytest.fixture
def agent(muse: Participant) -> Participant:
    """A loom-aware agent that may write."""
    muse.permissions = ["loom_aware", "loom_write"]
    muse.save()
    return muse


def turn_of(actor: Actor, agent: Participant, point: Node, **fields: Any) -> Turn:
    """A turn as the worker leaves it."""
    given = {"status": "generating", "preset": "standard", **fields}
    return Turn.objects.create(
        tree=point.tree,
        participant=agent,
        invoked_by=actor.participant,
        invoked_at=point,
        answers_below=point,
        **given,
    )


def round_of(turn: Turn, number: int = 1, **fields: Any) -> Generation:
    """A round of the turn."""
    return Generation.objects.create(
        tree=turn.tree,
        participant=turn.participant,
        asked_by=turn.invoked_by,
        point=turn.answers_below,
        turn=turn,
        round=number,
        index=0,
        batch=f"b{number}",
        **fields,
    )


def say(actor: Actor, turn: Turn, line: str, place: str) -> None:
    """One line of the turn, run or refused, as a step of the agent's workspace."""
    held = named(turn.participant.permissions)
    acting = replace(actor, participant=turn.participant, permissions=held)
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    with suppress(CommandError):
        execute_line(acting, turn.tree, Request(line, turn=turn.uid, place=place), workspace)


def part(client: Any, tree: Tree, node: Node) -> str:
    """The part of the page."""
    return text(client, f"/trees/{tree.uid}/turns?node={node.local_id}")


def test_a_working_turn_shows_text_lines_answers_and_steps(
    actor: Actor, owner: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    turn = turn_of(actor, agent, point)
    first = round_of(turn, status="done", text="I look.\n→ view here\n")
    turn.rounds = [{"generation": first.uid, "length": len(first.text), "replies": []}]
    turn.save()
    say(actor, turn, f"→ view {point.local_id} full", "1.1")
    say(actor, turn, f"→ continue from {point.local_id} n:3", "1.2")
    say(actor, turn, '→ bookmark here "turn"', "1.3")
    round_of(turn, 2, status="running", text="And now", chunk=3)
    page = part(visitor(owner), tree, point)
    assert "round 2 of 12" in page
    assert "step 2 of 100" in page  # the refused line is no step
    assert "steps 2/100 · depth 0/10" in page
    assert "I look." in page
    assert "✗ PERMISSION_DENIED: " in page and "hint:" in page
    assert "✓ bookmarked" in page
    live = re.search(r'data-chunk="3"><span data-text>(.*?)</span>', page)
    assert live and live[1] == "And now"
    assert 'data-turn-act="stop"' in page and 'data-turn-act="undo"' not in page


def test_long_texts_and_thoughts_of_a_turn_are_shown_though_its_steps_only_name_them(
    actor: Actor, owner: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    turn = turn_of(actor, agent, point)
    round_of(turn, status="running", text="Well")
    note, thought = "the note goes on and " * 30, "the thought goes on and " * 30
    say(actor, turn, f"→ respond {point.local_id}\n{note}end\n←", "1.1")
    say(actor, turn, f"→ think\n{thought}end\n←", "1.2")
    steps = list(Step.objects.filter(turn_uid=turn.uid).order_by("id"))
    assert [step.outcome for step in steps] == ["ok", "ok"]
    assert all(len(step.line) + len(step.canonical) < 500 for step in steps)
    page = part(visitor(owner), tree, point)
    assert f"{note}end" in page and f"{thought}end" in page
    assert "sha256" not in page


def test_a_turn_that_ended_leads_to_its_answer_and_can_be_undone_by_who_asked(
    actor: Actor, owner: User, reader: User, tree: Tree, agent: Participant, point: Node,
    visitor: Visitor,
) -> None:  # fmt: skip
    answer = execute_line(actor, tree, Request('respond here "Herself."')).body["refs"][0]
    node = Node.objects.get(tree=tree, local_id=answer)
    turn_of(actor, agent, point, status="done", ended_at=timezone.now(), node=node)
    for where in (point, node):
        page = part(visitor(owner), tree, where)
        assert f'data-go="{answer}"' in page
        assert 'data-turn-act="undo"' in page and 'data-turn-act="stop"' not in page
    assert "data-turn-act" not in part(visitor(reader), tree, point)


def test_a_turn_that_was_stopped_did_not_answer_and_says_so_once(
    actor: Actor, owner: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    with transaction.atomic():
        writer = streams.lock(tree, actor=agent.uid)
        new = NewNode("Her", parent=point, finish="interrupted:stopped")
        node = node_writer.add_node(writer, tree, agent, new)
        writer.flush()
    ended = {"finish": "interrupted:stopped", "ended_at": timezone.now()}
    turn_of(actor, agent, point, status="interrupted", node=node, **ended)
    page = part(visitor(owner), tree, node)
    assert "Ran no command" in page and "Answered at once" not in page
    assert 'class="soft told-at-node">stopped; the text so far is kept' in page


def test_a_reader_sees_a_turn_and_may_not_stop_it(
    actor: Actor, reader: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    round_of(turn_of(actor, agent, point), status="running", text="She")
    page = part(visitor(reader), tree, point)
    assert "<span data-text>She</span>" in page
    assert "data-turn-act" not in page
    assert "act_budget" not in text(visitor(reader), f"/trees/{tree.uid}")


def test_a_turn_elsewhere_is_reported_with_its_place(
    actor: Actor, owner: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    turn_of(actor, agent, point)
    page = text(visitor(owner), f"/trees/{tree.uid}/turns?node={lookup.root_of(tree).local_id}")
    assert f'data-go="{point.local_id}"' in page
    assert "data-turn=" not in page


def test_an_aside_is_shown_beside_with_its_question_and_its_note(
    actor: Actor, owner: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    ids = [
        execute_line(actor, tree, Request(f'annotate {point.local_id} "{words}"')).body["refs"][0]
        for words in ("Is she angry?", "No, afraid.")
    ]
    asked, note = (Node.objects.get(tree=tree, local_id=local_id) for local_id in ids)
    turn_of(
        actor, agent, point, form="aside", status="done", ended_at=timezone.now(),
        input_node=asked, node=note,
    )  # fmt: skip
    here, _, asides = part(visitor(owner), tree, point).partition("data-asides")
    assert "data-turn=" not in here
    assert "Is she angry?" in asides and "No, afraid." in asides


def test_whatever_is_written_shows_as_text(
    actor: Actor, owner: User, tree: Tree, agent: Participant, point: Node, visitor: Visitor
) -> None:
    turn = turn_of(actor, agent, point, error={"message": HOSTILE, "hint": HOSTILE})
    first = round_of(turn, status="done", text=HOSTILE)
    turn.rounds = [{"generation": first.uid, "length": len(HOSTILE), "replies": []}]
    turn.save()
    say(actor, turn, f"→ {HOSTILE}", "1.1")
    say(actor, turn, f'→ bookmark here "{HOSTILE}"', "1.2")
    round_of(turn, 2, status="running", text=HOSTILE)
    page = part(visitor(owner), tree, point)
    assert "&lt;img" in page
    assert "<img" not in page


def test_the_composer_asks_loom_aware_agents_only(
    actor: Actor, owner: User, tree: Tree, agent: Participant, visitor: Visitor
) -> None:
    page = text(visitor(owner), f"/trees/{tree.uid}")
    assert f'name="actor" value="{agent.uid}"' in page
    agent.permissions = []
    agent.save()
    assert 'name="actor"' not in text(visitor(owner), f"/trees/{tree.uid}")


def test_outsiders_find_no_turns(outsider: User, tree: Tree, visitor: Visitor) -> None:
    assert visitor(outsider).get(f"/trees/{tree.uid}/turns").status_code == 404
