"""Three-way merge of texts by words. PURE."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

MOST_WORDS = 20_000
MOST_SHOWN = 4_000
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class Change(NamedTuple):
    """The words `start` to `end` of the base become `words`."""

    start: int
    end: int
    words: tuple[str, ...]


def merged(base: str, ours: str, theirs: str) -> str | None:
    """The base with what changed in both texts. None where both changed the same passage in
    different ways, or a text is too long to be compared word by word."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    words = _WORDS.findall(base)
    one, two = _WORDS.findall(ours), _WORDS.findall(theirs)
    if max(len(words), len(one), len(two)) > MOST_WORDS:
        return None
    changes = _together(_changes(words, one), _changes(words, two))
    return None if changes is None else _applied(words, changes)


def difference(old: str, new: str) -> list[tuple[str, str]] | None:
    """`[(what goes, what comes)…]` in order, with `(text, text)` for what stays; None where a text
    is too long to be compared word by word."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MOST_SHOWN:
        return None
    made, at = [], 0
    for one in _changes(before, after):
        same = "".join(before[at : one.start])
        made += [(same, same)] if same else []
        made.append(("".join(before[one.start : one.end]), "".join(one.words)))
        at = one.end
    rest = "".join(before[at:])
    return [*made, (rest, rest)] if rest else made


def _changes(base: list[str], other: list[str]) -> list[Change]:
    steps = SequenceMatcher(None, base, other, autojunk=False).get_opcodes()
    return [Change(a, b, tuple(other[c:d])) for tag, a, b, c, d in steps if tag != "equal"]


def _together(ours: list[Change], theirs: list[Change]) -> list[Change] | None:
    """Both lists in order, what both changed alike once; None where they clash. A change clashes
    at most with neighbours in its order, so each is compared with the one before."""
    every = sorted({*ours, *theirs}, key=lambda one: (one.start, one.end))
    mine = set(ours)
    both = mine & set(theirs)
    reached: dict[bool, Change] = {}
    for one in every:
        others = [last for side, last in reached.items() if side != (one in mine) or one in both]
        if any(_clash(last, one) for last in others):
            return None
        reached[one in mine] = one
        if one in both:
            reached = {True: one, False: one}
    return every


def _clash(one: Change, other: Change) -> bool:
    """Whether two changes touch the same words, or insert at the same place."""
    if one == other:
        return False
    overlap = one.start < other.end and other.start < one.end
    is_insertion = one.start == one.end or other.start == other.end
    return overlap or (one.start == other.start and is_insertion)


def _applied(words: list[str], changes: list[Change]) -> str:
    made, at = [], 0
    for one in changes:
        made += [*words[at : one.start], *one.words]
        at = one.end
    return "".join([*made, *words[at:]])
