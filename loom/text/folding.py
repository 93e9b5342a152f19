"""Letters in lower case, one for one, so that places in a text stay the same."""

from functools import cache

# Letters whose lower case SQLite does not know (its tables are Unicode 6.1). They match in their
# own case only, on PostgreSQL as well. Measured: 390 letters, all of them in these ranges.
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


@cache
def _table() -> dict[int, int]:
    """Every letter with a lower case of one character; built on first use, in 20 ms."""
    unfolded = {code for first, last in _UNFOLDED for code in range(first, last + 1)}
    table = {}
    for code in range(_LAST_CASED + 1):
        lower = chr(code).lower()
        if len(lower) == 1 and ord(lower) != code and code not in unfolded:
            table[code] = ord(lower)
    return table


def fold(text: str) -> str:
    """The text in lower case, character by character, so that offsets stay the same."""
    return text.lower() if text.isascii() else text.translate(_table())


@cache
def _cases() -> dict[str, list[str]]:
    """The other letters that fold to a letter."""
    cases: dict[str, list[str]] = {}
    for code, lower in _table().items():
        cases.setdefault(chr(lower), []).append(chr(code))
    return cases


def spellings(query: str) -> list[str]:
    """All texts that fold to the same as the query; few for one or two characters."""
    texts = [""]
    for letter in fold(query):
        texts = [head + case for head in texts for case in (letter, *_cases().get(letter, ()))]
    return texts
