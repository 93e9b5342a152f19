"""A long text of a turn is stored once, in its node: rounds, steps and generations name it."""

import json

import pytest
from django.db.models import F

from bench.storage import prose, sizes
from loom.access import Actor
from loom.engine.answers import message_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.people.models import Participant
from loom.site.display import cast_of
from loom.trees.models import Node, Tree
from loom.turns.models import Generation, Turn
from loom.turns.pages.turns import shown as turns_shown
from loom.workspace.queries.workspace_bodies import said_in
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "She waited by the door until the lamps went out. " * 60


def write(actor: Actor, tree: Tree, text: str, below: str = "root") -> str:
    """The local id of a text that the actor writes."""
    return str(execute_line(actor, tree, Request(f"respond {below}\n{text}\n←")).body["refs"][0])


def stored(turn: Turn) -> str:
    """What the rows of a turn hold: rounds, steps and generations."""
    steps = Step.objects.filter(turn_uid=turn.uid).values("line", "canonical", "message", "quoted")
    texts = Generation.objects.filter(turn=turn).values("text")
    row = Turn.objects.filter(pk=turn.pk).values("rounds", "replies", "prepared")
    return json.dumps([list(steps), list(texts), list(row)])


def test_a_long_text_of_a_turn_costs_at_most_three_bytes_for_each_of_its_own(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider
) -> None:
    every = [text.replace("→", "to").replace("{", "(") for text in prose(48, 20_000)]
    there, viewed = every[:30], every[42:]
    kinds = {"answers": every[30:36], "writes": every[36:42], "views": viewed}
    top = write(actor, tree, "Short.")
    for text in there:  # the search index of a few texts alone says nothing
        write(actor, tree, text, top)
    below = [write(actor, tree, text, top) for text in viewed]
    # On PostgreSQL each table and index takes a page with its first row.
    provider.script(says(f'→ view {top}\n→ respond {top} "A word."\n'), says("I see."))
    assert went(asked(actor, tree, agent, node=top)).status == "done"
    for kind, texts in kinds.items():
        before = sizes()["all"]
        for number, text in enumerate(texts):
            if kind == "answers":
                provider.script(says(text))
            elif kind == "writes":
                provider.script(says(f"I write.\n→ respond {top}\n{text}\n←\n"))
            else:
                provider.script(says(f"I look.\n→ view {below[number]} full\n"), says("I see."))
            assert went(asked(actor, tree, agent, node=top)).status == "done"
        cost = (sizes()["all"] - before) / sum(len(text.encode()) for text in texts)
        assert cost <= 3, kind


def test_what_a_turn_viewed_is_named_and_shown_again(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    long = write(actor, tree, LONG)
    provider.script(says(f"I look.\n→ view {long} full\n"), says("I see."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert LONG[:240] not in stored(turn)
    (step,) = Step.objects.filter(turn_uid=turn.uid)
    assert f'"{LONG}"' in message_of(step)
    assert LONG[:240] in provider.seen[-1].body.decode()
    (first, last) = turns_shown(actor, [turn], cast_of(actor))[0].rounds
    assert (first.text, last.text) == ("I look.", "I see.")
    assert LONG in "\n".join([first.lines[0].answer, first.lines[0].more])


def test_what_a_turn_wrote_and_answered_is_in_its_nodes_alone(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    line = f"→ respond {opening}\n{LONG}end\n←\n"
    provider.script(says(f"I wrote {{1}}.\n{line}→ budget\n"), says(f"{LONG}That is all."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert LONG[:240] not in stored(turn)
    node = Node.objects.get(tree=tree, text=f"{LONG}end")
    _, last = turn.generations.filter(round__gt=0).order_by("round")
    assert said_in(last, turn) == f"{LONG}That is all."
    shown = turns_shown(actor, [turn], cast_of(actor))[0].rounds
    assert [node.text for node in shown] == [f"I wrote {node.local_id}.", f"{LONG}That is all."]
    assert shown[0].lines[0].block == f"{LONG}end"


def test_a_round_that_is_not_the_answer_keeps_its_words(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says(f"{LONG}\n→ view {opening}\nnever read"), says("Short."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.node is not None and turn.node.text == "Short."
    first = Generation.objects.filter(turn=turn, round=F("turn__generation__round") - 1).get()
    assert said_in(first, turn) == f"{LONG}\n→ view {opening}\n"
    assert "text" not in turn.rounds[0] and "prose" not in turn.rounds[0]
    assert turns_shown(actor, [turn], cast_of(actor))[0].rounds[0].text == LONG.rstrip()
