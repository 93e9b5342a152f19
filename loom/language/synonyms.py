"""Words that mean the same in the lines of every verb, as data, and the verbs that a misspelt word
is close to. What belongs to one verb stands at its registration."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final

# Single words in the lines of a command, and their replacements: data only.


# Words without meaning anywhere; `node` before an id is one.
NOISE: Final = frozenset("me us the a an node please its".split())
ARTICLES: Final = frozenset("the a an please".split())

COUNTED: Final = frozenset(
    "more continuations continuation alternatives alternative candidates candidate completions"
    " completion options option variants variant".split()
)

PLACES: Final = (
    ("the node where i am", "here"),
    ("where i am", "here"),
    ("this node", "here"),
    ("the current node", "here"),
    ("current node", "here"),
    ("the current position", "here"),
    ("my position", "here"),
    ("this place", "here"),
    ("this point", "here"),
    ("the node above this one", "parent"),
    ("node above this one", "parent"),
    ("the node above", "parent"),
    ("this one", "here"),
)
ITEM_KEYS: Final = frozenset("id ref node_id nodeid target item pin".split())
# Words for ending a turn, which needs no command.
ENDS: Final = frozenset("done finish finished end stop exit quit wait nothing noop pass".split())
TYPES: Final = {
    word: kind
    for kind, words in {
        "continuations": "continuation continuations children child replies branches",
        "annotations": "annotation annotations notes comments remarks",
        "links": "links connections",
        "versions": "versions revisions",
        "siblings": "siblings sibling neighbours neighbors alternatives",
        "claims": "claims",
    }.items()
    for word in words.split()
}
OTHER_TYPES: Final = frozenset("ancestors parents parent path".split())  # which view shows
NUMBERS: Final = {
    **{
        word: number
        for number, word in enumerate(
            "one two three four five six seven eight nine ten eleven twelve".split(), 1
        )
    },
    "once": 1,
    "twice": 2,
    "thrice": 3,
}
# What may come before the command or after it; the first few also before destructive ones.
PLAIN_POLITE: Final = "please|kindly|ok|okay|now|then|just|could you please|can you please"
POLITE: Final = (
    "could you|can you|would you|will you|would you please|can i|may i|could i|i want to"
    "|i would like to|i need to|let us|let me|go ahead and|hey|hi|well|so|also|next|and|and then"
    "|i want you to|i would like you to|i want|i would like"
)
AFTERWARDS: Final = "please|thanks|thank you|for me|now|right now|if you please|next"
SHORT: Final = {
    "what's": "what is",
    "where's": "where is",
    "let's": "let us",
    "i'd": "i would",
    "i'm": "i am",
}
# Verbs that differ from a word in few letters.

MOST = 3
_LONGEST = 24


def candidates(
    word: str, verbs: Iterable[str], aliases: Mapping[str, str], harmless: Collection[str]
) -> tuple[str, ...]:
    """Up to three verbs, nearest first, that differ in few letters or begin alike; those that
    write or spend, unlike the `harmless` ones, only if they differ in one."""
    word = word.lower()
    if not word or len(word) > _LONGEST:
        return ()
    far: dict[str, int] = {}
    for known, verb in [*((verb, verb) for verb in verbs), *aliases.items()]:
        distance = _distance(word, known)
        if distance is not None and (distance <= 1 or verb in harmless):
            far[verb] = min(distance, far.get(verb, distance))
    return tuple(sorted(far, key=lambda verb: (far[verb], verb))[:MOST])


def _near_enough(known: str) -> int:
    """1 edit in short words, 2 from five letters on, 3 from eight. Guess: feels right."""
    return 1 + (len(known) >= 5) + (len(known) >= 8)


@lru_cache(maxsize=10_000)  # the same few words are compared with the same verbs
def _distance(word: str, known: str) -> int | None:
    """The edit distance between a word and a known one; None if it is too large."""
    if len(word) > 1 and known.startswith(word):
        return 1
    most = _near_enough(known)
    if abs(len(word) - len(known)) > most:
        return None  # so many edits are needed for the length alone
    distance = edits(word, known)
    return distance if distance <= most else None


def edits(word: str, other: str) -> int:
    """The edit distance: letters to add, drop, change or swap with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        before, above = row, before
        row = [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]
