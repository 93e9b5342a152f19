"""What is excluded or pruned reaches no model: not by a look, an outline, or the news."""

import json

import pytest

from agents.agent_prompt import place_of
from agents.generation_requests import assembled
from loom.access import Actor, acting_as
from loom.documents.actions import make_document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.workspace.models import Window
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "The vault opens at midnight."


def _respond(actor: Actor, tree: Tree, below: str, text: str) -> str:
    return str(execute_line(actor, tree, Request(f'respond {below} "{text}"')).body["refs"][0])


@pytest.fixture
def hidden(actor: Actor, tree: Tree, opening: str, request: pytest.FixtureRequest) -> str:
    """A text below the opening, with one below it, that is excluded or pruned."""
    node = _respond(actor, tree, opening, SECRET)
    _respond(actor, tree, node, "After it.")
    execute_line(actor, tree, Request(f"link {opening} to {node} as:supports"))
    paper = make_document(actor, title="Plan", text=f"![[tree:{tree.uid} node:{node}]]")
    execute_line(actor, tree, Request(f'link doc:"Plan" to {node}'))
    assert SECRET in execute_line(actor, tree, Request('list doc:"Plan" links')).reply, paper
    make_document(actor, title="Draft", text=f"![[tree:{tree.uid} node:{node}]]")
    assert SECRET in execute_line(actor, tree, Request('list doc:"Draft" links')).reply
    execute_line(actor, tree, Request(f"switch to {opening}"))
    execute_line(actor, tree, Request(f"{request.param} {node}"))
    return node


both = pytest.mark.parametrize("hidden", ["exclude", "prune"], indirect=True)
LOOKS = (
    "view {hidden} full",
    "view {hidden} as:prose",
    "view {hidden} head:10",
    "view branch:{hidden} full",
    "view branch:{hidden} as:prose",
    "list {opening} continuations",
    "list {opening} links",
    "list {hidden} versions",
    "tree",
    "tree from {hidden} summary",
    'find "vault"',
    'find "vault" in:grove',
    'find "vault" in:{hidden}',
    "graph {opening} types:supports",
    "compare {opening} {hidden} as:side",
    'list doc:"Plan" links',
    'list doc:"Draft" links',
    'view doc:"Plan"',
)


@both
@pytest.mark.parametrize("line", LOOKS)
def test_no_look_of_a_model_shows_it(
    actor: Actor, tree: Tree, agent: Participant, opening: str, hidden: str, line: str
) -> None:
    asks = Request(line.format(hidden=hidden, opening=opening))
    reply = str(execute_line(acting_as(actor, agent), tree, asks).body["reply"])
    assert "midnight" not in reply and "The vault" not in reply


@both
def test_a_person_still_sees_it(actor: Actor, tree: Tree, hidden: str) -> None:
    assert SECRET in str(execute_line(actor, tree, Request(f"view {hidden} full")).body["reply"])


def test_a_note_below_what_is_pruned_is_not_shown(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    execute_line(actor, tree, Request(f'annotate {opening} "{SECRET}"'))
    execute_line(actor, tree, Request(f"prune {opening}"))
    asks = Request(f"view {opening} with-annotations")
    assert "midnight" in execute_line(actor, tree, asks).reply
    assert "midnight" not in execute_line(acting_as(actor, agent), tree, asks).reply


@both
def test_a_model_puts_none_of_it_aside(
    actor: Actor, tree: Tree, agent: Participant, opening: str, hidden: str
) -> None:
    acting = acting_as(actor, agent)
    with pytest.raises(CommandError):
        execute_line(acting, tree, Request(f'stash "a" content-of:{hidden}'))
    execute_line(acting, tree, Request(f'stash "b" summary-of:{opening}-{hidden}'))
    assert Window.objects.filter(text__contains="vault").count() == 0
    assert Window.objects.filter(text__contains=opening).count() == 1


def test_the_path_of_a_buffer_shows_no_words_of_it(
    actor: Actor, buffer: Tree, agent: Participant
) -> None:
    first = _respond(actor, buffer, "root", "The hall. ")
    node = _respond(actor, buffer, first, SECRET)
    last = _respond(actor, buffer, node, "After it.")
    turn = asked(actor, buffer, agent, node=last)
    acting = acting_as(actor, agent)
    assert "The vault" in json.dumps(assembled(place_of(acting, turn)).bodies)
    execute_line(actor, buffer, Request(f"exclude {node}"))
    assert "The vault" not in json.dumps(assembled(place_of(acting, turn)).bodies)


def test_a_diff_shows_no_wording_that_was_pruned(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    first = _respond(actor, tree, opening, SECRET)
    line = f'edit {first} "The vault is shut." as:version'
    second = execute_line(actor, tree, Request(line)).body["refs"][0]
    execute_line(actor, tree, Request(f"prune {first} version"))
    asks = Request(f"view {second} as:diff")
    assert "midnight" in str(execute_line(actor, tree, asks).body["reply"])
    assert "midnight" not in str(execute_line(acting_as(actor, agent), tree, asks).body["reply"])


@pytest.mark.parametrize("flag", ["exclude", "prune"])
def test_neither_outline_nor_news_nor_request_holds_it(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    flag: str,
) -> None:
    provider.script(says("First."))
    went(asked(actor, tree, agent, node=opening))
    node = _respond(actor, tree, opening, SECRET)
    note = execute_line(actor, tree, Request(f'annotate {opening} "{SECRET}"')).body["refs"][0]
    turn = asked(actor, tree, agent, node=opening, input="Do as I say.")
    place = place_of(acting_as(actor, agent), turn)
    assert SECRET in json.dumps(assembled(place).bodies)
    execute_line(actor, tree, Request(f"{flag} {node}"))
    execute_line(actor, tree, Request(f"prune {note}"))
    assert SECRET not in json.dumps(assembled(place).bodies)
    assert "Do as I say." in json.dumps(assembled(place).bodies)
    assert turn.input_node is not None
    execute_line(actor, tree, Request(f"exclude {turn.input_node.local_id}"))
    assert "Do as I say." not in json.dumps(assembled(place).bodies)
