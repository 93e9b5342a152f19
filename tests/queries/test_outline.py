"""The tree as an outline."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from loom.access import Actor
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries import outline as outlines
from loom.trees.queries.lookup import fetch
from loom.trees.queries.outline import CHILDREN, SIBLINGS, outline, outline_left
from tests.queries.growing import add, chain, flag, version
from tests.queries.plans import recorded


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


MANY = 60


@pytest.fixture
def crowd(actor: Actor, tree: Tree) -> tuple[Node, list[Node]]:
    """A node deeper than the outline goes, and what is below it in order: the last to be added
    comes first, and one that is pruned is left out."""
    *_, parent = chain(tree, actor.participant, "a", "b", "c")
    children = [add(tree, actor.participant, f"child {number}", parent) for number in range(MANY)]
    Node.objects.filter(pk=children[-1].pk).update(place=0)
    flag(children[5], pruned=True)
    return parent, [children[-1], *children[:5], *children[6:-1]]


def test_beside_a_position_are_the_siblings_next_to_it(
    actor: Actor, tree: Tree, crowd: tuple[Node, list[Node]]
) -> None:
    _, below = crowd
    workspace = node_writer.workspace_of(actor.participant, tree)
    for at in (0, 3, 6, 30, MANY - 7, MANY - 6, MANY - 4, MANY - 2):
        path = lookup.path_of(actor, tree, workspace, below[at])
        lines = outline_left(actor, tree, workspace, path)
        first = max(0, min(at - SIBLINGS // 2, len(below) - SIBLINGS))
        near = [node.text for node in below[first : first + SIBLINGS]]
        shown = [line.row.text for line in lines if line.row.text.startswith("child")]
        assert shown == near and below[at].text in near, at


def test_an_outline_reads_as_many_slots_as_it_shows(
    actor: Actor, tree: Tree, crowd: tuple[Node, list[Node]], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, below = crowd
    workspace = node_writer.workspace_of(actor.participant, tree)
    path = lookup.path_of(actor, tree, workspace, below[30])
    read: list[int] = []

    def counted(sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows = fetch(sql, params)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(outlines, "fetch", counted)
    with recorded() as queries:
        lines = outline_left(actor, tree, workspace, path)
    assert sum(line.row.text.startswith("child") for line in lines) == SIBLINGS
    with recorded() as expanding:
        lines = outline_left(actor, tree, workspace, path, {"expanded": [parent.local_id]})
    texts = [line.row.text for line in lines if line.row.text.startswith("child")]
    assert texts[:CHILDREN] == [node.text for node in below[:CHILDREN]]
    assert read and max(read) <= max(CHILDREN, 2 * SIBLINGS)
    queries.sent.update(expanding.sent)
    queries.demand_no_faults()
    beside = [sql for sql in queries.sent if "UNION ALL SELECT * FROM" in " ".join(sql.split())]
    assert beside
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {beside[0]}", queries.sent[beside[0]])
            plan = [row[3] for row in cursor.fetchall()]
        ranges = [line for line in plan if "node_seen_below" in line]
        assert ["<expr><?" in ranges[0], "<expr>>?" in ranges[1]] == [True, True], plan
        assert not any("TEMP B-TREE" in line for line in plan), plan
