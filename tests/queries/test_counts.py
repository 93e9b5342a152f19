"""How big a tree is, and its body."""

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.reading.queries.tree_bodies import tree_body
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import outline
from loom.trees.queries.outline import measured, size_of
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
    workspace = node_writer.workspace_of(actor.participant, tree)
    workspace.position = a
    workspace.save()
    body = tree_body(tree, workspace)
    assert set(body) >= set(
        """id grove title mode description system_context summary truncation root node_count
        branch_count depth seq archived_at workspace""".split()
    )
    assert body["workspace"] == {"id": workspace.uid, "position": a.local_id}
    assert (body["node_count"], body["branch_count"], body["depth"]) == (2, 1, 1)
    assert body["seq"] == 3
    assert body["archived_at"] is None
    assert tree_body(tree, None)["workspace"] is None


def test_a_position_that_was_hidden_is_reported_as_the_nearest_seen(
    actor: Actor, tree: Tree
) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    workspace = node_writer.workspace_of(actor.participant, tree)
    workspace.position = b
    workspace.save()
    flag(b, pruned=True)
    assert tree_body(tree, workspace)["workspace"]["position"] == a.local_id


def test_the_size_is_kept_as_a_tree_grows_and_is_what_a_pass_over_it_finds(
    actor: Actor, tree: Tree
) -> None:
    def say(line: str) -> str:
        refs = execute_line(actor, tree, Request(line)).body["refs"]
        return str(refs[0]) if refs else ""

    a = say('respond root "a"')
    b = say(f'respond {a} "b"')
    lines = [
        f'respond {a} "c"',
        f'respond {b} "d"',
        f'edit {b} "b second"',
        f'annotate {b} "note"',
        f"prune {b}",
        f'respond {a} "e"',
        "undo",
        f"restore {b}",
        f'respond {b} "f"',
    ]
    for line in lines:
        say(line)
        with CaptureQueriesContext(connection) as queries:
            size = size_of(actor, tree)
        assert len(queries) == 1
        assert size == (Node.objects.filter(tree=tree).count(), *measured(tree.pk)), line


@pytest.mark.parametrize("seed", range(4))
def test_the_size_after_pruning_is_what_a_pass_over_the_tree_finds(
    actor: Actor, tree: Tree, seed: int
) -> None:
    dice = random.Random(seed)
    ids = ["root"]
    for _ in range(40):
        below = dice.choice(ids[-6:] + ids[:2])
        answer = execute_line(actor, tree, Request(f'respond {below} "a"')).body
        ids.append(str(answer["refs"][0]))
    lines = []
    for _ in range(60):
        line = f"{dice.choice(['prune', 'restore'])} {dice.choice(ids[1:])}"
        try:
            execute_line(actor, tree, Request(line))
        except CommandError:
            continue
        lines.append(line)
        assert tuple(size_of(actor, tree))[1:] == measured(tree.pk), lines
    assert len(lines) > 20


def test_pruning_reads_what_goes_and_not_the_tree(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    add(tree, actor.participant, "d", b)

    def never(tree_id: int) -> tuple[int, int]:
        raise AssertionError("the whole tree was measured")

    monkeypatch.setattr(outline, "measured", never)
    for line in (f"prune {c.local_id}", f"prune {a.local_id}", f"restore {a.local_id}", "undo"):
        execute_line(actor, tree, Request(line))
    assert size_of(actor, tree) == (5, 1, 0)
    execute_line(actor, tree, Request("redo"))
    assert size_of(actor, tree) == (5, 1, 3)
