"""What was made in one tree out of another stays when that one is erased."""

import pytest

from loom.access import Actor
from loom.links.models import Trail
from loom.trees.commands import trees
from loom.trees.erasing import erase_rows
from loom.trees.models import Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(actor: Actor) -> Tree:
    """A second tree of the grove."""
    return trees.new_tree(actor, title="The other")


def _erase(actor: Actor, tree: Tree) -> None:
    Tree.objects.filter(pk=tree.pk).update(erasing_at=tree.created_at)
    erase_rows(tree.uid)
    assert not Tree.objects.filter(pk=tree.pk).exists()


def test_a_trail_stays_when_the_tree_of_which_it_was_forked_is_erased(
    say: Say, write: Say, actor: Actor, tree: Tree, other: Tree
) -> None:
    text = write("A text")
    say(f"view {text}")
    say('trail save "first"')
    say('trail fork "first" at:1 save:"second"', into=other)
    _erase(actor, tree)
    assert [(trail.name, trail.forked_from) for trail in Trail.objects.all()] == [("second", None)]
