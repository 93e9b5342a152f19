"""What agents and models are writing in a tree when it is archived: it ends before, nothing that
came is lost, and nothing comes afterwards."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from agents import tasks, turns
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Stream
from loom.errors import CommandError
from loom.exploring import progress
from loom.exploring.models import Exploration
from loom.people.models import Participant
from loom.sandboxes.commands import discard_ended
from loom.trees.commands.trees import change_tree
from loom.trees.models import Node, Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Generation, Turn
from tests.agents.acting import asked, went
from tests.agents.conftest import Running, Say, again
from tests.kills.heddle import until
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, says

pytestmark = pytest.mark.django_db(transaction=True)


def _by_patch(actor: Actor, tree: Tree) -> None:
    change_tree(actor, tree, {"archived": True})


def _by_discard(actor: Actor, tree: Tree) -> None:
    reply = execute_line(actor, tree, Request("discard")).body["reply"]
    assert reply.endswith("stopped what was being written there; what had arrived is kept")


def _by_days(actor: Actor, tree: Tree) -> None:
    Tree.objects.filter(pk=tree.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert discard_ended() == 1


@pytest.fixture
def sandbox(actor: Actor, tree: Tree, opening: str) -> Tree:
    """An open sandbox at the text of the tree."""
    execute_line(actor, tree, Request("sandbox", at=opening))
    return Tree.objects.get(sandbox_of=actor.user)


def _demand_gapless(tree: Tree) -> None:
    name = f"tree:{tree.uid}"
    rows = Event.objects.filter(stream__name=name).order_by("seq")
    head = Stream.objects.get(name=name).head
    assert list(rows.values_list("seq", flat=True)) == list(range(1, head + 1))


@pytest.mark.parametrize("archive", [_by_patch, _by_discard, _by_days])
def test_a_turn_ends_with_what_it_has_before_its_tree_is_archived(
    actor: Actor,
    sandbox: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    archive: Callable[[Actor, Tree], None],
) -> None:
    provider.script(says("One and", HOLD, " two."))
    turn = asked(actor, sandbox, agent, input="Begin.")
    turns.run_turn(turn.uid)
    generation = Generation.objects.get(turn=turn)
    running = Running(generation)
    until(lambda: again(generation).text == "One and", what="the first text")
    archive(actor, sandbox)
    ended = Turn.objects.select_related("node").get(pk=turn.pk)
    assert (ended.status, ended.finish) == ("stopped", "interrupted:stopped")
    assert ended.node is not None and ended.node.text == "One and"
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None and ended.node.created_at <= sandbox.archived_at
    nodes = Node.objects.filter(tree=sandbox).count()
    assert running.ended().finish == "interrupted:stopped"
    turns.run_turn(turn.uid)
    tasks.sweep()
    assert Node.objects.filter(tree=sandbox).count() == nodes
    _demand_gapless(sandbox)


def test_generations_of_an_archived_tree_end_with_what_they_have(
    actor: Actor, tree: Tree, ask: Say, provider: ScriptedProvider
) -> None:
    provider.script(says("One and", HOLD, " two."))
    (first,) = ask("continue")
    running = Running(first)
    until(lambda: again(first).text == "One and", what="the first text")
    (waiting,) = ask("continue")
    change_tree(actor, tree, {"archived": True})
    kept = again(first).node
    assert kept is not None and (kept.text, kept.finish) == ("One and", "interrupted:stopped")
    assert (again(waiting).status, again(waiting).node) == ("stopped", None)
    running.ended()
    assert again(first).node == kept and Node.objects.filter(text__startswith="One").count() == 1
    call = again(first).call
    assert call is not None and call.sealed_at is not None
    _demand_gapless(tree)


def test_nothing_is_promoted_while_an_answer_is_written(
    actor: Actor, sandbox: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says("One."))
    turn = asked(actor, sandbox, agent, input="Begin.")
    with pytest.raises(CommandError) as refused:
        execute_line(actor, sandbox, Request("promote"))
    assert (refused.value.code, refused.value.message) == (
        "CONFLICT",
        f"{agent.name} is writing an answer in this sandbox.",
    )
    assert "stop it" in refused.value.hint
    went(turn)
    execute_line(actor, sandbox, Request("promote"))
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None
    assert Node.objects.exclude(tree=sandbox).filter(text="One.").exists()


def test_the_turn_that_promotes_its_sandbox_goes_on(
    actor: Actor, sandbox: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    provider.script(says('Done.\n→ respond here "A find."\n→ promote\n'), says("I have."))
    turn = went(asked(actor, sandbox, agent, input="Begin."))
    assert turn.status == "done"
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None
    assert Node.objects.exclude(tree=sandbox).filter(text="A find.").exists()


def test_an_end_that_cannot_be_stored_keeps_no_tree_out_of_the_archive(
    actor: Actor, tree: Tree, agent: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise IntegrityError("no")

    turn = asked(actor, tree, agent, input="Begin.")
    turns.run_turn(turn.uid)
    monkeypatch.setattr(generation_lifecycle, "end_generation", fails)
    change_tree(actor, tree, {"archived": True})
    tree.refresh_from_db()
    assert tree.archived_at is not None


def test_an_exploration_of_an_archived_tree_asks_for_nothing_more(
    actor: Actor, tree: Tree, model: Participant, opening: str, provider: ScriptedProvider
) -> None:
    execute_line(actor, tree, Request(f"explore from {opening} n:2 depth:3 keep:1 by:judge"))
    row = Exploration.objects.get()
    progress.advance(row.uid)
    change_tree(actor, tree, {"archived": True})
    progress.advance(row.uid)
    row.refresh_from_db()
    assert row.ended_at is not None and row.status == "stopped"
    assert not Generation.objects.filter(ended_at__isnull=True).exists()
    assert provider.seen == []
