"""The trigrams of words, by which SQLite finds texts (docs/decisions/2026-11-21-search.md)."""

import re

TRIGRAM = 3
# Signs that are part of words, as all characters beyond ASCII are.
SIGNS = "".join(chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum())

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def trigrams(folded: str) -> list[str]:
    """All different runs of three characters of a folded text without a blank or control
    character, in the order in which they first come. What contains a query has all of its
    trigrams."""
    every: dict[str, None] = {}
    for word in dict.fromkeys(_CONTROLS.sub(" ", folded).split()):
        every.update(dict.fromkeys(map("".join, zip(word, word[1:], word[2:], strict=False))))
    return list(every)
