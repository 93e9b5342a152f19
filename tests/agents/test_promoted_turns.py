"""A turn in a sandbox of which `promote` moved the calls: each of the two trees can be erased."""

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.trees.erasing import erase_rows
from loom.trees.models import Node, Tree
from loom.turns.models import Call, Generation, Turn
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


def _erase(tree: Tree) -> None:
    Tree.objects.filter(pk=tree.pk).update(erasing_at=tree.created_at)
    erase_rows(tree.uid)


@pytest.fixture
def sandbox(
    actor: Actor, tree: Tree, opening: str, agent: Participant, provider: ScriptedProvider
) -> Tree:
    """A promoted sandbox in which an agent had a turn."""
    execute_line(actor, tree, Request("sandbox", at=opening))
    sandbox = Tree.objects.get(sandbox_of=actor.user)
    provider.script(says("She was a chemist.\n→ tree"), says("And a physicist."))
    went(asked(actor, sandbox, agent))
    execute_line(actor, sandbox, Request("promote"))
    assert Call.objects.filter(tree=tree, turn__tree=sandbox).exists()
    return sandbox


def test_the_promoted_sandbox_is_erased(tree: Tree, sandbox: Tree) -> None:
    texts = sorted(Node.objects.filter(tree=tree).values_list("text", flat=True))
    _erase(sandbox)
    assert not Tree.objects.filter(pk=sandbox.pk).exists() and not Turn.objects.exists()
    assert sorted(Node.objects.filter(tree=tree).values_list("text", flat=True)) == texts
    assert Call.objects.filter(tree=tree).exists()


def test_the_tree_that_it_was_promoted_into_is_erased(tree: Tree, sandbox: Tree) -> None:
    _erase(tree)
    assert not Tree.objects.filter(pk=tree.pk).exists()
    assert not Generation.objects.filter(tree=tree).exists()
    assert Turn.objects.filter(tree=sandbox).exists()
