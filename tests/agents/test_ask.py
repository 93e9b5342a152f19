"""`ask`: an agent asks another one or a person, waits for the answer or goes on, with what all of
them may do and out of its own budget."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.answers import bring_answer
from agents.turns import run_turn
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.notes.models import Mention
from loom.people.models import Grove, Participant, User
from loom.trees.models import Node, Tree
from loom.turns import turn_lifecycle
from loom.turns.access import acting_in
from loom.turns.models import OPEN_TURN, Ask, Generation, Turn
from loom.turns.queries import budget_of, spent_of, turn_body
from loom.workspace.models import Window
from tests.agents.acting import asked, run_queued, step, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def editor(agent: Participant, provider: ScriptedProvider) -> Participant:
    """Another loom-aware agent, behind the same provider."""
    return Participant.objects.create(
        grove=agent.grove,
        kind="model",
        name="Editor",
        model_ref="openai:echo-2",
        base_url=provider.url,
        permissions=["loom_aware", "loom_write", "loom_generate"],
        context_limit=50_000,
    )


def on(turn: Turn, times: int = 12) -> Turn:
    """Runs a turn as far as it goes now; its row afterwards."""
    for _ in range(times):
        run_turn(turn.uid)
        run_queued(turn)
    return turn_lifecycle.turn_again(turn.pk)


def sent(provider: ScriptedProvider, at: int = -1) -> str:
    """The last message of a request."""
    return str(provider.seen[at].json["messages"][-1]["content"])


def test_an_agent_asks_another_one_and_waits_for_its_answer(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    editor: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    provider.script(says(f'→ ask agent:"Editor" "Is it too long?" at {opening} wait\n→ tree\n'))
    turn = on(asked(actor, tree, agent, node=opening))
    ask = Ask.objects.get()
    child = turn_lifecycle.turn_again(ask.turn_id or 0)
    assert (turn.status, turn.waits_for) == ("executing", [f"ask:{ask.uid}"])
    assert (child.participant, child.invoked_by, child.form) == (editor, actor.person, "aside")
    assert child.asking_id == turn.pk and turn_body(child)["asked_in"] == turn.uid
    assert child.input_node is not None and child.input_node.author == agent
    assert (child.input_node.form, child.input_node.text) == ("question", "Is it too long?")
    provider.script(says("Cut the second half."))
    child = went(child)
    request = sent(provider)
    assert (
        f"---REQUEST from Marie (model) in [{child.input_node_id and ask.node.local_id}]" in request
    )
    assert child.node is not None and child.node.parent_slot_id == ask.node_id
    bring_answer(ask.uid)
    provider.script(says("I will cut it."))
    turn = went(turn)
    answer = child.node.local_id
    line = f'✓ agent:"Editor" answered [{ask.node.local_id}] in [{answer}]\n  opened #'
    assert line in sent(provider)
    assert "Cut the second half." in sent(provider).partition("---WINDOW #")[2]
    assert turn.status == "done" and turn.node is not None
    assert step(turn, "1.1").outcome == "ok"
    window = Window.objects.get(item=child.node.pk)
    assert window.workspace.participant == agent


def test_an_answer_that_nobody_waits_for_comes_as_a_window(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    editor: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    provider.script(says(f'→ ask agent:"Editor" "Is it too long?" at {opening}\nI asked.'))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "done"
    ask = Ask.objects.get()
    provider.script(says("Cut the second half."))
    child = went(turn_lifecycle.turn_again(ask.turn_id or 0))
    assert child.node is not None
    bring_answer(ask.uid)
    bring_answer(ask.uid)
    assert Window.objects.filter(workspace__participant=agent, item=child.node.pk).count() == 1
    provider.script(says("Thanks."))
    went(asked(actor, tree, agent, node=opening))
    assert "Cut the second half." in sent(provider).partition("---WINDOWS")[2]
    assert f"✓ Editor annotated [{ask.node.local_id}]" in sent(provider)


def test_the_one_who_is_asked_has_the_permissions_of_all(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    editor: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    Participant.objects.filter(pk=agent.pk).update(
        permissions=["loom_aware", "loom_generate", "doc_read"]
    )
    Participant.objects.filter(pk=editor.pk).update(
        permissions=["loom_aware", "loom_write", "loom_generate", "cross_tree"]
    )
    provider.script(says(f'→ ask agent:"Editor" "Write it." at {opening} wait\n'))
    turn = on(asked(actor, tree, agent, node=opening))
    child = turn_lifecycle.turn_again(Ask.objects.get().turn_id or 0)
    assert acting_in(child).permissions == {"loom_aware", "loom_generate"}
    provider.script(says(f'→ annotate {opening} "mine"\n'), says("I may not."))
    child = went(child)
    assert step(child, "1.1").outcome == "PERMISSION_DENIED"
    Participant.objects.filter(pk=agent.pk).update(archived_at=timezone.now())
    assert acting_in(child).permissions == set()
    assert turn_lifecycle.turn_again(turn.pk).status in OPEN_TURN


def test_the_budget_is_the_askers_and_both_are_stopped_together(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    editor: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    provider.script(says(f"→ view {opening}\n"), says('→ ask agent:"Editor" "Long?" wait\n'))
    turn = on(asked(actor, tree, agent, node=opening, budget="quick"))
    child = turn_lifecycle.turn_again(Ask.objects.get().turn_id or 0)
    own, now = budget_of(turn), timezone.now()
    assert budget_of(child).steps == own.steps - spent_of(turn, now).steps == own.steps - 2
    provider.script(says(f"→ view {opening}\n→ view root\n"), says("→ memory\n"))
    child = on(child)
    assert spent_of(turn, now).steps == 2 + 3
    assert spent_of(turn, now).tokens == turn.tokens + child.tokens
    assert budget_of(child).steps == own.steps - 2
    assert child.status == "done"
    provider.script(says(f'→ ask agent:"Editor" "Long?" at {opening} wait\n'))
    turn = on(asked(actor, tree, agent, node=opening, form="aside"))
    child = turn_lifecycle.turn_again(Ask.objects.get(asking=turn).turn_id or 0)
    turn_lifecycle.ask_stop(turn)
    turn, child = on(turn), on(child)
    assert (turn.status, child.status) == ("stopped", "stopped")
    assert not Ask.objects.filter(ended_at__isnull=True).exists()


def test_agents_ask_one_another_only_as_deep_as_the_grove_allows(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    editor: Participant,
    provider: ScriptedProvider,
    opening: str,
    grove: Grove,
) -> None:
    third = Participant.objects.create(
        grove=grove,
        kind="model",
        name="Third",
        model_ref="openai:echo-3",
        base_url=provider.url,
        permissions=editor.permissions,
        context_limit=50_000,
    )
    line = f'→ ask agent:"{third.name}" "And you?" at {opening} wait\n'
    provider.script(says(f'→ ask agent:"Editor" "Long?" at {opening} wait\n'))
    on(asked(actor, tree, agent, node=opening))
    child = turn_lifecycle.turn_again(Ask.objects.get().turn_id or 0)
    provider.script(says(f'{line}→ ask agent:"Marie" "You?" wait\n'), says("No."))
    child = went(child)
    assert [step(child, f"1.{at}").outcome for at in (1, 2)] == ["REJECTED", "REJECTED"]
    assert "may not ask another one" in step(child, "1.1").message
    grove.settings = {"ask_depth": 2}
    grove.save()
    Ask.objects.all().delete()
    provider.script(says(f'→ ask agent:"Editor" "Long?" at {opening} wait\n'))
    on(asked(actor, tree, agent, node=opening, form="aside"))
    child = turn_lifecycle.turn_again(Ask.objects.get().turn_id or 0)
    provider.script(says(line))
    child = on(child)
    deepest = Ask.objects.get(asked=third)
    assert child.waits_for == [f"ask:{deepest.uid}"]
    assert acting_in(turn_lifecycle.turn_again(deepest.turn_id or 0)).permissions


def test_a_person_is_asked_with_a_mention_and_the_turn_waits(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    writer: User,
) -> None:
    who = writer.participants.get()
    provider.script(says(f'→ ask "{who.name}" "Which end?" at {opening} wait\n'))
    turn = on(asked(actor, tree, agent, node=opening))
    ask = Ask.objects.get()
    assert (ask.asked, ask.turn, turn.waits_for) == (who, None, [f"ask:{ask.uid}"])
    assert (ask.node.text, ask.node.form) == (f"@{who.name} Which end?", "question")
    assert Mention.objects.get().participant == who
    answer = f'annotate {ask.node.local_id} "The dark one."'
    execute_line(actor, tree, Request(f'annotate {ask.node.local_id} "Not mine."'))
    assert on(turn).waits_for  # somebody else's reply is no answer
    reply = execute_line(get_actor(writer, tree.grove), tree, Request(answer)).reply
    assert reply.endswith("\n  Marie is sent this answer")
    bring_answer(ask.uid)
    provider.script(says("So be it."))
    turn = went(turn)
    assert f"✓ {who.name} answered [{ask.node.local_id}] in [" in sent(provider)
    assert "The dark one." in sent(provider)


def test_the_turn_goes_on_without_an_answer_when_its_time_is_over(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    writer: User,
) -> None:
    name = writer.participants.get().name
    provider.script(says(f'→ ask "{name}" "Which end?" at {opening} wait\n'))
    turn = on(asked(actor, tree, agent, node=opening, budget="quick"))
    ask = Ask.objects.get()
    assert turn_lifecycle.is_waiting(turn) and turn.uid not in turn_lifecycle.waiting()
    past = timezone.now() - timedelta(seconds=90)
    Turn.objects.filter(pk=turn.pk).update(created_at=past, moved_at=past)
    assert turn.uid in turn_lifecycle.waiting()
    provider.script(says("I do not know."))
    turn = went(turn)
    assert f"! {name} has not answered in time to [{ask.node.local_id}]" in sent(provider)
    assert turn.node is not None and turn.node.text == "I do not know."
    answer = f'annotate {ask.node.local_id} "The dark one."'
    reply = execute_line(get_actor(writer, tree.grove), tree, Request(answer)).reply
    assert "Marie asked in a turn that has ended; start another one to go on" in reply
    bring_answer(ask.uid)
    (window,) = Window.objects.filter(workspace__participant=agent, kind="node")
    assert Node.objects.get(pk=window.item_id or 0).text == "The dark one."


def test_who_cannot_answer_is_not_asked(
    actor: Actor, tree: Tree, agent: Participant, editor: Participant, reader: User, opening: str
) -> None:
    Participant.objects.create(grove=tree.grove, kind="model", name="Plain", permissions=[])
    name = reader.participants.get().name
    for line, code in (
        (f'ask "{name}" "Which end?"', "REJECTED"),
        ('ask "Nobody" "Which end?"', "NOT_FOUND"),
        ('ask "Editor" "Which end?"', "NOT_FOUND"),
        (f'ask "{actor.participant.name}" "Which end?"', "REJECTED"),
        ('ask agent:"Plain" "Which end?"', "REJECTED"),
        ('ask agent:"Nobody" "Which end?"', "NOT_FOUND"),
        ('ask agent:"Editor" " "', "INVALID_SYNTAX"),
    ):
        with pytest.raises(CommandError) as refused:
            execute_line(actor, tree, Request(line))
        assert refused.value.code == code, line
        assert (
            code != "NOT_FOUND" or ("Editor" not in line) or 'agent:"Editor"' in refused.value.hint
        )
    assert not Ask.objects.exists() and not Turn.objects.exists()
    dry = execute_line(actor, tree, Request('ask agent:"Editor" "Long?"', dry_run=True))
    assert dry.reply.startswith('✓ asked agent:"Editor" at [')
    assert not Ask.objects.exists() and not Turn.objects.exists()


def test_undo_takes_a_question_back_and_stops_the_turn(
    actor: Actor, tree: Tree, editor: Participant, opening: str
) -> None:
    execute_line(actor, tree, Request(f'ask agent:"Editor" "Long?" at {opening}'))
    ask = Ask.objects.get()
    execute_line(actor, tree, Request("undo"))
    node = Node.objects.get(pk=ask.node_id)
    assert node.pruned
    assert turn_lifecycle.turn_again(ask.turn_id or 0).stop_asked


def test_nobody_of_another_grove_is_asked_or_learns_of_a_question(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    stranger = two_groves.agent(right, name="Stranger")
    for line in (f'ask agent:"{stranger.name}" "{SECRET}"', f'ask agent:{stranger.uid} "a"'):
        with pytest.raises(CommandError) as refused:
            left.run(two_groves.both, line)
        assert refused.value.code == "NOT_FOUND" and "Stranger" not in refused.value.hint
    name = right.actor(two_groves.only_right).participant.name
    with pytest.raises(CommandError) as refused:
        left.run(two_groves.both, f'ask "{name}" "Which end?"')
    assert refused.value.code == "NOT_FOUND"
    right.run(two_groves.both, f'ask "{name}" "{SECRET}"')
    assert Mention.objects.get().participant == right.actor(two_groves.only_right).participant
    page = two_groves.client(two_groves.only_left).get("/mentions").content.decode()
    assert SECRET not in page
    assert SECRET in two_groves.client(two_groves.only_right).get("/mentions").content.decode()


def test_a_turn_that_fails_ends_what_it_asked_for_before_that_has_begun(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    editor: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    provider.script(
        says(f'→ ask agent:"Editor" "Is it too long?" at {opening}\n→ tree\n'), fails(401)
    )
    turn = asked(actor, tree, agent, node=opening)
    run_turn(turn.uid)
    run_queued(turn)  # the first round
    run_turn(turn.uid)
    child = turn_lifecycle.turn_again(Ask.objects.get().turn_id or 0)
    run_turn(child.uid)  # its first round waits in its lane
    assert Generation.objects.get(turn=child).status == "queued"
    turn = went(turn)
    assert turn.status == "failed"
    child = went(child)
    assert child.status == "stopped"
    seqs = list(Event.objects.filter(stream__name=f"tree:{tree.uid}").values_list("seq", flat=True))
    assert sorted(seqs) == list(range(1, len(seqs) + 1))


def test_undo_of_a_question_stops_a_turn_that_has_not_begun(
    actor: Actor, tree: Tree, editor: Participant, opening: str
) -> None:
    execute_line(actor, tree, Request(f'ask agent:"Editor" "Is it too long?" at {opening}'))
    child = turn_lifecycle.turn_again(Ask.objects.get().turn_id or 0)
    run_turn(child.uid)  # its first round waits in its lane
    assert Generation.objects.get(turn=child).status == "queued"
    assert execute_line(actor, tree, Request("undo")).body["ok"]
    assert went(child).status == "stopped"
    execute_line(actor, tree, Request('respond root "Again."'))
