"""Local ids of nodes: letter-digit pairs, drawn by the caller's dice (docs/model.md §4)."""

from collections.abc import Callable, Collection

LETTERS = "abcdefghjkmnpqrstvwxyz"  # no i l o u
DIGITS = "23456789"
MAX_LENGTH = 8


def space(length: int) -> int:
    """How many ids of `length` characters there are: letters and digits in turn."""
    count: int = len(LETTERS) ** ((length + 1) // 2) * len(DIGITS) ** (length // 2)
    return count


def length_for(used: int) -> int:
    """The length to draw when `used` ids are taken: one more per quarter of a space filled."""
    length = 4
    while length < MAX_LENGTH and used >= space(length) // 4:
        length += 1
    return length


def draw(length: int, choose: Callable[[str], str]) -> str:
    """One id; `choose` picks a character, such as secrets.choice."""
    return "".join(choose(DIGITS if i % 2 else LETTERS) for i in range(length))


def draw_new(used: int, taken: Collection[str], choose: Callable[[str], str]) -> str:
    """An id that is not in `taken`; drawn again on collision."""
    length = length_for(used)
    while (drawn := draw(length, choose)) in taken:
        pass
    return drawn


def looks_like_id(word: str) -> bool:
    """Whether `word` has the form of a local id."""
    return 4 <= len(word) <= MAX_LENGTH and all(
        c in (DIGITS if i % 2 else LETTERS) for i, c in enumerate(word.lower())
    )
