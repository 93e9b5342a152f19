"""Turns as somebody outside sees them when the world changes in the middle of one."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.subject_prompt import asker_of, pieces_of
from agents.turns import run_turn
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.people.models import Membership, Participant, User
from loom.trees.models import Tree
from loom.trees.queries import lookup
from loom.turns import turn_lifecycle
from loom.turns.models import Generation, Turn
from loom.turns.queries import turns as rows
from tests.agents.acting import asked, outcomes, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says

pytestmark = pytest.mark.django_db(transaction=True)


def last(provider: ScriptedProvider) -> str:
    """The last message of the last request."""
    return str(provider.seen[-1].json["messages"][-1]["content"])


def test_a_turn_ends_at_once_when_its_inviter_is_no_longer_a_member(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider.script(says('One.\n→ annotate here "a"\n→ annotate here "b"\n→ list here\n'))

    def removing(*given: Any, **named: Any) -> object:
        answer = execute_line(*given, **named)
        Membership.objects.filter(user=actor.user, grove=tree.grove).delete()
        return answer

    monkeypatch.setattr("agents.turns.execute_line", removing)
    turn = went(asked(actor, tree, agent, node=opening))
    assert outcomes(turn) == [('→ annotate here "a"', "ok")]
    assert (turn.status, turn.finish) == ("failed", "interrupted:permission_denied")
    assert turn.error is not None and "no longer a member" in turn.error["message"]
    assert turn.node is not None and turn.node.text == "One."


def test_a_stop_that_comes_while_a_round_is_being_queued_is_noticed(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = turn_lifecycle.begin_round

    def stopped_meanwhile(turn: Turn, *, request: dict[str, Any], tokens: int) -> Generation:
        # Who stops looks for what writes, and the round is not stored yet.
        Turn.objects.filter(pk=turn.pk).update(stop_asked=True)
        return before(turn, request=request, tokens=tokens)

    monkeypatch.setattr(turn_lifecycle, "begin_round", stopped_meanwhile)
    turn = asked(actor, tree, agent, node=opening)
    run_turn(turn.uid)
    assert Generation.objects.get(turn=turn).status == "stopped"
    assert (went(turn).status, provider.seen) == ("stopped", [])


def test_a_stop_that_a_lost_worker_did_not_hand_on_is_found_by_the_sweeper(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    turn = asked(actor, tree, agent, node=opening)
    run_turn(turn.uid)
    assert list(turn_lifecycle.waiting()) == []
    Turn.objects.filter(pk=turn.pk).update(stop_asked=True)
    assert list(turn_lifecycle.waiting()) == [turn.uid]


def test_a_refused_loop_points_to_the_result_that_was_given(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(*[says("→ view here\n")] * 3, says("Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "ok", "LOOP"]
    assert "its answer is #1;" in Step.objects.filter(turn_uid=turn.uid).order_by("-id")[0].hint
    assert "  hint: its answer is #1; look at something else, or conclude" in last(provider)


def test_a_silent_line_leaves_no_trace_in_the_results(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says('→ bookmark here\n→ think "hm"\n→ view zz9z\n'), says("Done."))
    went(asked(actor, tree, agent, node=opening))
    told = last(provider).partition("---RESULTS_END")[0].split("\n")
    assert told[0] == "---RESULTS"
    assert told[1].startswith("✓ bookmarked") and told[2].startswith("✗ NOT_FOUND")


def test_an_agent_is_placed_above_what_is_pruned_under_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    below = execute_line(actor, tree, Request('respond "Below."')).body["refs"][0]
    turn = asked(actor, tree, agent, node=below)
    execute_line(actor, tree, Request(f"prune {below}"))
    provider.script(says("Done."))
    went(turn)
    assert f"→ [{opening}]*" in last(provider)
    assert f"Human active at [{opening}], depth:1" in last(provider)
    assert f"[{below}]" not in last(provider)


def test_an_answer_names_the_call_that_said_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("First.\n→ view here\n"), fails(401, "no"))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.node is not None and turn.node.text == "First."
    first = Generation.objects.get(turn=turn, round=1)
    assert first.call is not None
    assert (turn.node.call_uid, turn.node.generation_uid) == (first.call.uid, first.uid)
    assert rows().get(pk=turn.pk).status == "failed"


def test_what_hangs_below_a_pruned_node_is_sent_to_no_subject_either(
    actor: Actor, tree: Tree, model: Participant, provider: ScriptedProvider, opening: str
) -> None:
    execute_line(actor, tree, Request('respond "Gone."'))
    gone = execute_line(actor, tree, Request('respond "Below it."'))
    execute_line(actor, tree, Request(f'continue using agent:"{model.name}"'))
    above = lookup.find_node(tree, gone.body["refs"][0])
    assert above is not None and above.parent_slot is not None
    execute_line(actor, tree, Request(f"prune {above.parent_slot.local_id}"))
    asked = Generation.objects.get(participant=model)
    pieces = pieces_of(asked, asker_of(asked), None)
    assert [piece.text for piece in pieces] == ["Who is Marie?"]


def test_a_refused_body_names_its_fields_as_they_are_sent(
    api: Callable[..., APIClient], owner: User, tree: Tree, agent: Participant
) -> None:
    body = {"participant": agent.uid, "budget": "mega"}
    answer = api(owner).post(f"/api/trees/{tree.uid}/turns", body, format="json")
    assert answer.json()["hint"] == "fields: participant, node, input, as, budget, key"
