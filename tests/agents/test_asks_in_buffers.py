"""What a turn was asked for in a buffer is kept beside the story, not in it."""

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.transfer.writers.text import as_text
from loom.trees.models import Node, Tree
from tests.agents.acting import asked, went
from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = "Continue in one sentence."


@pytest.fixture
def told(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Node:
    """The answer of a turn in a buffer."""
    Tree.objects.filter(pk=tree.pk).update(mode="buffer")
    tree.refresh_from_db()
    provider.script(says(" She waits."))
    turn = went(asked(actor, tree, agent, node=opening, input=WORDS))
    assert turn.node is not None
    return turn.node


def test_an_agent_reads_the_story_without_what_was_asked(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, told: Node
) -> None:
    provider.script(says("Yes."))
    went(asked(actor, tree, agent, node=told.local_id, input="And now?"))
    sent = provider.seen[-1].json["messages"][1]["content"]
    story = sent.partition("---REQUEST")[0]
    assert story.replace("› ", "›").rstrip() == "Who is Marie?︱›She waits."
    assert f'· asked: "{WORDS}"' in sent.partition("---PATH\n")[2]


def test_a_subject_continues_the_story_alone(
    ask: Say, provider: ScriptedProvider, told: Node
) -> None:
    provider.script(says(" Then it rains."))
    run(ask(f"continue from {told.local_id}")[0])
    sent = provider.seen[-1].json
    assert WORDS not in str(sent) and "Who is Marie?" in str(sent) and "She waits." in str(sent)


def test_the_prose_of_a_branch_leaves_out_what_was_asked(
    actor: Actor, tree: Tree, told: Node
) -> None:
    line = f"view branch:{told.local_id} as:prose"
    assert WORDS not in execute_line(actor, tree, Request(line)).reply
    assert WORDS in execute_line(actor, tree, Request(f"view branch:{told.local_id} full")).reply


def test_a_story_is_exported_without_what_was_asked(actor: Actor, tree: Tree, told: Node) -> None:
    text = b"".join(as_text(actor, tree, None, told)).decode()
    assert text.startswith("Who is Marie?") and text.endswith("She waits.") and WORDS not in text


def test_in_a_dialogue_what_was_asked_is_a_text_like_any_other(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("She waits."), says("Yes."))
    turn = went(asked(actor, tree, agent, node=opening, input=WORDS))
    assert turn.node is not None
    went(asked(actor, tree, agent, node=turn.node.local_id, input="And now?"))
    assert WORDS in str(provider.seen[-1].json["messages"][:-1])
