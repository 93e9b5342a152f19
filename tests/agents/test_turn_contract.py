"""Turns as an outside tool sees them: sentences of docs/model.md §5, §5.2, §5.3 and §7, over REST
alone."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from loom.engine.models import Step
from loom.people.models import Participant, User
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from loom.turns.models import Generation
from tests.agents.conftest import run
from tests.agents.outside import Outside
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import CUT, says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shape(request: pytest.FixtureRequest) -> str:
    """The shape of the provider that the agent sits behind."""
    return str(getattr(request, "param", "openai"))


# What is read from the wire or sent over it is tried with each shape; what Heddle makes of the text
# once it is read is the same for both.
BOTH_SHAPES = pytest.mark.parametrize("shape", ["openai", "anthropic"], indirect=True)


@pytest.fixture
def outside(
    shape: str, api: Callable[..., APIClient], owner: User, tree: Tree, agent: Participant
) -> Outside:
    """The owner, and the agent they ask."""
    agent.model_ref = f"{shape}:marie"
    agent.save()
    return Outside(api(owner), tree, agent)


def last(provider: ScriptedProvider) -> str:
    """All text of the last message that was sent."""
    content = provider.seen[-1].json["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


@BOTH_SHAPES
def test_quoted_and_escaped_lines_are_text_without_a_word(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    reply = "> → prune here\n\\→ prune here\n\\-> prune here"
    provider.script(says(reply))
    turn = outside.turn(opening)
    assert outside.lines(turn) == []
    assert outside.node(turn["node"])["text"] == reply.replace("\\", "")
    assert not outside.node(opening)["pruned"]


@BOTH_SHAPES
def test_near_misses_are_answered_and_ask_for_another_round_once(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    reply = "```\n→ prune here\n```\n⇒ prune here\n   → prune here"
    provider.script(says(reply), says(f"Again:\n{reply}"), says("Never asked."))
    turn = outside.turn(opening)
    assert [outcome for _, outcome in outside.lines(turn)] == ["INVALID_SYNTAX"] * 6
    assert not outside.node(opening)["pruned"]
    first = outside.get(f"steps?turn={turn['id']}")["results"][0]
    assert first["message"] == 'line 2: "→ prune here" looks like a command.'
    assert first["hint"].startswith(
        "if it was meant to run, write it alone on its line; if it is text"
    )
    assert "⇒ prune here" in outside.node(turn["node"])["text"]
    assert "Never asked." not in outside.texts()


def test_a_look_in_a_list_runs_and_many_looks_are_bounded(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    finds = "".join(f'→ find "w{n}"\n' for n in range(12))
    provider.script(says(f"- → view here\n{finds}"), says("Ok."))
    turn = outside.turn(opening)
    told = [outcome for _, outcome in outside.lines(turn)]
    assert len(told) == 13 and set(told[10:]) == {"LIMIT_EXCEEDED"}
    last = outside.get(f"steps?turn={turn['id']}")["results"][-1]
    assert 'write → find "w11" if you still need it' in last["hint"]


def test_a_reason_is_kept_with_its_step(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says('→ tag here #cold because:"she is"'))
    turn = outside.turn(opening)
    (step,) = outside.get(f"steps?turn={turn['id']}")["results"]
    assert (step["because"], step["outcome"]) == ("she is", "ok")


@BOTH_SHAPES
@pytest.mark.parametrize("how", ["length", "cut"])
def test_a_block_that_is_cut_off_is_not_run_and_its_text_is_kept(
    how: str, outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    reply = "Look.\n→ respond here\nShe was"
    whole = says(reply)
    provider.script(replace(whole, finish="length") if how == "length" else says(reply, CUT))
    provider.script(says("Enough."))
    turn = outside.turn(opening)
    texts = outside.texts()
    assert not any("She was" in text for text in texts)
    if how == "cut":
        assert (turn["status"], outside.node(turn["node"])["text"]) == ("failed", "Look.")
        assert turn["error"]["code"] == "MODEL_ERROR"
        return
    (step,) = outside.get(f"steps?turn={turn['id']}")["results"]
    assert (step["outcome"], "She was" in step["line"]) == ("INVALID_SYNTAX", True)
    assert outside.node(turn["node"])["text"] == "Enough."


@BOTH_SHAPES
def test_a_block_without_its_end_runs_where_it_is_one_line(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says("→ view here\n→ respond here\nShe was cold."), says("Ok."))
    turn = outside.turn(opening)
    assert [outcome for _, outcome in outside.lines(turn)] == ["ok", "ok"]
    assert "She was cold." in outside.texts()
    assert "! your text ran to the end of the message; close it with ←" in last(provider)


def test_a_block_without_its_end_that_holds_a_line_writes_nothing_and_is_kept(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says("→ respond here\nShe was\n→ prune here\ncold."), says("Ok."))
    turn = outside.turn(opening)
    (step,) = outside.get(f"steps?turn={turn['id']}")["results"]
    assert (step["outcome"], "She was\n→ prune" in step["line"]) == ("INVALID_SYNTAX", True)
    assert step["message"].startswith('line 1: "→ respond here"')
    assert not any("She was" in text for text in outside.texts())
    assert not outside.node(opening)["pruned"]


@BOTH_SHAPES
def test_a_thought_is_not_answered_and_nobody_is_sent_it(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says('→ think "secret"\n→ list here\n'), says("Ok."))
    outside.turn(opening)
    assert last(provider).count("✓ thought") == 0
    assert "secret" not in last(provider).replace('→ think "secret"', "")


def test_lines_of_others_trees_are_refused_without_telling_whether_there_are_any(
    outside: Outside, opening: str, provider: ScriptedProvider, agent: Participant
) -> None:
    agent.permissions = ["loom_aware", "loom_write"]
    agent.save()
    provider.script(says('→ view tree:"Nowhere" node:a2a2\n→ view q9q9\n'), says("Ok."))
    turn = outside.turn(opening)
    assert [outcome for _, outcome in outside.lines(turn)] == ["CROSS_TREE", "NOT_FOUND"]


def test_a_conflict_writes_nothing_not_even_the_askers_words(
    outside: Outside, opening: str
) -> None:
    assert outside.ask(opening, input="First.")["http"] == 202
    before = outside.texts()
    refused = outside.ask(opening, input="Second.")
    assert (refused["http"], refused["code"], refused["ok"]) == (409, "CONFLICT", False)
    assert "Marie" in refused["message"]
    assert outside.texts() == before


def test_nothing_but_a_second_turn_is_held_up_by_a_turn(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    assert outside.ask(opening)["http"] == 202
    for line in (
        f"view {opening}",
        f'annotate {opening} "x"',
        f'respond {opening} "x"',
        f'edit {opening} "x"',
        f'continue from {opening} using agent:"Marie"',
    ):
        assert outside.say(line)["http"] in (200, 202), line
    assert outside.ask(opening, **{"as": "aside"})["http"] == 202


def test_the_agent_is_at_the_node_of_its_turn(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    where = f"workspaces?tree={outside.tree.uid}&participant={outside.agent.uid}"
    asked = outside.ask(opening, input="And?")
    assert outside.get(where)["position"] == asked["input"]
    aside = outside.ask(opening, input="Why?", **{"as": "aside"})
    assert outside.get(where)["position"] == opening == aside["answers_below"]
    assert outside.node(aside["input"])["kind"] == "annotation"


@BOTH_SHAPES
def test_what_a_subject_writes_is_never_run_also_where_it_is_an_agent(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says(f"→ prune {opening}\n→ view root\nand more"))
    asked = outside.say(f'continue from {opening} using agent:"Marie"')
    row = run(Generation.objects.get(uid=asked["generations"][0]))
    assert row.node is not None
    assert row.node.text == f"→ prune {opening}\n→ view root\nand more"
    assert not outside.node(opening)["pruned"]


def test_the_text_somebody_is_editing_is_not_taken_from_them(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    mine = outside.get(f"trees/{outside.tree.uid}")["workspace"]["id"]
    draft = {"kind": "edit", "text": "mine"}
    put = outside.client.put(f"/api/workspaces/{mine}/drafts/{opening}", draft, format="json")
    assert put.status_code == 200
    provider.script(says(f'→ edit {opening} "its" as:version\n'), says("Ok."))
    turn = outside.turn(opening)
    assert [outcome for _, outcome in outside.lines(turn)] == ["CONFLICT"]
    drafts = outside.client.get(f"/api/workspaces/{mine}/drafts").json()
    assert "mine" in str(drafts)


def test_an_older_wording_is_not_overwritten(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    outside.say(f'edit {opening} "newer" as:version')
    provider.script(says(f'→ edit {opening} "its" as:version\n'), says("Ok."))
    turn = outside.turn(opening)
    assert [outcome for _, outcome in outside.lines(turn)] == ["CONFLICT"]


def test_a_reader_asks_for_no_turn(
    outside: Outside, opening: str, api: Callable[..., APIClient], reader: User
) -> None:
    refused = Outside(api(reader), outside.tree, outside.agent).ask(opening)
    assert (refused["http"], refused["code"]) == (403, "PERMISSION_DENIED")


def test_a_turn_is_asked_for_at_the_root(
    outside: Outside, provider: ScriptedProvider, tree: Tree
) -> None:
    """The root has a name in every line; here as well."""
    provider.script(says("It begins."))
    turn = outside.turn("root")
    assert outside.node(turn["node"])["text"] == "It begins."
    workspace = outside.get(f"trees/{tree.uid}")["workspace"]["id"]
    shown = outside.get(f"workspaces/{workspace}/context?participant={outside.agent.uid}&node=root")
    assert shown["http"] == 200


@BOTH_SHAPES
def test_used_up_steps_leave_help_budget_and_thinking(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    marks = "".join(f"→ tag here #t{n}\n" for n in range(20))
    provider.script(says(f'{marks}→ tag here #over\n→ think "hm"\n→ budget\n→ help tag\n'))
    provider.script(says("The end."))
    turn = outside.turn(opening, budget="quick")
    told = [outcome for _, outcome in outside.lines(turn)]
    assert told == ["ok"] * 20 + ["LIMIT_EXCEEDED", "ok", "ok", "ok"]
    assert outside.node(turn["node"])["text"] == "The end."
    assert "This is the last round" in last(provider)


def test_a_reply_of_lines_without_end_is_looked_at_as_far_as_its_budget_reaches(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    lines = "".join(f"→ tag here #t{n}\n" for n in range(300))
    provider.script(says(lines), says("The end."))
    turn = outside.turn(opening, budget="quick")
    assert len(turn["steps"]) == 40
    assert "! LIMIT_EXCEEDED: 260 lines more were not run. At most 40 lines" in last(provider)


def test_the_position_goes_back_where_an_agent_walks_in_a_circle(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.default = says("→ switch to root\n→ switch to " + opening + "\n")
    turn = outside.turn(opening)
    assert (turn["status"], turn["finish"]) == ("halted", "interrupted:loop")
    told = [outcome for _, outcome in outside.lines(turn)]
    assert told.count("LOOP") >= 2 and told[-1] == "LOOP"
    hints = [result["hint"] for result in outside.get(f"steps?turn={turn['id']}")["results"]]
    assert sum("the turn was halted" in hint for hint in hints) == 1


def test_lines_after_the_one_that_halts_a_turn_are_not_run(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says("→ view here\n" * 4 + "→ prune here\n"))
    turn = outside.turn(opening)
    assert [outcome for _, outcome in outside.lines(turn)] == ["ok", "ok", "LOOP", "LOOP"]
    assert (turn["status"], outside.node(opening)["pruned"]) == ("halted", False)


@BOTH_SHAPES
def test_who_says_the_same_again_is_warned_and_then_halted(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(*(says(f"It is the father, always the father.\n→ list here depth{n}\n")
                      for n in range(3)))  # fmt: skip
    turn = outside.turn(opening)
    assert turn["status"] == "halted"
    assert "What you write is what you wrote in round 1." in str(provider.seen[-1].json)


@BOTH_SHAPES
def test_bytes_that_were_sent_are_in_the_call_without_the_key(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says("Cold."))
    turn = outside.turn(opening)
    node = outside.node(turn["node"])
    call = outside.get(f"calls/{node['call']}")
    assert (call["turn"], call["purpose"]) == (turn["id"], "reply")
    assert call["request"]["body"]["messages"] == provider.seen[-1].json["messages"]
    assert call["bytes"] == "exact" and call["sealed_at"]
    assert node["generation"] == turn["generations"][-1]


def test_each_line_is_reported_in_the_stream_of_the_agents_workspace(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    provider.script(says("→ view here\n→ prune root\n"), says("Ok."))
    turn = outside.turn(opening)
    view = outside.get(f"workspaces?tree={outside.tree.uid}&participant={outside.agent.uid}")
    events = outside.get(f"workspaces/{view['id']}/events")["events"]
    told = [event["payload"] for event in events if event["kind"] == "view.changed"]
    assert [event["step"] for event in told if "step" in event] == turn["steps"]
    assert [event["revision"] for event in told] == list(range(1, len(told) + 1))


def test_a_refusal_says_whether_the_agent_or_its_inviter_lacks_the_right(
    outside: Outside, opening: str, provider: ScriptedProvider
) -> None:
    outside.agent.permissions = ["loom_aware"]
    outside.agent.save()
    provider.script(says("→ help\n→ prune here\n"), says("Ok."))
    turn = outside.turn(opening)
    helped, refused = outside.get(f"steps?turn={turn['id']}")["results"]
    assert "→ prune* REF" in helped["message"] and "→ view REF" in helped["message"]
    assert "An owner of the grove can give you this permission" in refused["hint"]
    assert "hint: An owner of the grove" in last(provider)


def test_a_thousand_steps_in_a_day_are_all_there_are(
    outside: Outside, opening: str, provider: ScriptedProvider, tree: Tree
) -> None:
    view = node_writer.workspace_of(outside.agent, tree)
    old = timezone.now() - timedelta(hours=25)
    row = Step(workspace=view, actor=outside.agent, turn_uid="t", line="→ budget", outcome="ok")
    before = [copy(row) for _ in range(1_001)]
    for number, step in enumerate(before, 1):
        step.seq, step.uid, step.at = number, f"s{number}", old if number < 3 else timezone.now()
    Step.objects.bulk_create(before)
    type(view).objects.filter(pk=view.pk).update(steps_made=1_001)
    provider.script(says("→ tag here #one\n→ tag here #two\n→ tag here #three\n"), says("Ok."))
    turn = outside.turn(opening)
    told = [outcome for _, outcome in outside.lines(turn)]
    assert told == ["ok", "LIMIT_EXCEEDED", "LIMIT_EXCEEDED"]
    assert "All 1,000 steps of this agent here in 24 hours are used." in last(provider)
