"""The scratchpad of a workspace: one short text, and who sees it."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.engine.views import stored
from loom.errors import CommandError
from loom.trees.commands import node_writer
from loom.trees.models import Tree, Workspace
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Callable[[str], str]:
    return lambda line: execute_line(actor, tree, Request(line)).reply


def kept(actor: Actor, tree: Tree) -> str:
    return node_writer.workspace_of(actor.participant, tree).scratchpad


def test_a_new_text_replaces_the_old_one_and_append_adds_below(
    say: Callable[[str], str], actor: Actor, tree: Tree
) -> None:
    assert say('scratchpad "Marie counts boats."') == "✓ scratchpad (5 tokens of 200)"
    assert say('scratchpad "Ask Ada." append') == "✓ scratchpad (7 tokens of 200)"
    assert kept(actor, tree) == "Marie counts boats.\nAsk Ada."
    assert say("scratchpad append\nOne.\n\nTwo.\n←").startswith("✓ scratchpad (")
    assert kept(actor, tree).endswith("Ask Ada.\nOne.\n\nTwo.")
    assert say('scratchpad "Only this."') == "✓ scratchpad (3 tokens of 200)"
    assert kept(actor, tree) == "Only this."
    assert say("scratchpad clear") == "✓ scratchpad cleared"
    assert kept(actor, tree) == ""


def test_what_is_too_long_or_empty_is_refused_and_nothing_changes(
    say: Callable[[str], str], actor: Actor, tree: Tree
) -> None:
    say(f'scratchpad "{"a" * 790}"')
    for line, code in (
        (f'scratchpad "{"a" * 801}"', "LIMIT_EXCEEDED"),
        (f'scratchpad "{"b" * 20}" append', "LIMIT_EXCEEDED"),
        ('scratchpad " "', "INVALID_SYNTAX"),
    ):
        with pytest.raises(CommandError) as caught:
            say(line)
        assert caught.value.code == code
    assert kept(actor, tree) == "a" * 790
    assert say("scratchpad clear") == say("scratchpad clear") == "✓ scratchpad cleared"
    assert kept(actor, tree) == ""


def test_a_change_is_one_event_of_the_workspace_without_the_text(
    say: Callable[[str], str], actor: Actor, tree: Tree
) -> None:
    say('scratchpad "Marie counts boats."')
    own = node_writer.workspace_of(actor.participant, tree)
    (event,) = Event.objects.filter(stream__name=f"workspace:{own.uid}", kind="view.changed")
    assert event.payload == {"scratchpad": 5, "revision": own.revision}
    say('scratchpad "Marie counts boats."')
    assert Event.objects.filter(stream__name=f"workspace:{own.uid}").count() == 1


def test_a_scratchpad_is_its_participants_and_an_agents_its_groves(
    two_groves: TwoGroves,
) -> None:
    side = two_groves.right
    side.run(two_groves.both, f'scratchpad "{SECRET}"')
    person = Workspace.objects.get(tree=side.tree, participant__user=two_groves.both)
    agent = stored(node_writer.workspace_of(two_groves.agent(side), side.tree))
    write = {"line": f'scratchpad "{SECRET}"'}
    address = f"/api/workspaces/{agent.uid}/commands"
    member = two_groves.client(two_groves.both)
    assert member.post(address, write, format="json").status_code == 200
    assert member.get(f"/api/workspaces/{agent.uid}").json()["scratchpad"] == SECRET

    def seen(client: APIClient, uid: str) -> int:
        answer = client.get(f"/api/workspaces/{uid}")
        assert (SECRET in answer.content.decode()) == (answer.status_code == 200)
        return int(answer.status_code)

    assert seen(member, person.uid) == 200
    assert seen(two_groves.client(two_groves.only_right), person.uid) == 404
    assert seen(two_groves.client(two_groves.only_right), agent.uid) == 200
    for user in (two_groves.only_left, two_groves.nobody):
        client = two_groves.client(user)
        assert seen(client, person.uid) == seen(client, agent.uid) == 404
        assert client.post(address, write, format="json").status_code == 404
