"""Changes of texts: merging, comparing by words, and attributing each character to a person.
Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from loom.text.beginnings import common_length
from loom.text.edits import differing, stayed

# Merging and comparing by words.


MOST_MERGED_WORDS = 20_000
MOST_COMPARED_WORDS = 4_000
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class TextChange(NamedTuple):
    """The words `start` to `end` of the base become `words`."""

    start: int
    end: int
    words: tuple[str, ...]


def merged(base: str, ours: str, theirs: str) -> str | None:
    """The base with the changes of both texts. None if both changed the same passage in different
    ways, or a text is too long to be compared word by word."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    words = _WORDS.findall(base)
    own, other = _WORDS.findall(ours), _WORDS.findall(theirs)
    if max(len(words), len(own), len(other)) > MOST_MERGED_WORDS:
        return None
    changes = _together(_changes(words, own), _changes(words, other))
    return None if changes is None else _applied(words, changes)


def difference(old: str, new: str) -> list[tuple[str, str]] | None:
    """`[(removed, added)…]` in order, with `(text, text)` for what stays; None if a text is too
    long to be compared word by word."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > MOST_COMPARED_WORDS:
        return None
    stretches, at = [], 0
    for change in _changes(before, after):
        same = "".join(before[at : change.start])
        stretches += [(same, same)] if same else []
        stretches.append(("".join(before[change.start : change.end]), "".join(change.words)))
        at = change.end
    rest = "".join(before[at:])
    return [*stretches, (rest, rest)] if rest else stretches


def _changes(base: list[str], other: list[str]) -> list[TextChange]:
    return [
        TextChange(were.start, were.stop, tuple(other[are.start : are.stop]))
        for were, are in differing(base, other)
    ]


def _together(ours: list[TextChange], theirs: list[TextChange]) -> list[TextChange] | None:
    """Both lists in order, with identical changes only once; None if they conflict. A change can
    only conflict with its neighbours in order, so each is compared with the one before."""
    every = sorted({*ours, *theirs}, key=lambda change: (change.start, change.end))
    mine = set(ours)
    both = mine & set(theirs)
    reached: dict[bool, TextChange] = {}
    for change in every:
        others = [
            last for side, last in reached.items() if side != (change in mine) or change in both
        ]
        if any(_clash(last, change) for last in others):
            return None
        reached[change in mine] = change
        if change in both:
            reached = {True: change, False: change}
    return every


def _clash(change: TextChange, other: TextChange) -> bool:
    """Whether two changes touch the same words, or insert at the same place."""
    if change == other:
        return False
    overlap = change.start < other.end and other.start < change.end
    is_insertion = change.start == change.end or other.start == other.end
    return overlap or (change.start == other.start and is_insertion)


def _applied(words: list[str], changes: list[TextChange]) -> str:
    words_after, at = [], 0
    for change in changes:
        words_after += [*words[at : change.start], *change.words]
        at = change.end
    return "".join([*words_after, *words[at:]])


# The author of each character of an edited text, from its earlier wordings.

# (author, how many characters), in order; neighbours have different authors.
Pieces = tuple[tuple[str, int], ...]
# Scripts without spaces between words: each of their characters is a word here.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_WORDS_AND_SIGNS = re.compile(rf"[^\W{_UNSPACED}]+|[\W{_UNSPACED}]")
_IN_WORD = re.compile(rf"[^\W{_UNSPACED}]")
MOST_WORDS = 2000  # words between the common ends; with more, all of it is the editor's


def inherited(before: str, pieces: Pieces, after: str, author: str) -> Pieces:
    """The pieces of `after`, which `author` made from `before` with its pieces: what stayed keeps
    its author, what is new is by `author`. A word that was changed is new as a whole."""
    head = _whole_words(before, after, common_length(before, after))
    behind, then = before[head:][::-1], after[head:][::-1]
    tail = _whole_words(behind, then, common_length(behind, then))
    owners = _spread(pieces)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    middle = _middle(old, owners[head : len(before) - tail], new, author)
    return _gathered(owners[:head] + middle + owners[len(before) - tail :])


def put_together(parts: Sequence[tuple[str, Pieces]], text: str, author: str) -> Pieces:
    """The pieces of a text that `author` put together from stretches of other texts, each given
    with its pieces: a stretch keeps its authors, what is in none of them is by `author`. Takes as
    long as all of the texts are."""
    words: list[str] = []
    owners: list[str] = []
    for part, pieces in parts:
        words += [*_WORDS_AND_SIGNS.findall(part), ""]  # the end of a part is like no word
        owners += _spread(pieces)
    at = _starts(words)
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(words) - 1):
        known = places.setdefault((words[place], words[place + 1]), [])
        if len(known) < _MOST_PLACES:
            known.append(place)
    authors: list[str] = []
    new, done = _WORDS_AND_SIGNS.findall(text), 0
    while done < len(new):
        if authors and (new[done].isspace() or new[done] in _ENDS):  # belongs to what is before it
            authors += [authors[-1]] * len(new[done])
            done += 1
            continue
        first, length = 0, 0
        for place in places.get(tuple(new[done : done + 2]), ()):
            long = _stretch(words, place, new, done)
            if long > length:
                first, length = place, long
        if _is_taken(words, first, length):
            authors += owners[at[first] : at[first + length]]
            done += length
            continue
        authors += [author] * len(new[done])
        done += 1
    blanks = len(text) - len(text.lstrip())
    return _gathered(
        authors[blanks : blanks + 1] * blanks + authors[blanks:] if authors[blanks:] else authors
    )


_MOST_PLACES = 8  # at which one pair of words is looked at
_ENDS = frozenset(".!?…。！？\"'”’»)")
_LEAST = 5  # words, blanks and signs in a row that nobody writes by chance


def _stretch(words: Sequence[str], place: int, new: Sequence[str], done: int) -> int:
    """How many words from there on are the same."""
    most = min(len(words) - place, len(new) - done)
    length = 0
    while length < most and words[place + length] == new[done + length]:
        length += 1
    return length


def _is_taken(words: Sequence[str], first: int, length: int) -> bool:
    """Whether a stretch that is the same was taken over: it is long, or the end of a sentence."""
    if length < 2:
        return False
    rest = words[first : first + length]
    return length >= _LEAST or not words[first + length] or rest[-1] in _ENDS or rest[-2] in _ENDS


def _whole_words(left: str, right: str, length: int) -> int:
    """How much of a common beginning is left without a word that goes on behind it in a text."""
    goes_on = any(_IN_WORD.match(text, length) for text in (left, right))
    while goes_on and length and _IN_WORD.match(left, length - 1):
        length -= 1
    return length


def _spread(pieces: Pieces) -> list[str]:
    return [author for author, length in pieces for _ in range(length)]


def _middle(old: str, owners: list[str], new: str, author: str) -> list[str]:
    authors = [author] * len(new)
    before, after = _WORDS_AND_SIGNS.findall(old), _WORDS_AND_SIGNS.findall(new)
    if not before or not after or max(len(before), len(after)) > MOST_WORDS:
        return authors
    at, to = _starts(before), _starts(after)
    for was, is_ in stayed(before, after):
        authors[to[is_] : to[is_ + 1]] = owners[at[was] : at[was + 1]]
    return authors


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
