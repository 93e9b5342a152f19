"""What counts as a match, and how good it is: computed here, so that it is one meaning
on both databases, which only say which texts to look at."""

from functools import cache
from typing import NamedTuple

# Letters whose lower case SQLite's trigram index does not know (its tables are Unicode
# 6.1). They match in their own case only, on PostgreSQL as well. Measured: 390 letters,
# all of them in these ranges.
_UNFOLDED = (
    (0x37F, 0x37F),
    (0x528, 0x52E),
    (0x13A0, 0x13F5),
    (0x1C90, 0x1CBF),
    (0x2C2F, 0x2C2F),
    (0xA698, 0xA69A),
    (0xA796, 0xA79E),
    (0xA7AB, 0xA7F5),
    (0x104B0, 0x104D3),
    (0x10570, 0x10595),
    (0x10C80, 0x10CB2),
    (0x118A0, 0x118BF),
    (0x16E40, 0x16E5F),
    (0x1E900, 0x1E921),
)
_LAST_CASED = 0x1E943
_USUAL_LENGTH = 800  # characters; longer texts need more occurrences to rank as high


class Match(NamedTuple):
    """How a query occurs in a text: where first (code points), how often, how good."""

    at: int
    times: int
    score: float


@cache
def _table() -> dict[int, int]:
    """Every letter with a lower case of one character; built on first use, in 20 ms."""
    unfolded = {one for first, last in _UNFOLDED for one in range(first, last + 1)}
    table = {}
    for one in range(_LAST_CASED + 1):
        lower = chr(one).lower()
        if len(lower) == 1 and ord(lower) != one and one not in unfolded:
            table[one] = ord(lower)
    return table


def fold(text: str) -> str:
    """The text with letters in lower case, character by character: offsets stay."""
    return text.lower() if text.isascii() else text.translate(_table())


@cache
def _cases() -> dict[str, list[str]]:
    """The letters that fold to a letter, besides itself."""
    cases: dict[str, list[str]] = {}
    for one, lower in _table().items():
        cases.setdefault(chr(lower), []).append(chr(one))
    return cases


def spellings(query: str) -> list[str]:
    """All texts that fold to what the query folds to, for one or two characters few."""
    found = [""]
    for one in fold(query):
        found = [head + case for head in found for case in (one, *_cases().get(one, ()))]
    return found


def match(folded_query: str, text: str) -> Match | None:
    """How the query occurs in the text, or None. It must be folded already.

    The score grows with the number of occurrences and falls with the length of the text;
    a part of a word counts half. Source: the shape of BM25, with a fixed usual length.
    """
    folded = fold(text)
    first = at = folded.find(folded_query)
    if first < 0:
        return None
    times, weight, size = 0, 0.0, len(folded_query)
    while at >= 0:
        times += 1
        weight += 1.0 if _is_whole(folded, at, at + size) else 0.5
        at = folded.find(folded_query, at + size)
    score = weight / (weight + 1.2 * (0.25 + 0.75 * len(folded) / _USUAL_LENGTH))
    return Match(first, times, score)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether what stands at start…end is no part of a longer word."""
    before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
    return not before and not after
