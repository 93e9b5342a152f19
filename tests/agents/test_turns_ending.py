"""How turns end: stopped or lost in every state, and always, whatever a model says."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents import tasks, turns
from agents.turns import run_turn
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.people.models import Participant
from loom.site.display import cast_of
from loom.trees.models import Node, Tree
from loom.turns import generation_lifecycle, turn_lifecycle
from loom.turns.models import ENDED_TURN, Generation, Turn
from loom.turns.pages.turns import shown
from loom.turns.queries import budget_of, turn_body
from loom.turns.queries import turns as rows
from tests.agents.acting import asked, outcomes, run_queued, went
from tests.agents.conftest import Running
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, says
from tests.thorough import tries

pytestmark = pytest.mark.django_db(transaction=True)
SAID = 'One.\n→ annotate here "a"\n→ annotate here "b"\n→ list here\n'


@pytest.fixture
def agent(model: Participant) -> Participant:
    """A loom-aware agent behind the scripted provider."""
    model.name, model.context_limit, model.budget = "Marie", 50_000, "quick"
    model.permissions = ["loom_aware", "loom_write", "loom_generate"]
    model.save()
    return model


class WorkerLostError(BaseException):
    """A worker that is killed writes nothing more."""


def lost_after(
    name: str, times: int, monkeypatch: pytest.MonkeyPatch, place: object = turn_lifecycle
) -> None:
    """The worker is killed right after the `times`th call of a function, once."""
    original: Callable[..., object] = getattr(place, name)
    left = [times]

    def killed(*given: object, **named: object) -> object:
        answer = original(*given, **named)
        left[0] -= 1
        if left[0] == 0:
            raise WorkerLostError
        return answer

    monkeypatch.setattr(place, name, killed)


def forget_leases() -> None:
    """As if the time of every lease were over."""
    Turn.objects.update(lease="", leased_until=None)


@pytest.mark.parametrize("times", range(1, 10))
def test_a_turn_whose_worker_is_lost_between_two_states_goes_on_with_nothing_doubled(
    times: int,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider.script(says(SAID), says("Two."))
    turn = asked(actor, tree, agent, input="Begin.")
    lost_after("keep", times, monkeypatch)
    try:
        went(turn)
    except WorkerLostError:
        forget_leases()
    assert tasks.sweep() >= 0
    turn = went(turn)
    assert turn.status == "done"
    assert turn.node is not None and turn.node.text == "Two."
    assert _texts("annotation") == ["a", "b"]
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "ok", "ok"]
    assert len(provider.seen) == 2
    assert Node.objects.filter(author=agent, kind="text").count() == 1


def _texts(kind: str) -> list[str]:
    return list(Node.objects.filter(kind=kind).order_by("id").values_list("text", flat=True))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_line_that_ran_when_its_worker_was_lost_is_reported_and_not_run_again(
    times: int,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider.script(says(SAID), says("Two."))
    turn = asked(actor, tree, agent, input="Begin.")
    lost_after("execute_line", times, monkeypatch, place=turns)
    with pytest.raises(WorkerLostError):
        went(turn)
    forget_leases()
    turn = went(turn)
    assert _texts("annotation") == ["a", "b"]
    assert Step.objects.filter(turn_uid=turn.uid).count() == 3
    assert "✓ annotation [" in provider.seen[1].json["messages"][-1]["content"]


def test_a_round_that_a_lost_worker_left_in_its_text_is_clearly_interrupted(
    actor: Actor, tree: Tree, agent: Participant
) -> None:
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    generation = Generation.objects.get(turn=turn)
    generation_lifecycle.take(generation.uid, lease="gone", seconds=-1)
    Generation.objects.filter(pk=generation.pk).update(text='Half.\n→ annotate here "a', chunk=1)
    tasks.sweep()
    turn = went(turn)
    assert (turn.status, turn.finish) == ("interrupted", "interrupted:worker lost")
    assert turn.node is not None
    assert (turn.node.text, turn.node.finish) == ("Half.", "interrupted:worker lost")
    assert outcomes(turn) == []


def test_a_turn_that_is_stopped_before_it_began_asks_nobody(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    turn = asked(actor, tree, agent, input="Begin.")
    turn_lifecycle.ask_stop(turn)
    turn = went(turn)
    assert (turn.status, turn.node, provider.seen) == ("stopped", None, [])


def test_a_turn_that_is_stopped_while_its_round_waits_asks_nobody(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    turn_lifecycle.ask_stop(rows().get(pk=turn.pk))
    turn = went(turn)
    assert (turn.status, turn.node, provider.seen) == ("stopped", None, [])


def test_a_turn_that_is_stopped_while_it_writes_keeps_what_came_and_runs_no_line_of_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says('Half.\n→ annotate here "a"\n', HOLD, "More."))
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    running = Running(Generation.objects.get(turn=turn))
    provider.wait_for(1)
    while not Generation.objects.get(turn=turn).text:
        tasks.sweep()
    turn_lifecycle.ask_stop(rows().get(pk=turn.pk))
    running.ended()
    turn = went(turn)
    assert (turn.status, turn.finish) == ("stopped", "interrupted:stopped")
    assert turn.node is not None
    assert (turn.node.text, turn.node.finish) == ("Half.", "interrupted:stopped")
    assert _texts("annotation") == []


def test_a_turn_that_is_stopped_between_two_lines_runs_no_more_of_them(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider.script(says(SAID))
    turn = asked(actor, tree, agent, input="Begin.")
    before = turns.next_line

    def stopping(*given: object) -> bool:
        went_on = before(*given)  # type: ignore[arg-type]
        turn_lifecycle.ask_stop(rows().get(pk=turn.pk))
        return went_on

    monkeypatch.setattr("agents.turns.next_line", stopping)
    turn = went(turn)
    assert turn.status == "stopped"
    assert _texts("annotation") == ["a"]
    assert turn.node is not None and turn.node.text == "One."


def test_a_turn_that_is_stopped_while_a_line_waits_for_candidates_stops_them(
    actor: Actor, tree: Tree, agent: Participant, muse: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says('One.\n→ continue n:2 using agent:"Muse"\n', "x"))
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    run_queued(turn)
    run_turn(turn.uid)
    waiting = rows().get(pk=turn.pk)
    assert (waiting.status, len(waiting.waits_for)) == ("executing", 2)
    turn_lifecycle.ask_stop(waiting)
    turn = went(turn)
    assert turn.status == "stopped"
    stopped = Generation.objects.filter(turn=turn, round=0).values_list("status", flat=True)
    assert list(stopped) == ["stopped", "stopped"]


PIECES = st.sampled_from(
    [
        "Prose. ",
        "\n",
        "→ view here\n",
        "→ list here\n",
        "→ tree\n",
        "→ switch to parent\n",
        "→ switch to root\n",
        '→ annotate here "x"\n',
        '→ respond "more"\n',
        "→ respond\nA block.\n←\n",
        '→ think "hm"\n',
        "→ budget\n",
        "→ help\n",
        "→ nonsense\n",
        "→ undo\n",
        "-> view here\n",
        "```\n",
        "> → prune here\n",
        "→ prune here\n",
        '→ find "Prose"\n',
    ]
)


@settings(
    max_examples=tries(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.lists(PIECES, min_size=1, max_size=8), min_size=1, max_size=4), st.booleans())
def test_every_turn_ends_with_a_model_that_never_stops(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    scripts: list[list[str]],
    is_aside: bool,
) -> None:
    answers = random.Random(len(scripts)).choices(["".join(script) for script in scripts], k=40)
    provider._queue.clear()
    provider.script(*(says(answer) for answer in answers))
    provider.default = says("→ view here\n→ nonsense\n")
    seen = len(provider.seen)
    turn = went(
        asked(actor, tree, agent, input="Go.", form="aside" if is_aside else "continuation")
    )
    assert turn.status in ENDED_TURN
    assert len(provider.seen) - seen <= 4  # three rounds of the preset, and one to conclude
    assert len(outcomes(turn)) == len(
        {step.turn_place for step in Step.objects.filter(turn_uid=turn.uid)} - {""}
    )


def test_what_is_used_up_leaves_one_last_round_to_conclude(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(
        says("→ view here\n"), says("→ tree\n"), says("→ help\n"), says("The end.\n→ list here\n")
    )
    turn = went(asked(actor, tree, agent, input="Begin."))
    assert turn.status == "done"
    assert len(provider.seen) == 4
    last = provider.seen[3].json["messages"][-1]["content"]
    assert "! All 3 rounds of this turn are used. This is the last round" in last
    assert outcomes(turn)[-1] == ("→ list here", "LIMIT_EXCEEDED")
    assert turn.node is not None and turn.node.text == "The end."


def test_used_up_tokens_refuse_lines_and_leave_a_round_to_conclude(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    most = {"prompt_tokens": 199_000, "completion_tokens": 1, "total_tokens": 199_001}
    looks, tags = says("→ view here\n", usage=most), says("→ tag here #one\n", usage=most)
    provider.script(looks, tags, says("The end."))
    turn = went(asked(actor, tree, agent, input="Begin.", budget="standard"))
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "LIMIT_EXCEEDED"]
    last = provider.seen[-1].json["messages"][-1]["content"]
    assert "All 200,000 tokens of this turn are used." in last
    assert turn.tokens > 200_000 and turn.node is not None and turn.node.text == "The end."
    assert turn_body(turn)["limit"] == "tokens" and turn_body(turn)["finish"] is None


def test_what_the_round_before_was_sent_counts_a_tenth(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    usage = {"prompt_tokens": 10_000, "completion_tokens": 0, "total_tokens": 10_000}
    provider.script(says("→ view here\n", usage=usage), says("Seen.", usage=usage))
    turn = went(asked(actor, tree, agent, input="Begin.", budget="standard"))
    assert 11_000 < turn.tokens < 14_000


def test_a_round_for_which_too_few_tokens_are_left_is_the_last(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    usage = {"prompt_tokens": 199_990, "completion_tokens": 0, "total_tokens": 199_990}
    provider.script(says("→ view here\n", usage=usage), says("The end."))
    turn = went(asked(actor, tree, agent, input="Begin.", budget="standard"))
    last = provider.seen[-1].json["messages"][-1]["content"]
    assert re.search(r"! Another round needs about \d+ tokens, and 10 are left. This is the", last)
    assert turn.status == "done" and turn_body(turn)["limit"] == "tokens"


def test_a_turn_that_ends_without_an_answer_says_what_was_used_up(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(*(says(f"→ view here lines:1-{n}\n") for n in range(1, 5)))
    turn = went(asked(actor, tree, agent, input="Begin.", budget="quick"))
    assert (turn.node, turn.status, turn.finish) == (None, "interrupted", "interrupted:rounds")
    assert turn_body(turn)["limit"] == "rounds"
    (card,) = shown(actor, [rows().get(pk=turn.pk)], cast_of(actor))
    assert card.reason == "stopped: the rounds of the turn are used up; the text so far is kept"


def test_a_budget_that_is_nearly_used_up_is_warned_of_in_the_status(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    usage = {"prompt_tokens": 170_000, "completion_tokens": 0, "total_tokens": 170_000}
    provider.script(says("→ view here\n", usage=usage), says("The end."))
    went(asked(actor, tree, agent, input="Begin.", budget="standard"))
    status = provider.seen[-1].json["messages"][-1]["content"]
    assert "tokens 170k/200k · " in status
    assert "! nearly used up: tokens 170k/200k · write your answer soon" in status


def test_more_steps_are_asked_for_by_the_agent_and_granted_by_people(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says('→ budget extend steps:5 tokens:50000 why:"more to read"\n'))
    turn = asked(actor, tree, agent, input="Begin.")
    run_turn(turn.uid)
    run_queued(turn)
    run_turn(turn.uid)
    going = rows().get(pk=turn.pk)
    assert going.extension == {"steps": 5, "tokens": 50_000, "why": "more to read"}
    turn_lifecycle.extend(actor, going, 5, 50_000)
    assert execute_line(actor, tree, Request("budget")).body["ok"]
    assert rows().get(pk=turn.pk).more_steps == 5
    assert budget_of(rows().get(pk=turn.pk)).tokens == 100_000 + 50_000
