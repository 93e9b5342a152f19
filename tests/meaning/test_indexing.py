"""Vectors of texts: made once, in batches, kept by the text; gone with the tree."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest
from django.core.cache import cache
from django.utils import timezone

from loom.access import Actor
from loom.embedding import embedders
from loom.embedding.embedders import EmbedderFailed
from loom.embedding.vectors import Floats, unit
from loom.engine import backoff, changed_trees, jobs
from loom.meaning import indexing, rules, tasks
from loom.meaning.models import TextVector, VectorBlock, VectorState
from loom.meaning.queries import blocks
from loom.people.models import Grove
from loom.trees import erasing
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.queries.growing import add, chain
from tests.rows_read import work_done

pytestmark = pytest.mark.django_db


class Counting:
    """An embedder that notes what it is given: a vector of the lengths of words."""

    name = "counting:1"
    dimensions = 4
    batch = 2

    def __init__(self) -> None:
        self.given: list[str] = []
        self.fails = False

    def vectors(self, texts: Sequence[str]) -> Floats:
        if self.fails:
            raise EmbedderFailed("The embedder is away.")
        self.given += texts
        return unit(np.array([[len(text), 1, 2, 3] for text in texts], np.float32))


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """The embedder of every grove in the test."""
    embedder = Counting()
    monkeypatch.setattr(embedders, "_others", [lambda grove: embedder])
    return embedder


def _nodes(tree: Tree, embedder: str) -> list[int]:
    kind = rules.row_type(4)
    rows = [np.frombuffer(block, kind)["node"] for block in blocks([tree.pk], embedder)]
    return [int(key) for some in rows for key in some]


def test_each_text_is_given_to_the_embedder_once(
    actor: Actor, tree: Tree, counting: Counting
) -> None:
    nodes = chain(tree, actor.participant, "One.", "Two of them.", "One.", "Three.")
    assert indexing.index_tree(tree.uid) == 4
    assert sorted(counting.given) == ["One.", "Three.", "Two of them."]
    assert indexing.index_tree(tree.uid) == 0
    add(tree, actor.participant, "One.", nodes[-1])
    assert indexing.index_tree(tree.uid) == 1
    assert len(counting.given) == 3
    assert TextVector.objects.filter(tree=tree).count() == 3
    assert len(_nodes(tree, counting.name)) == 5 == len(set(_nodes(tree, counting.name)))


def test_a_full_block_is_followed_by_another(
    actor: Actor, tree: Tree, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "IN_BLOCK", 3)
    nodes = chain(tree, actor.participant, *(f"text {'x' * at}" for at in range(8)))
    indexing.index_tree(tree.uid)
    counts = (
        VectorBlock.objects.filter(tree=tree).order_by("number").values_list("count", flat=True)
    )
    assert list(counts) == [3, 3, 2]
    assert _nodes(tree, counting.name) == [node.pk for node in nodes]


def test_a_failing_embedder_loses_nothing_and_is_asked_again(
    actor: Actor, tree: Tree, counting: Counting
) -> None:
    chain(tree, actor.participant, "One.", "Two of them.")
    counting.fails = True
    with pytest.raises(indexing.NotIndexed, match="The embedder is away"):
        indexing.index_tree(tree.uid)
    assert VectorState.objects.get(tree=tree).error == "The embedder is away."
    assert tree.uid in indexing.waiting()
    counting.fails = False
    backoff.worked(counting.name)  # as if the pause had passed
    assert indexing.index_tree(tree.uid) == 2
    assert VectorState.objects.get(tree=tree).error == ""


def test_an_embedder_that_failed_is_asked_by_nobody_until_its_pause_ends(
    actor: Actor, tree: Tree, counting: Counting
) -> None:
    other = trees.new_tree(actor, title="Another")
    chain(tree, actor.participant, "One.")
    chain(other, actor.participant, "Two of them.")
    counting.fails = True
    with pytest.raises(indexing.NotIndexed) as failed:
        indexing.index_tree(tree.uid)
    counting.fails = False
    with pytest.raises(indexing.NotIndexed, match="The embedder is away") as paused:
        indexing.index_tree(other.uid)
    assert counting.given == []
    assert failed.value.retry_s > paused.value.retry_s > 0  # the others try first
    backoff.worked(counting.name)
    assert indexing.index_tree(other.uid) == 1


def test_the_pauses_of_an_embedder_double_up_to_an_hour_and_end_with_an_answer() -> None:
    pauses = [backoff.failed("some", "no answer") for _ in range(10)]
    assert pauses == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert backoff.pause("some")[1] == "no answer" and backoff.pause("other") == (0.0, "")
    backoff.worked("some")
    assert backoff.pause("some") == (0.0, "") and backoff.failed("some", "again") == 30


def test_a_tree_whose_embedder_fails_is_not_enqueued_at_each_look(
    actor: Actor, tree: Tree, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "enqueue", lambda *_, **__: None)
    chain(tree, actor.participant, "One.")
    counting.fails = True
    assert tasks.want_indexes() == 1
    tasks.index_tree(tree.uid)
    assert tree.uid in indexing.waiting() and tasks.want_indexes() == 0


def test_a_tree_without_an_embedder_is_not_enqueued_at_each_look(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "enqueue", lambda *_, **__: None)
    monkeypatch.setattr(indexing, "embedder_of", lambda grove: None)
    chain(tree, actor.participant, "One.")
    assert tasks.want_indexes() == 1
    tasks.index_tree(tree.uid)
    assert tasks.want_indexes() == 0


def test_a_changed_tree_waits_until_it_is_indexed(actor: Actor, tree: Tree, grove: Grove) -> None:
    chain(tree, actor.participant, "One.")
    assert indexing.waiting() == [tree.uid]
    indexing.index_tree(tree.uid)
    assert indexing.waiting() == [] and indexing.progress([tree]) == (1, 1)
    Tree.objects.filter(pk=tree.pk).update(touched_at=timezone.now())
    tree.refresh_from_db()
    assert indexing.waiting() == [tree.uid] and indexing.progress([tree]) == (0, 1)


def _plant_trees(count: int, actor: Actor, grove: Grove) -> list[str]:
    rows = [Tree(grove=grove, mode="dialogue", maker=actor.participant) for _ in range(count)]
    return [tree.uid for tree in Tree.objects.bulk_create(rows)]


def _look_from_the_first() -> list[str]:
    cache.set(indexing.changed_trees.looked_up_to, 0, timeout=None)
    return indexing.waiting()


def test_each_look_takes_the_next_trees_in_turn(
    actor: Actor, grove: Grove, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_trees, "LOOKED_AT", 4)
    indexing.waiting()  # from here on, events are followed
    uids = [tree.uid, *_plant_trees(9, actor, grove)]
    looks = [_look_from_the_first(), *(indexing.waiting() for _ in range(3))]
    assert looks == [uids[:4], uids[4:8], uids[8:], uids[:4]]


def test_a_tree_with_new_events_is_found_at_once_and_a_look_costs_the_same_in_many_trees(
    actor: Actor, grove: Grove, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_trees, "LOOKED_AT", 4)
    _plant_trees(10, actor, grove)
    _look_from_the_first()
    with work_done() as small:
        _look_from_the_first()
    _plant_trees(3000, actor, grove)
    with work_done() as large:
        _look_from_the_first()
    large.demand_no_more(small)
    last = trees.new_tree(actor, title="The last")
    assert last.uid in _look_from_the_first()
    monkeypatch.setattr(changed_trees, "OVERLAP", timedelta(0))
    _look_from_the_first()
    assert last.uid not in _look_from_the_first()


def test_another_embedder_replaces_the_vectors(
    actor: Actor, tree: Tree, counting: Counting
) -> None:
    chain(tree, actor.participant, "One.", "Two of them.")
    indexing.index_tree(tree.uid)
    counting.name = "counting:2"
    indexing.index_tree(tree.uid)
    for model in (TextVector, VectorBlock, VectorState):
        names = set(model._default_manager.values_list("embedder", flat=True))
        assert names == {"counting:2"}


def test_without_an_embedder_nothing_is_made(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "embedder_of", lambda grove: None)
    chain(tree, actor.participant, "One.")
    assert indexing.index_tree(tree.uid) is None
    assert not VectorState.objects.exists()


def test_vectors_go_with_their_tree(actor: Actor, tree: Tree) -> None:
    chain(tree, actor.participant, "One.", "Two of them.")
    indexing.index_tree(tree.uid)
    assert TextVector.objects.exists()
    Tree.objects.filter(pk=tree.pk).update(erasing_at=timezone.now())
    assert indexing.index_tree(tree.uid) is None
    erasing.erase_rows(tree.uid)
    for model in (TextVector, VectorBlock, VectorState):
        assert not model._default_manager.exists()


def test_a_tree_that_waits_is_enqueued_once(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(jobs, "enqueue", lambda task, args, queue: sent.append(args))
    chain(tree, actor.participant, "One.")
    assert tasks.want_indexes() == 1 and tasks.want_indexes() == 0
    assert sent == [[tree.uid]]
    tasks.index_tree(tree.uid)
    add(tree, actor.participant, "Two.", None)
    Tree.objects.filter(pk=tree.pk).update(touched_at=timezone.now())
    assert tasks.want_indexes() == 1


def test_without_an_embedder_no_tree_is_looked_for(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "enqueue", lambda *_, **__: pytest.fail("something was enqueued"))
    monkeypatch.setattr(embedders, "embedded", lambda: None)
    chain(tree, actor.participant, "One.")
    assert tasks.want_indexes() == 0


def test_packed_vectors_keep_their_angles() -> None:
    dice = np.random.default_rng(5)
    vectors = unit(dice.normal(size=(50, 64)).astype(np.float32))
    again = rules.unpacked(rules.packed(vectors))
    assert float(np.abs(vectors @ vectors.T - again @ again.T).max()) < 0.01


def test_the_nearest_rows_of_all_blocks_come_first() -> None:
    dice = np.random.default_rng(6)
    vectors = unit(dice.normal(size=(9000, 16)).astype(np.float32))
    packed = rules.packed(vectors)
    some = [
        rules.block_of(list(range(at, at + 500)), packed[at : at + 500])
        for at in range(0, 9000, 500)
    ]
    nearest = rules.nearest(some, vectors[4321], 5)
    exact = vectors @ vectors[4321]
    assert nearest[0][0] == 4321
    assert [score for _, score in nearest] == sorted((score for _, score in nearest), reverse=True)
    best = sorted(range(9000), key=lambda at: -exact[at])[:5]
    assert len({key for key, _ in nearest} & set(best)) >= 4
    assert rules.nearest(some, vectors[4321], 5, least=0.99) == nearest[:1]
