"""Pure: the rows of a map as bytes, which of them somebody is shown, and which lie below a node."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]  # of ROW, in the order of ordinals
Mask = NDArray[np.bool_]
Whole = NDArray[np.int64]
Surprise = NDArray[np.uint8]

IN_BLOCK = 4_096
# A node of a tree: ordinals of itself, of its slot and of the slot above (0: none), the row id of
# its author, when it was written (seconds since 1970), its local id, and its place; x 0: it is no
# text that has one, but others are below it.
ROW = np.dtype(
    [
        ("ordinal", "<u4"),
        ("slot", "<u4"),
        ("up", "<u4"),
        ("author", "<u4"),
        ("time", "<u4"),
        ("name", "S8"),
        ("x", "<u2"),
        ("y", "<u2"),
    ]
)


BIT = 16  # steps of a bit in which a surprise is kept


def surprise_bytes(rows: Rows, bits_of: Mapping[int, float]) -> bytes:
    """A byte for each row: its mean surprise in steps of 1/BIT bit, counted from 1; 0: there is
    none. `bits_of` has it by ordinal."""
    steps_of = np.zeros(len(rows), np.uint8)
    if bits_of:
        at, is_there = _index(rows, np.array(list(bits_of), np.int64))
        steps = 1 + np.rint(np.array(list(bits_of.values())) * BIT)
        steps_of[at[is_there]] = np.clip(steps, 1, 255)[is_there].astype(np.uint8)
    return steps_of.tobytes()


def unpacked(parts: list[bytes]) -> Rows:
    """The rows of the blocks of one tree."""
    return np.frombuffer(b"".join(parts), ROW)


def _index(rows: Rows, ordinals: NDArray[Any]) -> tuple[Whole, Mask]:
    """The place of each ordinal among the rows, and whether it is there."""
    if not len(rows):
        return np.zeros(len(ordinals), np.int64), np.zeros(len(ordinals), np.bool_)
    at = np.minimum(np.searchsorted(rows["ordinal"], ordinals), len(rows) - 1)
    return at, rows["ordinal"][at] == ordinals


def above(rows: Rows) -> Whole:
    """The place of the slot above each row; its own if there is none."""
    at, is_there = _index(rows, rows["up"])
    return np.where(is_there & (rows["up"] < rows["ordinal"]), at, np.arange(len(rows)))


def spread_down(marked: Mask, up: Whole) -> Mask:
    """What is marked, and all below it. Doubles its steps: as many rounds as the depth has bits."""
    reached, at = marked.copy(), up
    while True:
        reached |= reached[at]
        further = at[at]
        if np.array_equal(further, at):
            return reached
        at = further


def shown(
    rows: Rows,
    hiding: NDArray[Any],
    *,
    own: NDArray[Any],
    pruned: NDArray[Any],
    choices: Mapping[int, int],
) -> Mask:
    """Which rows somebody is shown: of each slot the version of their `choices` (ordinals, by slot)
    or else the newest that is not `pruned`, unless a slot at or above it is `hiding`, or its
    own slot is among `own`. All are ordinals."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    first, _ = _index(rows, rows["slot"])
    hides, is_own = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    for marks, ordinals in ((hides, hiding), (is_own, own)):
        at, is_there = _index(rows, ordinals)
        marks[at[is_there]] = True
    hidden = (spread_down(hides, above(rows)) | is_own)[first]
    at, is_there = _index(rows, pruned)
    standing = np.ones(len(rows), np.bool_)
    standing[at[is_there]] = False
    newest = np.full(len(rows), -1, np.int64)
    these = np.flatnonzero(standing)
    newest[first[these]] = these  # ascending: the last one stays
    if choices:
        chosen = np.fromiter(choices.values(), np.int64, len(choices))
        slots = np.fromiter(choices.keys(), np.int64, len(choices))
        (at, is_there), (slot, is_slot) = _index(rows, chosen), _index(rows, slots)
        good = is_there & is_slot & standing[at]
        newest[slot[good]] = at[good]
    visible = (newest[first] == np.arange(len(rows))) & ~hidden & (rows["x"] > 0)
    return np.asarray(visible, np.bool_)


def below(rows: Rows, slot: int) -> Mask:
    """Which rows lie at or below a slot, by its ordinal."""
    marked = rows["slot"] == slot
    return spread_down(marked, above(rows)) if len(rows) else marked


def nearest_shown(rows: Rows, seen: Mask) -> Whole:
    """For each row the place of the nearest shown row above it; -1 if there is none. A slot is
    stood for by its shown version."""
    count = len(rows)
    first, _ = _index(rows, rows["slot"])
    stands = np.full(count, -1, np.int64)
    stands[first[seen]] = np.flatnonzero(seen)
    up, here = above(rows), np.arange(count)
    at = np.where(stands >= 0, here, up)  # a walk ends where something is shown, and at the top
    while True:
        further = at[at]
        if np.array_equal(further, at):
            break
        at = further
    return np.where(up == here, -1, stands[at[up]])


MOST_STEPS = 5_000  # down from the root to where a tree forks


def branches(rows: Rows, seen: Mask, most: int) -> tuple[Whole, list[int]]:
    """The branch of each row, as a place in the list of slots (ordinals) at which the largest
    branches begin, at most `most`; -1: none of them. The branches are what is below the first
    fork of the texts that are shown, or below a later one where one of them holds nearly all."""
    count = len(rows)
    if not count:
        return np.zeros(0, np.int64), []
    up, first = above(rows), _index(rows, rows["slot"])[0]
    sizes, ups = seen.astype(np.int64).tolist(), up.tolist()
    for place in range(count - 1, 0, -1):  # what is below comes after
        if ups[place] != place:
            sizes[ups[place]] += sizes[place]
    order = np.argsort(up, kind="stable")
    ends = np.searchsorted(up[order], np.arange(count + 1)).tolist()
    children, firsts = order.tolist(), first.tolist()
    tops = [0]
    for _ in range(MOST_STEPS):
        under = [
            child
            for top in tops
            for child in children[ends[top] : ends[top + 1]]
            if child != top and firsts[child] == child and sizes[child]
        ]
        if not under:
            break
        tops = under
        held = [sizes[child] for child in under]
        if sum(held) - max(held) > 0.1 * sum(held):
            break
    tops = sorted(tops, key=lambda child: (-sizes[child], child))[:most]
    number = np.full(count, -1, np.int64)
    number[tops] = np.arange(len(tops))
    at = np.where(number >= 0, np.arange(count), up)  # a walk up ends at the top of a branch
    while True:
        further = at[at]
        if np.array_equal(further, at):
            break
        at = further
    return number[at[first]], [int(rows["ordinal"][top]) for top in tops]
