"""What hides a slot is found by its chains, as a walk to the root would find it."""

import random

import pytest
from django.db import transaction

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Stream
from loom.errors import CommandError
from loom.trees.commands import node_writer
from loom.trees.models import Chain, Node, Tree
from loom.trees.queries import lookup, outline, places
from tests.queries.growing import add, chain, plant


def by_walking(node: Node) -> Node | None:
    """The highest pruned slot at or above a node."""
    highest: Node | None = None
    slot: Node | None = node.slot
    while slot is not None:
        highest = slot if slot.pruned else highest
        slot = slot.parent_slot
    return highest


def demand_right(tree: Tree) -> None:
    """Fails unless the chains say of every node what a walk says."""
    nodes = list(Node.objects.filter(tree=tree))
    expected = {node.pk: by_walking(node) for node in nodes}
    assert {node.pk: lookup.hidden_by(node) for node in nodes} == expected
    slots = {node.slot_id for node in nodes}
    hidden = {node.slot_id for node in nodes if expected[node.pk]}
    assert places.hidden_among(slots) == hidden
    own = {node.pk for node in nodes if node.slot_id == node.pk and expected[node.pk] == node}
    assert lookup.below_pruned(tree.pk, slots) == hidden - own
    dice = random.Random(len(nodes))
    for _ in range(20):
        slot, node = dice.choice(nodes).slot, dice.choice(nodes)
        above = {node.slot_id}
        at: Node | None = node.slot
        while at is not None:
            above.add(at.pk)
            at = at.parent_slot
        assert lookup.is_at_or_above(slot, node) == (slot.pk in above)


@pytest.mark.parametrize("seed", range(4))
def test_the_chains_hide_what_a_walk_to_the_root_would_hide(
    actor: Actor, tree: Tree, seed: int
) -> None:
    dice = random.Random(seed)
    ids = ["root"]
    for _ in range(90):
        node = dice.choice(ids[-5:] + ids[:3])
        line = dice.choice(
            [f'respond {node} "a"'] * 5
            + [f'annotate {node} note "n"', f'edit {node} "{dice.random()}" as:version']
            + [f"prune {node}", f"restore {node}", "undo", "redo"]
        )
        try:
            answer = execute_line(actor, tree, Request(line)).body
        except CommandError:
            continue
        ids += answer["refs"]
    assert Node.objects.filter(tree=tree, pruned=True).exists()
    demand_right(tree)


def test_a_text_below_a_pruned_leaf_is_hidden_too(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    execute_line(actor, tree, Request(f"prune {b.local_id}"))
    late = add(tree, actor.participant, "late", b)  # as when a generation ends after the prune
    add(tree, actor.participant, "later", late)
    demand_right(tree)
    execute_line(actor, tree, Request(f"restore {b.local_id}"))
    demand_right(tree)
    assert lookup.hidden_by(late) is None and lookup.hidden_by(a) is None


def test_a_long_text_with_candidates_beside_each_part_is_one_chain(
    actor: Actor, tree: Tree
) -> None:
    at = lookup.root_of(tree)
    for _ in range(6):
        for _ in range(2):
            beside = add(tree, actor.participant, "not taken", at)
            add(tree, actor.participant, "well", beside, kind="annotation")
        at = add(tree, actor.participant, "taken", at)
    assert list(Chain.objects.values_list("tail", flat=True)) == [5]


def test_where_no_chains_were_laid_the_walk_goes_by_single_steps(actor: Actor, tree: Tree) -> None:
    nodes = chain(tree, actor.participant, *"abcdef")
    Node.objects.filter(tree=tree).update(parent_chain=None)
    Chain.objects.all().delete()
    Node.objects.filter(pk=nodes[1].pk).update(pruned=True)
    add(tree, actor.participant, "new", lookup.rows().get(pk=nodes[-1].pk))
    demand_right(tree)


def test_a_dry_run_sees_what_would_be_pruned_and_restored(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    assert lookup.hidden_by(c, {b.pk: True}) == b
    assert lookup.hidden_by(a, {b.pk: True}) is None
    execute_line(actor, tree, Request(f"prune {a.local_id}"))
    assert lookup.hidden_by(c, {b.pk: True}) == a
    assert lookup.hidden_by(c, {a.pk: False}) is None
    assert lookup.hidden_by(c, {a.pk: False, b.pk: True}) == b


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of three slots is large already."""
    monkeypatch.setattr(outline, "MOST_COUNTED", 3)


@pytest.mark.usefixtures("few")
def test_a_worker_measures_a_tree_after_a_large_branch_was_pruned(actor: Actor, tree: Tree) -> None:
    top = plant(tree, actor.participant, [-1, 0, 0, 1, 3, 4, -1])[0]
    before = outline.size_of(actor, tree)
    execute_line(actor, tree, Request(f"prune {top.local_id}"))
    assert node_writer.unmeasured() == [tree.uid]
    assert outline.size_of(actor, tree) == before  # until a worker has counted
    execute_line(actor, tree, Request('respond root "more"'))
    node_writer.measure(tree.uid)
    assert node_writer.unmeasured() == []
    assert tuple(outline.size_of(actor, tree))[1:] == outline.measured(tree.pk) == (2, 1)
    execute_line(actor, tree, Request(f"restore {top.local_id}"))
    node_writer.measure(tree.uid)
    assert tuple(outline.size_of(actor, tree))[1:] == outline.measured(tree.pk) == (4, 5)


@pytest.mark.usefixtures("few")
def test_what_happens_while_a_worker_measures_is_counted_once(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = plant(tree, actor.participant, [-1, 0, 1, 2, 3])[0]
    execute_line(actor, tree, Request(f"prune {top.local_id}"))
    measured = outline.measured

    def meanwhile(line: str) -> None:
        def slowly(tree_id: int, *, last: int) -> tuple[int, int]:
            execute_line(actor, tree, Request(line))
            counted = measured(tree_id, last=last)
            execute_line(actor, tree, Request('respond root "and more"'))
            return counted

        monkeypatch.setattr(outline, "measured", slowly)
        node_writer.measure(tree.uid)
        monkeypatch.setattr(outline, "measured", measured)

    meanwhile('respond root "more"')
    assert tuple(outline.size_of(actor, tree))[1:] == measured(tree.pk)
    execute_line(actor, tree, Request(f"restore {top.local_id}"))
    meanwhile(f"prune {top.local_id}")
    assert node_writer.unmeasured() == [tree.uid]  # the next worker counts
    node_writer.measure(tree.uid)
    assert tuple(outline.size_of(actor, tree))[1:] == measured(tree.pk)
    with transaction.atomic():
        assert Stream.objects.get(name=f"tree:{tree.uid}").unmeasured is None


def test_the_descendants_of_a_large_branch_are_not_all_counted(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.trees.commands.nodes.MOST_COUNTED", 3)
    top, beside = plant(tree, actor.participant, [-1, -1, 0, 0, 2, 3, 1, 1, 1])[:2]
    replies = [
        execute_line(actor, tree, Request(f"{verb} {node.local_id}")).body["reply"]
        for node in (top, beside)
        for verb in ("prune", "restore")
    ]
    assert replies == [
        f"✓ pruned [{top.local_id}] and more than 3 descendants",
        f"✓ restored [{top.local_id}] and more than 3 descendants",
        f"✓ pruned [{beside.local_id}] and 3 descendants",
        f"✓ restored [{beside.local_id}] and 3 descendants",
    ]
