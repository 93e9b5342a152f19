"""Edits of a text: what leads from one text to another, and where words stand afterwards. Pure."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

from loom.text.beginnings import common_length


@dataclass(frozen=True)
class Edit:
    """Characters from `start` to `end` (code points) that `text` replaces."""

    start: int
    end: int
    text: str


def kept(edits: Iterable[Edit], start: int, end: int) -> tuple[int, int] | None:
    """Where the characters from `start` to `end` (code points) stand after the edits, which are in
    order and do not meet; None if nothing is left of them. What is written at either end of them
    does not belong to them."""
    edits = list(edits)
    first, last = _start_after(edits, start), _end_after(edits, end)
    return (first, last) if last > first else None


def _start_after(edits: Sequence[Edit], start: int) -> int:
    shift = 0
    for edit in edits:
        if edit.end <= start:
            shift += len(edit.text) - (edit.end - edit.start)
        elif edit.start < start:
            return edit.start + len(edit.text) + shift
        else:
            break
    return start + shift


def _end_after(edits: Sequence[Edit], end: int) -> int:
    shift = 0
    for edit in edits:
        if edit.start >= end:
            break
        if edit.end > end:
            return edit.start + shift
        shift += len(edit.text) - (edit.end - edit.start)
    return end + shift


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits, which do not overlap."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])


def rebased(edits: Sequence[Edit], theirs: Sequence[Edit]) -> list[Edit] | None:
    """Edits of a text, made in what the edits of others have made of it in the meantime; None if
    one touches a place that they have changed."""
    moved = []
    for edit in edits:
        if any(other.start <= edit.end and edit.start <= other.end for other in theirs):
            return None
        by = sum(
            len(other.text) - (other.end - other.start)
            for other in theirs
            if other.end < edit.start
        )
        moved.append(Edit(edit.start + by, edit.end + by, edit.text))
    return moved


MOST_PIECES = 4000  # words between the common ends; with more, lines are compared
MOST_CHARACTERS = 100_000  # between the common ends; the same
_PIECES = re.compile(r"\w+|\s+|.", re.DOTALL)


def difference(before: str, after: str) -> list[Edit]:
    """Edits that turn one text into another, few and short, so that they do not touch what others
    type elsewhere in the meantime. Words are compared; where that would take long, lines."""
    if before == after:
        return []
    head, tail = _common_ends(before, after)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if not old or not new:
        return [Edit(head, head + len(old), new)]
    if max(len(old), len(new)) > MOST_CHARACTERS:
        return line_difference(before, after)
    pieces, others = _PIECES.findall(old), _PIECES.findall(new)
    if max(len(pieces), len(others)) > MOST_PIECES:
        return line_difference(before, after)
    at, to = _places(pieces, head), _places(others, 0)
    return [
        Edit(at[were.start], at[were.stop], new[to[are.start] : to[are.stop]])
        for were, are in differing(pieces, others)
    ]


def line_difference(before: str, after: str) -> list[Edit]:
    """Edits that turn one text into another: lines that differ, without what both have at their
    ends. The time is nearly proportional to the length of the texts."""
    head, tail = _common_ends(before, after)
    old = before[head : len(before) - tail].splitlines(keepends=True)
    new = after[head : len(after) - tail].splitlines(keepends=True)
    at, to = _places(old, head), _places(new, head)
    edits = []
    for were, are in differing(old, new, few=0):
        start, end = at[were.start], at[were.stop]
        was, is_ = before[start:end], after[to[are.start] : to[are.stop]]
        first, last = _common_ends(was, is_)
        edits.append(Edit(start + first, end - last, is_[first : len(is_) - last]))
    return edits


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """How many characters two texts have in common at their starts, and after them at their
    ends."""
    head = common_length(old, new)
    return head, common_length(old[head:][::-1], new[head:][::-1])


def _places(pieces: list[str], start: int) -> list[int]:
    places = [start]
    for piece in pieces:
        places.append(places[-1] + len(piece))
    return places


# What two sequences have in common, in order.

# Elements on each side that are compared with care, which takes the square of their number.
FEW = 32
DEEPEST = 4  # times that a range between two anchors is divided again

Element = TypeVar("Element", bound=Hashable)


def stayed(
    old: Sequence[Element], new: Sequence[Element], *, few: int = FEW
) -> list[tuple[int, int]]:
    """Places of equal elements in both, in order on both sides. Short sequences are compared as
    `difflib` does. Long ones take n log n steps: equal ends, then elements that are there once on
    each side, and the same again between them; at last the first of several equal elements with
    the first, the second with the second."""
    pairs: list[tuple[int, int]] = []
    ranges = [(0, len(old), 0, len(new), 0)]
    while ranges:
        a, b, c, d, depth = ranges.pop()
        if max(b - a, d - c) <= few:
            matcher = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False)
            for at, to, size in matcher.get_matching_blocks():
                pairs += [(a + at + step, c + to + step) for step in range(size)]
            continue
        while a < b and c < d and old[a] == new[c]:
            pairs.append((a, c))
            a, c = a + 1, c + 1
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
            pairs.append((b, d))
        if a == b or c == d:
            continue
        anchors = _rising(_once_in_both(old, new, (a, b, c, d))) if depth < DEEPEST else []
        if not anchors:
            pairs += _rising(_counted_pairs(old, new, (a, b, c, d)))
            continue
        pairs += anchors
        for end, other_end in [*anchors, (b, d)]:
            ranges.append((a, end, c, other_end, depth + 1))
            a, c = end + 1, other_end + 1
    return sorted(pairs)


Span4 = tuple[int, int, int, int]


def _once_in_both(
    old: Sequence[Element], new: Sequence[Element], within: Span4
) -> list[tuple[int, int]]:
    a, b, c, d = within
    in_old, in_new = Counter(old[a:b]), Counter(new[c:d])
    places = {old[at]: at for at in range(a, b) if in_old[old[at]] == 1}
    return [
        (places[new[to]], to) for to in range(c, d) if in_new[new[to]] == 1 and new[to] in places
    ]


def _counted_pairs(
    old: Sequence[Element], new: Sequence[Element], within: Span4
) -> list[tuple[int, int]]:
    a, b, c, d = within
    places: dict[Element, deque[int]] = defaultdict(deque)
    for at in range(a, b):
        places[old[at]].append(at)
    return [(places[new[to]].popleft(), to) for to in range(c, d) if places.get(new[to])]


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest row of pairs that rises on both sides; they are given in the order of the
    second."""
    ends: list[int] = []  # the first place of the last pair of the best row of each length
    last: list[int] = []
    before = [-1] * len(pairs)
    for number, (at, _) in enumerate(pairs):
        length = bisect_left(ends, at)
        before[number] = last[length - 1] if length else -1
        if length == len(ends):
            ends.append(at)
            last.append(number)
        else:
            ends[length], last[length] = at, number
    row = []
    number = last[-1] if last else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def differing(
    old: Sequence[Element], new: Sequence[Element], *, few: int = FEW
) -> Iterator[tuple[range, range]]:
    """The places of both that differ, between those of `stayed`."""
    return gaps(stayed(old, new, few=few), len(old), len(new))


def gaps(pairs: Sequence[tuple[int, int]], old: int, new: int) -> Iterator[tuple[range, range]]:
    """The places between pairs, on both sides, of sequences of these lengths."""
    a = c = 0
    for b, d in [*pairs, (old, new)]:
        if b > a or d > c:
            yield range(a, b), range(c, d)
        a, c = b + 1, d + 1
