"""The tree as an outline."""

from loom.access import Actor
from loom.models import Tree
from loom.queries import lookup
from loom.queries.outline import outline
from tests.queries.growing import add, chain, flag, version


def test_lines_come_in_reading_order_with_levels(actor: Actor, tree: Tree) -> None:
    a, b, _ = chain(tree, actor.participant, "a", "b", "c")
    add(tree, actor.participant, "d", a)
    add(tree, actor.participant, "note", b, kind="annotation", form="note")
    drawn = outline(actor, tree, None, lookup.root_of(tree))
    assert [(line.row.text, line.level, line.is_last) for line in drawn.lines] == [
        ("", 0, True),
        ("a", 1, True),
        ("b", 2, False),
        ("c", 3, True),
        ("d", 2, True),
    ]
    assert [line.children for line in drawn.lines] == [1, 2, 1, 0, 0]
    assert [line.annotations for line in drawn.lines] == [0, 0, 1, 0, 0]
    assert not drawn.is_cut


def test_the_depth_bounds_it_and_what_is_folded_is_counted(actor: Actor, tree: Tree) -> None:
    a, *_ = chain(tree, actor.participant, "a", "b", "c")
    drawn = outline(actor, tree, None, a, depth=1)
    assert [line.row.text for line in drawn.lines] == ["a", "b"]
    assert (drawn.lines[1].children, drawn.lines[1].shown) == (1, 0)


def test_pruned_slots_are_left_out_and_standing_versions_shown(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    c = add(tree, actor.participant, "c", a)
    version(actor.participant, b, "b second")
    flag(c, pruned=True)
    drawn = outline(actor, tree, None, a)
    assert [line.row.text for line in drawn.lines] == ["a", "b second"]


def test_the_number_of_lines_is_bounded_from_below(actor: Actor, tree: Tree) -> None:
    a, _ = chain(tree, actor.participant, "a", "b")
    for text in "cdef":
        add(tree, actor.participant, text, a)
    drawn = outline(actor, tree, None, a, limit=4)
    assert drawn.is_cut
    assert len(drawn.lines) == 4
    assert drawn.lines[0].children == 5
