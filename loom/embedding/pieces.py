"""Pure: near-duplicates by the pieces of characters that two texts share. Loads nothing, so that
every page may use it."""

import unicodedata
from collections.abc import Sequence

MOST_READ = 4_000  # characters of a text that are compared
PIECE = 5  # characters of the pieces that two texts have in common
SAME_PIECES = 0.8  # share of common pieces from which on two texts are near-duplicates


def normal(text: str) -> str:
    """A text without what makes no difference: case, width, and how many blanks there are."""
    return " ".join(unicodedata.normalize("NFKC", text[:MOST_READ]).casefold().split())


def pieces_of(text: str) -> frozenset[str]:
    """All pieces of PIECE characters of a text; the text itself if it is shorter."""
    plain = normal(text)
    return frozenset(plain[at : at + PIECE] for at in range(max(1, len(plain) - PIECE + 1)))


def are_alike(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether two texts, by their pieces, are near-duplicates."""
    fewer, more = sorted((len(first), len(second)))
    if fewer < SAME_PIECES * more:  # so few cannot be so large a share
        return False
    both = len(first & second)
    return both >= SAME_PIECES * (fewer + more - both)


def groups_alike(texts: Sequence[str]) -> list[list[int]]:
    """Groups of near-duplicates, each in the order of the texts. A text is compared with the first
    of each group, so that no chain of small steps joins what differs."""
    groups: list[list[int]] = []
    firsts: list[frozenset[str]] = []
    for at, text in enumerate(texts):
        own = pieces_of(text)
        for number, first in enumerate(firsts):
            if are_alike(own, first):
                groups[number].append(at)
                break
        else:
            groups.append([at])
            firsts.append(own)
    return groups
