"""Whether words that somebody quotes are in a text, and where: a gate that asks no model. Linear in
the length of the text (docs/model.md §10). Pure."""

import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Answer = Literal["found", "elsewhere", "joined", "not there"]

LEAST = 12  # characters of a quote
MOST = 4_000  # characters of a quote
MOST_OF_A_TEXT = 2_000_000  # characters that are searched
ENOUGH = 0.85  # the share of a quote that one block of the text must have
MOST_PARTS = 6  # from which a quote may be joined
MOST_TRIED = 50  # places at which the middle of a quote is found
AROUND = 32  # characters kept before and after a quote


@dataclass(frozen=True)
class Normal:
    """A text in NFKC, case-folded, with one space for each run of blanks; `starts` has the place in
    the text of each character, and at the end the length of the text."""

    text: str
    starts: Sequence[int]


def normal(text: str) -> Normal:
    """The text as quotes are compared."""
    out: list[str] = []
    starts = array("L")
    at, length = 0, len(text)
    is_blank = True  # blanks at the start are dropped
    while at < length:
        end = at + 1
        while end < length and end - at < 32 and unicodedata.combining(text[end]):
            end += 1
        cluster = text[at:end]
        if cluster.isspace():
            if not is_blank:
                out.append(" ")
                starts.append(at)
            is_blank = True
        else:
            plain = cluster if cluster.isascii() else unicodedata.normalize("NFKC", cluster)
            for letter in plain.casefold():
                if not letter.isspace():
                    out.append(letter)
                    starts.append(at)
            is_blank = False
        at = end
    if out and out[-1] == " ":
        out.pop()
        starts.pop()
    starts.append(length)
    return Normal("".join(out), starts)


@dataclass(frozen=True)
class QuotePlace:
    """Where words are in a text: `first` to `last` (not included), in code points."""

    first: int
    last: int


def exact(text: str, words: str) -> QuotePlace | None:
    """The first place of the words as they are, or as they are compared; None if there is none."""
    at = text.find(words)
    if at >= 0:
        return QuotePlace(at, at + len(words))
    whole, wanted = normal(text), normal(words).text
    at = whole.text.find(wanted) if wanted else -1
    return _placed(whole, at, at + len(wanted)) if at >= 0 else None


def _placed(whole: Normal, first: int, last: int) -> QuotePlace:
    return QuotePlace(whole.starts[first], whole.starts[last])


def nearly(text: str, words: str) -> QuotePlace | None:
    """The place of one block that is most of the words; None if there is none. A block of that
    share always has the middle of the quote, which is looked for first."""
    whole, wanted = normal(text), normal(words).text
    least = -(-len(wanted) * int(ENOUGH * 100) // 100)
    edge = len(wanted) - least
    middle = wanted[edge : len(wanted) - edge]
    at, tried = whole.text.find(middle) if middle else -1, 0
    best: tuple[int, int] | None = None
    while at >= 0 and tried < MOST_TRIED:
        first, last = at, at + len(middle)
        before, after = edge, len(wanted) - edge
        while before > 0 and first > 0 and whole.text[first - 1] == wanted[before - 1]:
            before, first = before - 1, first - 1
        while after < len(wanted) and last < len(whole.text) and whole.text[last] == wanted[after]:
            after, last = after + 1, last + 1
        if best is None or last - first > best[1] - best[0]:
            best = (first, last)
        at, tried = whole.text.find(middle, at + 1), tried + 1
    if best is None or best[1] - best[0] < least:
        return None
    return _placed(whole, *best)


def joined(text: str, words: str) -> bool:
    """Whether the words are several places of the text put together: at most MOST_PARTS pieces of
    at least LEAST characters that together are most of them."""
    whole, wanted = normal(text).text, normal(words).text
    at = covered = pieces = 0
    while at < len(wanted) and pieces < MOST_PARTS:
        length = _longest(whole, wanted, at)
        if length >= LEAST:
            covered, pieces, at = covered + length, pieces + 1, at + length
        else:
            at += max(1, wanted.find(" ", at) + 1 - at)
    return pieces > 1 and covered >= ENOUGH * len(wanted)


def _longest(whole: str, wanted: str, at: int) -> int:
    """The length of the longest piece of `wanted` from `at` on that is in the text; 0 if not even
    LEAST characters are."""
    low, high = LEAST - 1, len(wanted) - at
    if wanted[at : at + LEAST] not in whole or high < LEAST:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        if wanted[at : at + middle] in whole:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True)
class QuoteVerdict:
    """The answer of the gate. `place` is in the text that was cited (found), or in the text number
    `other` of those that were offered (elsewhere)."""

    answer: Answer
    place: QuotePlace | None = None
    other: int = -1


def judged(words: str, cited: str, others: Sequence[str] = ()) -> QuoteVerdict:
    """Whether the words are in the cited text; if not, whether they are in one of the others, or
    joined from several places of the cited text."""
    text = cited[:MOST_OF_A_TEXT]
    place = exact(text, words) or nearly(text, words)
    if place is not None:
        return QuoteVerdict("found", place)
    left = MOST_OF_A_TEXT
    for number, other in enumerate(others):
        if len(other) > left:
            continue
        left -= len(other)
        place = exact(other, words)
        if place is not None:
            return QuoteVerdict("elsewhere", place, number)
    return QuoteVerdict("joined") if joined(text, words) else QuoteVerdict("not there")


def around(text: str, place: QuotePlace) -> tuple[str, str, str]:
    """(a little before, the exact words, a little after) of a place."""
    before = text[max(0, place.first - AROUND) : place.first]
    return before, text[place.first : place.last], text[place.last : place.last + AROUND]
