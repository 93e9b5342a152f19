"""What hangs below a pruned slot is hidden."""

from loom.access import Actor
from loom.trees.models import Tree
from loom.trees.queries import lookup, places
from tests.queries.growing import add, chain, flag, fresh


def test_nothing_is_hidden_where_nothing_is_pruned(actor: Actor, tree: Tree) -> None:
    nodes = chain(tree, actor.participant, "a", "b")
    assert places.hidden_among(node.pk for node in nodes) == set()
    assert lookup.below_pruned(tree.pk, [node.pk for node in nodes]) == set()


def test_a_pruned_slot_hides_itself_and_all_below(actor: Actor, tree: Tree) -> None:
    a, b, c, d = chain(tree, actor.participant, "a", "b", "c", "d")
    note = add(tree, actor.participant, "note", c, kind="annotation")
    beside = add(tree, actor.participant, "beside", a)
    flag(b, pruned=True)
    every = [node.pk for node in (a, b, c, d, note, beside)]
    assert places.hidden_among(every) == {b.pk, c.pk, d.pk, note.pk}
    assert lookup.below_pruned(tree.pk, every) == {c.pk, d.pk, note.pk}
    assert lookup.below_pruned(tree.pk, [d.pk]) == {d.pk}


def test_a_position_moves_to_the_nearest_node_that_is_seen(actor: Actor, tree: Tree) -> None:
    a, b, _, d = chain(tree, actor.participant, "a", "b", "c", "d")
    assert lookup.visible_at_or_above(fresh(d), None).pk == d.pk
    flag(b, pruned=True)
    assert lookup.visible_at_or_above(fresh(d), None).pk == a.pk
    flag(a, pruned=True)
    assert lookup.visible_at_or_above(fresh(d), None).depth == 0
