"""Whose each character of an edited text is: pure, from the wordings it came from."""

import re
from difflib import SequenceMatcher

# (author, how many characters), in order; neighbours have different authors.
Pieces = tuple[tuple[str, int], ...]

_WORDS = re.compile(r"\w+|\W")
MOST_WORDS = 2000  # between the ends that are the same; above, all of it is the editor's


def inherited(before: str, pieces: Pieces, after: str, author: str) -> Pieces:
    """The pieces of `after`, which `author` made of `before` with its pieces: what stayed is
    whose it was, what is new is his. Ends that stayed are found by character, the rest by
    word."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    owners = _spread(pieces)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    middle = _middle(old, owners[head : len(before) - tail], new, author)
    return _gathered(owners[:head] + middle + owners[len(before) - tail :])


def _common(one: str, other: str) -> int:
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _spread(pieces: Pieces) -> list[str]:
    return [author for author, length in pieces for _ in range(length)]


def _middle(old: str, owners: list[str], new: str, author: str) -> list[str]:
    made = [author] * len(new)
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if not before or not after or max(len(before), len(after)) > MOST_WORDS:
        return made
    at, to = _starts(before), _starts(after)
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        start, end = at[block.a], at[block.a + block.size]
        made[to[block.b] : to[block.b + block.size]] = owners[start:end]
    return made


def _starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _gathered(owners: list[str]) -> Pieces:
    pieces: list[tuple[str, int]] = []
    for owner in owners:
        if pieces and pieces[-1][0] == owner:
            pieces[-1] = (owner, pieces[-1][1] + 1)
        else:
            pieces.append((owner, 1))
    return tuple(pieces)
