"""Which rows of a map are shown, what lies below a node, and which branches there are."""

from collections.abc import Sequence

import numpy as np
import pytest

from loom.landscape import map_rows
from loom.landscape.map_rows import ROW, Rows


def rows_of(*nodes: Sequence[int]) -> Rows:
    """Rows (ordinal, slot, up), all with a place."""
    rows = np.zeros(len(nodes), ROW)
    for at, (ordinal, slot, up) in enumerate(nodes):
        rows[at] = (ordinal, slot, up, 1, 0, f"n{ordinal}".encode(), 5, 5)
    return rows


# 1 ── 2 ── 3 ── 5 (6 is another version of 3's slot, 7 one of 5's)
#      └── 4
TREE = rows_of((1, 1, 0), (2, 2, 1), (3, 3, 2), (4, 4, 2), (5, 5, 3), (6, 3, 2), (7, 5, 3))


def seen(
    hiding: Sequence[int] = (),
    own: Sequence[int] = (),
    pruned: Sequence[int] = (),
    choices: dict[int, int] | None = None,
) -> list[int]:
    mask = map_rows.shown(
        TREE,
        np.array(hiding, np.int64),
        own=np.array(own, np.int64),
        pruned=np.array(pruned, np.int64),
        choices=choices or {},
    )
    return [int(ordinal) for ordinal in TREE["ordinal"][mask]]


def test_of_each_slot_the_newest_version_is_shown() -> None:
    assert seen() == [1, 2, 4, 6, 7]


def test_a_choice_counts_unless_it_is_pruned() -> None:
    assert seen(choices={3: 3}) == [1, 2, 3, 4, 7]
    assert seen(choices={3: 3}, pruned=[3]) == [1, 2, 4, 6, 7]
    assert seen(choices={99: 3, 3: 98}) == [1, 2, 4, 6, 7]


def test_a_slot_whose_versions_are_all_pruned_is_not_shown() -> None:
    assert seen(pruned=[4]) == [1, 2, 6, 7]
    assert seen(pruned=[7]) == [1, 2, 4, 5, 6]


def test_what_is_below_a_hiding_slot_is_hidden_and_not_below_its_own_kind() -> None:
    assert seen(hiding=[3]) == [1, 2, 4]
    assert seen(own=[3]) == [1, 2, 4, 7]
    assert seen(hiding=[1]) == []


def test_a_text_without_a_place_is_not_shown() -> None:
    rows = TREE.copy()
    rows["x"][1] = 0
    none = np.zeros(0, np.int64)
    mask = map_rows.shown(rows, none, own=none, pruned=none, choices={})
    assert [int(ordinal) for ordinal in rows["ordinal"][mask]] == [1, 4, 6, 7]
    up = map_rows.nearest_shown(rows, mask)
    assert up[mask].tolist() == [-1, 0, 0, 5]  # over the one that is not shown


def test_what_lies_below_a_node() -> None:
    assert [int(ordinal) for ordinal in TREE["ordinal"][map_rows.below(TREE, 3)]] == [3, 5, 6, 7]


def test_a_long_way_down_is_spread_in_few_rounds() -> None:
    rows = rows_of(*((at, at, at - 1) for at in range(1, 5_001)))
    hiding = np.array([2_500])
    none = np.zeros(0, np.int64)
    mask = map_rows.shown(rows, hiding, own=none, pruned=none, choices={})
    assert int(mask.sum()) == 2_499
    assert map_rows.nearest_shown(rows, mask)[2_000] == 1_999


def test_branches_begin_at_the_first_fork() -> None:
    mask = np.ones(len(TREE), np.bool_)
    mask[[2, 4]] = False
    number, tops = map_rows.branches(TREE, mask, 12)
    assert tops == [3, 4]
    assert number.tolist() == [-1, -1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_tree_without_a_fork_has_one_branch_at_most(count: int) -> None:
    rows = rows_of(*((at, at, at - 1) for at in range(1, count + 1)))
    number, tops = map_rows.branches(rows, np.ones(count, np.bool_), 12)
    assert len(number) == count and len(tops) == min(count, 1)
