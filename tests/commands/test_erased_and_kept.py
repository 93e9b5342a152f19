"""What was made in one tree out of another stays when that one is erased."""

import pytest

from loom.access import Actor
from loom.links.models import Link, LinkCount, Trail
from loom.notes.models import Mark
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


@pytest.mark.parametrize("is_hidden", [False, True])
def test_what_was_given_to_a_document_stays_when_the_tree_is_erased(
    is_hidden: bool, say: Say, write: Say, actor: Actor, tree: Tree, other: Tree
) -> None:
    text = write("A text")
    say('write doc:"Plan" new "Words"')
    for line in ('tag doc:"Plan" #kept', 'bookmark doc:"Plan" "mine"'):
        say(line)
    say(f'link doc:"Plan" to tree:{other.uid} as:supports')
    say(f'link doc:"Plan" to {text} as:supports')
    say('claim "It is planned" cite:doc:"Plan"')
    if is_hidden:  # other members would be told of what was written there
        say("allow writers hidden")
    _erase(actor, tree)
    kept = {"bookmark", "tag"} if not is_hidden else set()
    assert set(Mark.objects.filter(tree=other).values_list("kind", flat=True)) == kept
    assert [link.tree for link in Link.objects.all()] == [other] * (not is_hidden)
    listed = say('list doc:"Plan"', into=other).reply
    assert ("supports" in listed) is not is_hidden
    assert LinkCount.objects.filter(count__gt=0).exists() is not is_hidden
    if not is_hidden:
        assert say('untag doc:"Plan" #kept', into=other).reply.startswith("✓ untagged")
