"""Layouts: like is near like, the same each time; new texts move nothing."""

import numpy as np
import pytest

from loom.embedding.vectors import unit
from loom.landscape import layout
from loom.landscape.layout import Floats, lay_out, neighbours, place_new, to_whole


def groups(count: int, kinds: int, seed: int = 3) -> tuple[Floats, np.ndarray]:
    """Vectors of so many kinds, and the kind of each."""
    dice = np.random.default_rng(seed)
    middles = np.random.default_rng(11).normal(size=(kinds, 64))
    kind = dice.integers(0, kinds, count)
    return unit((middles[kind] + dice.normal(size=(count, 64)) * 0.7).astype(np.float32)), kind


def purity(places: np.ndarray, kind: np.ndarray) -> float:
    """How often the five nearest of a text are of its kind."""
    apart = ((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, :5]
    return float((kind[near] == kind[:, None]).mean())


def test_texts_of_one_kind_are_together() -> None:
    vectors, kind = groups(400, 8)
    places = lay_out(vectors)
    assert purity(places, kind) > 0.95
    assert purity(vectors[:, :2], kind) < 0.5  # two numbers of a vector do not do it


def test_a_layout_is_the_same_each_time() -> None:
    vectors, _ = groups(120, 4)
    assert np.array_equal(to_whole(lay_out(vectors)), to_whole(lay_out(vectors.copy())))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9])
def test_few_texts_have_places_too(count: int) -> None:
    vectors, _ = groups(count, 2)
    places = to_whole(lay_out(vectors))
    assert places.shape == (count, 2)
    assert len({tuple(place) for place in places.tolist()}) == count


def test_equal_texts_are_near_each_other_and_apart() -> None:
    vectors = np.repeat(groups(30, 3)[0], 4, axis=0)
    places = lay_out(vectors)
    assert np.isfinite(places).all()
    own = np.linalg.norm(places[::4] - places[1::4], axis=1)
    assert np.median(own) < np.linalg.norm(places.std(axis=0)) / 2


def test_neighbours_of_many_are_nearly_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = groups(2_000, 40)
    exact = neighbours(vectors, 8)
    monkeypatch.setattr(layout, "EXACT", 100)
    nearest = neighbours(vectors, 8)
    same = [len(set(a) & set(b)) for a, b in zip(exact.tolist(), nearest.tolist(), strict=True)]
    assert sum(same) > 0.9 * 8 * len(vectors)
    assert not (nearest == np.arange(len(vectors))[:, None]).any()


def test_new_texts_are_among_their_kind() -> None:
    old, kind = groups(600, 6)
    places = to_whole(lay_out(old))
    new, new_kind = groups(200, 6, seed=5)
    parts = [(old[:250], places[:250]), (old[250:], places[250:])]
    placed = place_new(new, parts, np.arange(200))
    apart = ((placed[:, None].astype(float) - places[None].astype(float)) ** 2).sum(axis=2)
    assert (kind[apart.argmin(axis=1)] == new_kind).mean() > 0.95
    again = place_new(new, [(old, places)], np.arange(200))
    assert np.abs(again.astype(int) - placed.astype(int)).max() <= 1  # in parts or at once


def test_places_keep_a_margin_for_what_comes() -> None:
    places = to_whole(lay_out(groups(300, 5)[0]))
    assert places.min() >= 1 and (places > layout.EDGE - 2).mean() > 0.99
