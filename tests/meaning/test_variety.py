"""How candidates differ, and the page on which they are skimmed."""

from collections.abc import Callable

import numpy as np
import pytest
from django.test import Client

from loom.access import Actor
from loom.embedding import variety
from loom.embedding.vectors import unit
from loom.meaning import indexing, skimming
from loom.meaning.skimming import grid_of
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from loom.turns.models import Generation
from tests.queries.growing import add, flag
from tests.two_groves import SECRET, TwoGroves

TEXTS = (
    "The old sailor steered his ship through the storm at night.",
    "She kneaded the dough and baked fresh bread at dawn.",
    "The old sailor steered his ship through the storm at  Night!",
    "A captain sailed a boat through the gale.",
)


def test_near_duplicates_fall_into_one_group() -> None:
    assert variety.alike(TEXTS, None) == [[0, 2], [1], [3]]
    assert variety.alike(["a", "a", "b"], None) == [[0, 1], [2]]
    assert variety.alike([], None) == []


def test_no_chain_of_small_steps_joins_what_differs() -> None:
    words = [f"word{number}" for number in range(40)]
    steps = [" ".join([*words[at * 4 :], *(f"new{n}" for n in range(at * 4))]) for at in range(6)]
    groups = variety.alike(steps, None)
    assert len(groups) > 1 and groups[0][0] == 0
    assert all(len(group) < len(steps) for group in groups)


def test_the_order_puts_the_nearest_beside_each_other() -> None:
    vectors = unit(np.array([[1, 0], [0, 1], [0.9, 0.1], [0.1, 0.9]], np.float32))
    assert variety.in_order(variety.nearness(["a", "b", "c", "d"], vectors)) == [0, 2, 3, 1]


def test_variety_counts_what_differs() -> None:
    assert variety.how_many(np.ones((5, 5), np.float32)) == pytest.approx(1, abs=1e-3)
    assert variety.how_many(np.eye(5, dtype=np.float32)) == pytest.approx(5, abs=1e-3)
    two = np.kron(np.eye(2), np.ones((3, 3))).astype(np.float32)
    assert variety.how_many(two) == pytest.approx(2, abs=1e-3)


@pytest.fixture
def point(actor: Actor, tree: Tree) -> Node:
    """A node with four candidates below it."""
    above = add(tree, actor.participant, "What happened?", None)
    for text in TEXTS:
        add(tree, actor.participant, text, above)
    return above


@pytest.mark.django_db
@pytest.mark.parametrize("has_embedder", [True, False])
def test_the_grid_folds_orders_and_counts(
    actor: Actor, point: Node, has_embedder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_embedder:
        monkeypatch.setattr(skimming, "embedder_of", lambda grove: None)
    indexing.index_tree(point.tree.uid)
    grid = grid_of(actor, point, None)
    assert grid.count == 4 and len(grid.cells) == 3
    first = grid.cells[0]
    assert first.candidate.text == TEXTS[0] and len(first.alike) == 1
    assert grid.said in ("about 3 different answers of 4", "about 2 different answers of 4")
    texts = [cell.candidate.text for cell in grid.cells]
    assert texts.index(TEXTS[3]) < texts.index(TEXTS[1]) or not has_embedder


@pytest.mark.django_db
def test_what_differs_from_the_first_is_marked(actor: Actor, tree: Tree) -> None:
    above = add(tree, actor.participant, "Colours?", None)
    add(tree, actor.participant, "The door was red, and nobody had opened it for years.", above)
    add(tree, actor.participant, "The gate was blue, and nobody had opened it since May.", above)
    cells = grid_of(actor, above, None).cells
    assert all(not differs for _, differs in cells[0].pieces)
    marked = [piece.strip() for piece, differs in cells[1].pieces if differs]
    assert "gate" in " ".join(marked) and "nobody" not in " ".join(marked)
    assert "".join(piece for piece, _ in cells[1].pieces) == cells[1].candidate.text


@pytest.mark.django_db
def test_what_is_pruned_is_left_out_and_what_is_written_is_in(
    actor: Actor, muse: Participant, tree: Tree, point: Node
) -> None:
    flag(Node.objects.get(tree=tree, text=TEXTS[1]), pruned=True)
    Generation.objects.create(
        tree=tree,
        participant=muse,
        asked_by=actor.participant,
        point=point,
        status="running",
        index=0,
        text="A whale swam by.",
    )
    grid = grid_of(actor, point, None)
    texts = [cell.candidate.text for cell in grid.cells]
    assert TEXTS[1] not in texts and "A whale swam by." in texts
    assert grid.coming == 1 and grid.count == 4


@pytest.mark.django_db
def test_the_page_shows_the_grid(owner: User, reader: User, tree: Tree, point: Node) -> None:
    at = f"/trees/{tree.uid}/candidates/{point.local_id}"
    for user, may_write in ((owner, True), (reader, False)):
        client = Client()
        client.force_login(user)
        page = client.get(at).content.decode()
        assert "different answers of 4" in page and "1 alike" in page
        assert ("data-may-write" in page) == may_write
        part = client.get(at, headers={"X-Part": "1"}).content.decode()
        assert part.startswith("<div data-grid") and "<html" not in part
        assert client.get(at, {"said": "1"}).json()["count"] == 4
    assert client.get(f"/trees/{tree.uid}/candidates/zzzz").status_code == 404


@pytest.mark.django_db
def test_many_candidates_cost_no_more_queries(
    actor: Actor, point: Node, django_assert_max_num_queries: Callable[..., object]
) -> None:
    for number in range(60):
        add(point.tree, actor.participant, f"Another candidate, number {number}.", point)
    with django_assert_max_num_queries(12):  # type: ignore[attr-defined]
        grid = grid_of(actor, point, None)
    assert grid.count == 64 and grid.left == 0


@pytest.mark.django_db
def test_nobody_skims_the_candidates_of_another_grove(two_groves: TwoGroves) -> None:
    there = two_groves.right
    at = f"/trees/{there.tree.uid}/candidates/{there.text.parent_slot.local_id}"  # type: ignore[union-attr]
    for user, status in (
        (two_groves.only_left, 404),
        (two_groves.nobody, 404),
        (two_groves.both, 200),
    ):
        client = Client()
        client.force_login(user)
        answer = client.get(at)
        assert answer.status_code == status
        assert (SECRET in answer.content.decode()) == (status == 200)
