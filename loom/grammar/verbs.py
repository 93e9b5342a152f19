"""Which verbs an unknown word may have meant. Nothing is guessed: they are only offered."""

from collections.abc import Iterable, Mapping

MOST = 3
_LONGEST = 24


def candidates(word: str, verbs: Iterable[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    """Up to three verbs, nearest first, that differ in few letters or begin alike."""
    word = word.lower()
    if not word or len(word) > _LONGEST:
        return ()
    far: dict[str, int] = {}
    for known, verb in [*((one, one) for one in verbs), *aliases.items()]:
        distance = 1 if len(word) > 1 and known.startswith(word) else edits(word, known)
        if distance <= max(1, len(known) // 2 - (len(known) > 5)):
            far[verb] = min(distance, far.get(verb, distance))
    return tuple(sorted(far, key=lambda verb: (far[verb], verb))[:MOST])


def edits(one: str, other: str) -> int:
    """How many letters to add, drop, change or swap with the next make one of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above = row, before
        row = [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]
