"""Regions: hills of the map, and the words that name them."""

import numpy as np

from loom.landscape.region_names import name_regions, words_of
from loom.landscape.regions import MapRegion, find_regions


def hills(*middles: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    dice = np.random.default_rng(2)
    spots = np.concatenate([dice.normal(middle, 1_500, (60, 2)) for middle in middles])
    whole = np.clip(spots, 1, 65_535).astype(np.uint16)
    return whole[:, 0], whole[:, 1]


def test_each_hill_is_a_region_and_lies_in_the_one_around_it() -> None:
    regions = find_regions(*hills((9_000, 9_000), (50_000, 9_000), (30_000, 55_000)))
    first = [region for region in regions if region.level == 0]
    assert len(first) == 3
    assert {len(region.members) for region in first} == {60}
    inner = [region for region in regions if region.level > 0]
    assert inner and all(regions[region.within].level == region.level - 1 for region in inner)
    for region in inner:
        assert set(region.members.tolist()) <= set(regions[region.within].members.tolist())


def test_regions_are_the_same_each_time_and_none_without_texts() -> None:
    x, y = hills((9_000, 9_000), (50_000, 40_000))
    again = [(region.level, region.x, region.y) for region in find_regions(x, y)]
    assert [(region.level, region.x, region.y) for region in find_regions(x, y)] == again
    assert find_regions(x[:0], y[:0]) == []


def test_a_region_is_named_by_its_own_words() -> None:
    sea = [f"The captain saw the harbour and {word} sails." for word in ("white", "red", "torn")]
    bread = [f"The baker kneaded dough in the {word} oven." for word in ("old", "hot", "stone")]
    texts = dict(enumerate(sea * 4 + bread * 4))
    regions = [
        MapRegion(0, 1, 1, np.arange(12), -1),
        MapRegion(0, 2, 2, np.arange(12, 24), -1),
    ]
    name_regions(regions, texts)
    assert set(regions[0].words) == {"captain", "harbour", "sails"}
    assert set(regions[1].words) <= {"baker", "kneaded", "dough", "oven"}


def test_words_of_scripts_without_blanks_are_pairs_of_signs() -> None:
    assert words_of("猫は窓を見た") == {
        "猫は": "猫は",
        "は窓": "は窓",
        "窓を": "窓を",
        "を見": "を見",
        "見た": "見た",
    }
    assert words_of("It's the Captain’s ship, and 42.") == {"captain": "Captain", "ship": "ship"}
