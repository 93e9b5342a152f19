"""How a line begins: blanks, the arrow, the verb; and which verbs an unknown word may mean."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from loom.grammar.bad import Bad, short, unread
from loom.grammar.forms import Form

ARROWS = ("→", "->")
BLANK = " \t"
MAX_BLANKS = 2
MOST = 3
_LONGEST = 24
_WORD = re.compile(r"[^ \t]+")


class Verbs(NamedTuple):
    """The verbs that are known, each with its forms, and other words for them."""

    forms: Mapping[str, Sequence[Form]]
    aliases: Mapping[str, str]

    def verb_of(self, word: str) -> str | None:
        """The verb that a word is, or is another word for."""
        low = word.lower()
        verb = low if low in self.forms else self.aliases.get(low)
        return verb if verb in self.forms else None

    def body(self, line: str) -> str:
        """A line without the blanks and the arrow before it. Raises Bad."""
        body = line.rstrip(" \t\r")
        blanks = len(body) - len(body.lstrip(BLANK))
        body = without_arrow(body[blanks:])
        if not body:
            raise unread("There is no command.", "write one, such as → view here")
        if blanks > MAX_BLANKS:
            raise unread(
                "A command stands after at most two blanks.", "write it where the line begins"
            )
        return body

    def split(self, body: str) -> tuple[str, str]:
        """The verb, and what stands after it on its line. Raises Bad."""
        word = first_word(body)
        verb = self.verb_of(word)
        if verb is None:
            raise self._unknown(word)
        return verb, body[len(word) :]

    def _unknown(self, word: str) -> Bad:
        near = candidates(word, self.forms, self.aliases)
        hint = f"did you mean: {', '.join(near)}" if near else "→ help lists the commands"
        return Bad("INVALID_SYNTAX", f"There is no command {short(word)}.", hint, near)


def without_arrow(body: str) -> str:
    """A line without the arrow that it may begin with."""
    for arrow in ARROWS:
        if body.startswith(arrow):
            return body[len(arrow) :].lstrip(BLANK)
    return body


def first_word(body: str) -> str:
    """What stands before the first blank."""
    match = _WORD.match(body)
    return match[0] if match else ""


def candidates(word: str, verbs: Iterable[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    """Up to three verbs, nearest first, that differ in few letters or begin alike."""
    word = word.lower()
    if not word or len(word) > _LONGEST:
        return ()
    far: dict[str, int] = {}
    for known, verb in [*((one, one) for one in verbs), *aliases.items()]:
        distance = 1 if len(word) > 1 and known.startswith(word) else edits(word, known)
        if distance <= _near_enough(known):
            far[verb] = min(distance, far.get(verb, distance))
    return tuple(sorted(far, key=lambda verb: (far[verb], verb))[:MOST])


def _near_enough(known: str) -> int:
    """1 edit in short words, 2 from five letters on, 3 from eight. Guess: feels right."""
    return 1 + (len(known) >= 5) + (len(known) >= 8)


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
