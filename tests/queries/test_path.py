"""The path as one participant reads it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from loom.access import Actor
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree, VersionChoice
from loom.trees.queries import lookup
from loom.trees.queries.lookup import NodeRow, path_of
from loom.trees.queries.places import path_ids
from tests.queries.growing import add, chain, flag, fresh, version
from tests.triggers import triggers_aside


def _ids(rows: list[NodeRow]) -> list[int]:
    return [row.id for row in rows]


def test_a_path_goes_from_the_root_to_the_node(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    rows = path_of(actor, tree, None, c)
    assert [row.text for row in rows] == ["", "a", "b", "c"]
    assert [row.depth for row in rows] == [0, 1, 2, 3]
    assert rows[-1].author_name == actor.participant.name
    assert rows[-1].created_at == c.created_at
    assert [key for _, key in path_ids(actor, tree, None, c)] == _ids(rows)
    assert a.pk in _ids(rows) and b.pk in _ids(rows)


def test_the_end_of_a_path_is_read_alone(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    assert [key for _, key in path_ids(actor, tree, None, c, most=2)] == [b.pk, c.pk]
    assert path_ids(actor, tree, None, c, most=9) == path_ids(actor, tree, None, c)
    assert path_ids(actor, tree, None, a, most=2) == path_ids(actor, tree, None, a)


def test_without_a_node_it_ends_where_the_workspace_stands(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    workspace = node_writer.workspace_of(actor.participant, tree)
    assert len(path_of(actor, tree, workspace)) == 1
    workspace.position = a
    assert len(path_of(actor, tree, workspace)) == 2
    assert len(path_of(actor, tree, None)) == 1


def test_the_newest_version_is_selected_where_none_is_chosen(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, a, "a second")
    assert path_of(actor, tree, None, b)[1].id == second.pk
    flag(second, version_pruned=True)
    assert path_of(actor, tree, None, b)[1].id == a.pk


def test_a_chosen_version_is_current_in_its_workspace_only(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, a, "a second")
    workspace = node_writer.workspace_of(actor.participant, tree)
    VersionChoice.objects.create(workspace=workspace, slot=a, node=a)
    assert path_of(actor, tree, workspace, b)[1].id == a.pk
    assert path_of(actor, tree, None, b)[1].id == second.pk


def test_a_chosen_version_that_was_pruned_is_no_longer_current(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, a, "a second")
    workspace = node_writer.workspace_of(actor.participant, tree)
    VersionChoice.objects.create(workspace=workspace, slot=a, node=second)
    flag(second, version_pruned=True)
    assert path_of(actor, tree, workspace, b)[1].id == a.pk


def test_a_node_that_is_named_is_shown_though_pruned(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    version(actor.participant, b, "b second")
    flag(a, pruned=True)
    flag(b, version_pruned=True)
    rows = path_of(actor, tree, None, fresh(b))
    assert [row.id for row in rows[1:]] == [a.pk, b.pk]
    assert rows[1].pruned and not rows[1].version_pruned
    assert rows[2].version_pruned and not rows[2].pruned


def test_flags_are_read_from_the_slot(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    second = version(actor.participant, a, "a second")
    flag(a, excluded=True)
    assert path_of(actor, tree, None, second)[1].excluded


def test_what_most_nodes_leave_empty_is_read_too(actor: Actor, tree: Tree) -> None:
    blocks = [{"type": "text", "text": "→ “x”"}, {"type": "text", "text": "y"}]
    node = add(
        tree,
        actor.participant,
        "→ “x”y",
        None,
        blocks=blocks,
        call_uid="call",
        configuration="c" * 64,
        generation_uid="gen",
        finish="interrupted:stop",
    )
    row = path_of(actor, tree, None, node)[1]
    assert row.content == blocks
    assert (row.call_uid, row.generation_uid, row.finish) == ("call", "gen", "interrupted:stop")
    assert row.more.configuration == "c" * 64


def test_a_path_is_one_query_however_deep(actor: Actor, tree: Tree) -> None:
    nodes = chain(tree, actor.participant, *(str(i) for i in range(30)))
    with CaptureQueriesContext(connection) as queries:
        rows = path_of(actor, tree, None, nodes[-1])
    assert len(rows) == 31
    assert len(queries) == 1


@pytest.mark.parametrize("depths", [(1, 1), (2, 1)])
def test_a_ring_in_a_corrupt_tree_ends_the_walk(
    actor: Actor, tree: Tree, depths: tuple[int, int]
) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    with triggers_aside(connection):
        Node.objects.filter(pk=a.pk).update(parent_slot=b, depth=depths[0])
        Node.objects.filter(pk=b.pk).update(depth=depths[1])
    assert len(path_of(actor, tree, None, fresh(b))) <= 3


def test_a_path_of_an_annotation_ends_with_it(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    note = add(tree, actor.participant, "note", a, kind="annotation", form="question")
    rows = path_of(actor, tree, None, note)
    assert [row.kind for row in rows] == ["text", "text", "annotation"]
    assert rows[-1].form == "question"
    assert lookup.root_of(tree).pk == rows[0].id
