"""What a turn is sent and sees: where it is, who is there, long texts part by part."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents import generation_requests
from agents.agent_prompt import place_of
from agents.generation_requests import assembled
from agents.turns import run_turn
from loom.access import Actor
from loom.engine import presence
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.people.commands import groves
from loom.people.models import Participant
from loom.trees.commands import trees
from loom.trees.models import Tree
from loom.turns import access as turn_access
from loom.turns.models import Turn
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_request_says_where_people_are_and_forgets_who_left(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    Step.objects.update(at=timezone.now() - timedelta(minutes=5))
    name, me = f"tree:{tree.uid}", actor.participant.uid
    turn = asked(actor, tree, agent, node=opening)
    place = place_of(turn_access.acting_in(turn), turn)
    assert "active at" not in assembled(place).workspace
    presence.renew("web")
    presence.report(name, {me: (opening, "web")})
    assert f"Human active at [{opening}], depth:1" in assembled(place).workspace
    execute_line(actor, tree, Request(f"view {opening}"))  # one line each
    assert assembled(place).workspace.count("active at") == 1
    presence.report(name, {})
    assert "active at" not in assembled(place).workspace


def test_the_outline_unfolds_to_the_position_with_its_siblings(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    ids = [opening]
    for number in range(12):
        ids += execute_line(actor, tree, Request(f'respond {ids[-1]} "{number}"')).body["refs"]
    beside = execute_line(actor, tree, Request(f'respond {ids[-2]} "beside"')).body["refs"][0]
    turn = asked(actor, tree, agent, node=ids[-1])
    text = assembled(place_of(turn_access.acting_in(turn), turn)).workspace
    section = text.partition("---OUTLINE\n")[2].partition("\n---OUTLINE_END")[0]
    shown = section.split("\n")
    assert f'· [{ids[-1]}]* "11"' in shown[-2] and f'· [{beside}] "beside"' in shown[-1]
    assert shown[-2].index("├") == shown[-1].index("└")
    assert "… 6 nodes …" in section and f"[{ids[-2]}]" in section and ids[5] not in section


def test_the_request_is_not_a_hit_and_a_hit_says_where_it_is(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    execute_line(actor, tree, Request(f'annotate {opening} "Marie is cold."'))
    provider.script(says('→ find "Marie"\n'), says("Done."))
    went(asked(actor, tree, agent, node=opening, input="Find Marie."))
    last = provider.seen[1].json["messages"][-1]["content"]
    assert "2 hits for" in last and "Find Marie." not in last.partition("---WORKSPACE")[0]
    assert f'is cold." · below {opening}' in last


def test_after_a_switch_to_another_tree_the_view_is_of_that_tree(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    other = trees.new_tree(actor, title="Elsewhere")
    there = execute_line(actor, other, Request('respond root "Another story."')).body["refs"][0]
    provider.script(says(f"→ switch to tree:{other.uid} node:{there}\n→ tree\n"), says("Done."))
    went(asked(actor, tree, agent, node=opening))
    last = provider.seen[1].json["messages"][-1]["content"]
    results, _, workspace = last.partition("---WORKSPACE")
    assert "Another story." in results and f"[{there}]*" in results
    assert 'Tree: "Elsewhere" (dialogue mode)' in workspace
    assert f"[{there}] Owner (human)" in workspace.partition("---PATH")[2].partition("_END")[0]
    assert "You were asked in the tree" in workspace


def test_a_long_text_is_read_part_by_part(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    long = "".join(f"word{n} " for n in range(4_000))
    added = execute_line(actor, tree, Request(f"respond {opening}\n{long}\n←")).body["refs"][0]
    line = f"→ view {added} full"
    provider.script(
        says(f"{line}\n"), says(f"{line} part:2\n"), says(f"{line} part:3\n"), says(".")
    )
    went(asked(actor, tree, agent, node=opening, form="aside"))
    shown = [seen.json["messages"][-1]["content"] for seen in provider.seen[1:]]
    assert "→ view #1 part:2)" in shown[0]
    assert f"(part 2 of 3 · → view {added} full part:3)" in shown[1]
    texts = [reply.split("\n", 2)[2].rpartition("\n(")[0].removesuffix("…") for reply in shown]
    joined = "".join(text.partition('"')[2] if not n else text for n, text in enumerate(texts))
    assert joined.startswith(long.rstrip()[:1000]) and "word3999" in joined
    assert all(f"word{n} " in joined for n in range(3_999))


@pytest.mark.parametrize("sent_whole", [1, 500, 1_000])
def test_parts_are_sent_whole_where_the_grove_sends_only_short_results_whole(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    sent_whole: int,
) -> None:
    groves.change_grove(actor, settings={"result_threshold": sent_whole})
    long = "".join(f"word{n} " for n in range(600))
    added = execute_line(actor, tree, Request(f"respond {opening}\n{long}\n←")).body["refs"][0]
    parts = -(-4_700 // (4 * max(sent_whole, 150) - 100))
    provider.script(
        says(f"→ view {added} full\n"),
        *(says(f"→ view #1 part:{number}\n") for number in range(2, parts + 1)),
        says("."),
    )
    went(asked(actor, tree, agent, node=opening, form="aside"))
    shown = [seen.json["messages"][-1]["content"] for seen in provider.seen[1:]]
    assert "characters, " in shown[0] and "→ view #1 part:2)" in shown[0]
    assert all("tokens in all" not in reply for reply in shown[1:])
    joined = " ".join(shown)
    assert all(f"word{n} " in joined for n in range(599))
    assert len(shown) == parts


def test_a_path_that_must_not_be_cut_is_refused_with_the_code_that_subjects_get(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    long = execute_line(actor, tree, Request(f'respond "{"word " * 8_000}"')).body["refs"][0]
    Tree.objects.filter(pk=tree.pk).update(truncation="stopAtLimit")
    Participant.objects.filter(pk=agent.pk).update(context_limit=5_000)
    turn = went(asked(actor, tree, agent, node=long))
    assert (turn.status, turn.finish) == ("failed", "interrupted:limit_exceeded")
    assert turn.error is not None and turn.error["code"] == "LIMIT_EXCEEDED"


def test_a_turn_keeps_the_scope_of_the_key_it_was_asked_for_with(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    actor.user.scope = "write"
    turn = asked(actor, tree, agent, node=opening)
    actor.user.scope = "owner"
    stored = Turn.objects.get(pk=turn.pk)
    assert (stored.scope, turn_access.acting_in(stored).role) == ("write", "writer")


def test_text_that_is_excluded_after_a_round_was_priced_is_not_sent(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("Done."))
    turn = asked(actor, tree, agent, node=opening)
    run_turn(turn.uid)
    execute_line(actor, tree, Request(f"exclude {opening}"))
    went(turn)
    assert "Who is Marie?" not in str(provider.seen[0].json)


def test_a_round_is_assembled_once_priced_and_sent_from_the_same_value(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens: list[int] = []
    before = assembled

    def counting(*given: Any, **named: Any) -> Any:
        sent = before(*given, **named)
        tokens.append(sent.tokens)
        return sent

    monkeypatch.setattr(generation_requests, "assembled", counting)
    provider.script(says(f"→ view {opening}\n"), says("Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert len(tokens) == len(provider.seen) == 2
    assert turn.prepared is None
