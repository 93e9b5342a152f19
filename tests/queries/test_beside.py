"""What is beside one node."""

from loom.access import Actor
from loom.reading.queries import margins
from loom.trees.models import Tree
from loom.trees.queries import around
from tests.queries.growing import add, chain, flag, version


def test_an_annotation_that_was_edited_is_one_annotation(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    first = add(tree, actor.participant, "first", a, kind="annotation", form="note")
    second = add(tree, actor.participant, "second", a, kind="annotation", form="note")
    better = version(actor.participant, first, "first, better")
    assert list(around.annotations_of(a)) == [better, second]
    assert margins.counts_of(actor, a).annotations == 2
    flag(better, version_pruned=True)
    flag(second, pruned=True)
    assert list(around.annotations_of(a)) == [first]
