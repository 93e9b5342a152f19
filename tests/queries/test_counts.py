"""How big a tree is, and its body."""

from loom.access import Actor
from loom.commands import growth
from loom.models import Tree
from loom.queries.counts import size_of, tree_body
from tests.queries.growing import add, chain, flag, version


def test_a_new_tree_has_one_node_one_branch_and_depth_zero(actor: Actor, tree: Tree) -> None:
    assert size_of(actor, tree) == (1, 1, 0)


def test_branches_are_the_leaves_that_are_seen(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    d = add(tree, actor.participant, "d", a)
    assert size_of(actor, tree) == (5, 2, 3)
    flag(b, pruned=True)
    assert size_of(actor, tree) == (5, 1, 2)
    flag(d, pruned=True)
    assert size_of(actor, tree) == (5, 1, 1)
    flag(a, pruned=True)
    assert size_of(actor, tree) == (5, 1, 0)
    assert c.depth == 3


def test_versions_and_annotations_are_nodes_but_no_branches(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    version(actor.participant, a, "a second")
    version(actor.participant, b, "b second")
    add(tree, actor.participant, "note", b, kind="annotation", form="note")
    assert size_of(actor, tree) == (6, 1, 2)


def test_the_body_of_a_tree_is_that_of_the_contract(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    workspace = growth.workspace_of(actor.participant, tree)
    workspace.position = a
    workspace.save()
    body = tree_body(actor, tree, workspace)
    assert set(body) >= set(
        """id grove title mode description system_context summary truncation root node_count
        branch_count depth seq archived_at workspace""".split()
    )
    assert body["workspace"] == {"id": workspace.uid, "position": a.local_id}
    assert (body["node_count"], body["branch_count"], body["depth"]) == (2, 1, 1)
    assert body["seq"] == 3
    assert body["archived_at"] is None
    assert tree_body(actor, tree, None)["workspace"] is None


def test_a_position_that_was_hidden_is_told_as_the_nearest_seen(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    workspace = growth.workspace_of(actor.participant, tree)
    workspace.position = b
    workspace.save()
    flag(b, pruned=True)
    assert tree_body(actor, tree, workspace)["workspace"]["position"] == a.local_id
