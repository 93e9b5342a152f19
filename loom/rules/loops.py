"""When an agent walks in circles, and what comes of it (docs/model.md §7). Pure.

What is looked at are the last steps of an agent's workspace since the last one that changed
the world: in a changing world to look twice is no loop, so versions are part of what is
compared. The first find is run with a warning, the second is not run, the third halts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loom.rules.errors import CommandError

Deed = Literal["run", "warn", "refuse", "halt"]
Status = Literal["ok", "exact", "structural", "semantic"]

HISTORY: Final = 100  # steps that are looked at
LONGEST: Final = 6  # steps of a block that repeats
TIMES: Final = 3  # as often a block stands at the end
GRAM: Final = 3  # characters
# Two texts are one when the cosine is above 0.95: its square as a fraction, so that the
# comparison is of whole numbers.
_SQUARE: Final = (361, 400)
_DEEDS: Final[tuple[Deed, ...]] = ("run", "warn", "refuse", "halt")


@dataclass(frozen=True)
class Past:
    """One step, or the line that would be the next. `line` is canonical, or as given where
    it could not be read; `items` what it touches, each with its version; `changed` says
    whether it changed the world (a refused line did not, and a thought does not count, or
    thinking would hide every loop); `result` names the window of its answer, such as `#14`.
    """

    seq: int
    line: str
    position: str
    items: tuple[tuple[str, str], ...] = ()
    changed: bool = False
    result: str = ""


@dataclass(frozen=True)
class Said:
    """The prose of one round, and whether one of its lines changed the world."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class Verdict:
    """What is done with a line (or, by `semantic`, with a turn), and why: `earlier` is the
    step, or for `semantic` the round counted from 1, that is repeated; where the line is
    not run the position goes back to `position`."""

    deed: Deed = "run"
    status: Status = "ok"
    earlier: int = 0
    position: str = ""
    result: str = ""

    @property
    def warning(self) -> str:
        """The line that goes with the answer, "" where there is nothing to warn of."""
        return "" if self.deed == "run" else f"! {self.message} Next time it is not run."

    @property
    def message(self) -> str:
        """What repeats, as a sentence."""
        if self.status == "exact":
            return f"This is step {self.earlier} again, and nothing it touches has changed."
        if self.status == "structural":
            return f"Your steps repeat since step {self.earlier}, and nothing has changed."
        return f"What you write is what you wrote in round {self.earlier}."

    @property
    def refusal(self) -> CommandError:
        """LOOP, with a pointer to what is repeated."""
        there = f"its answer is {self.result}; " if self.result else ""
        halted = "the turn was halted; " if self.deed == "halt" else ""
        return CommandError(
            "LOOP", self.message, hint=f"{halted}{there}look at something else, or conclude"
        )


OK: Final = Verdict()


def look(past: Sequence[Past], now: Past) -> Verdict:
    """What is to be done with the line `now` after the steps `past`, oldest first."""
    recent = _since_change(past[-HISTORY:])
    found = (_exact(recent, now), _structural(recent, now))
    return max(found, key=lambda verdict: _DEEDS.index(verdict.deed))


def _since_change(past: Sequence[Past]) -> Sequence[Past]:
    last = max((at for at, one in enumerate(past) if one.changed), default=-1)
    return past[last + 1 :]


def _exact(past: Sequence[Past], now: Past) -> Verdict:
    same = [one for one in past if _state(one) == _state(now)]
    return _verdict("exact", len(same), same[0]) if same else OK


def _state(one: Past) -> tuple[object, ...]:
    return one.line, one.position, one.items


def _structural(past: Sequence[Past], now: Past) -> Verdict:
    pairs = [(one.line, one.items) for one in (*past, now)]
    for size in range(1, LONGEST + 1):
        length = _periodic(pairs, size)
        if length >= TIMES * size:
            first = (*past, now)[len(pairs) - length]
            return _verdict("structural", length - TIMES * size + 1, first)
    return OK


def _periodic(pairs: Sequence[object], size: int) -> int:
    """How many of the last pairs repeat what stood `size` before them, with that first block."""
    at = len(pairs) - 1
    while at >= size and pairs[at] == pairs[at - size]:
        at -= 1
    return len(pairs) - 1 - at + size


def _verdict(status: Status, times: int, earlier: Past) -> Verdict:
    deed = _DEEDS[min(times, len(_DEEDS) - 1)]
    return Verdict(deed, status, earlier.seq, earlier.position, earlier.result)


def semantic(rounds: Sequence[Said]) -> Verdict:
    """Whether the last round says what earlier rounds of the turn said: like one since the
    last change of the world: warn; like two: halt. Rounds of under three characters say
    nothing."""
    if not rounds:
        return OK
    since = max((at for at, one in enumerate(rounds[:-1]) if one.changed), default=-1) + 1
    now = grams(rounds[-1].text)
    alike = [at for at in range(since, len(rounds) - 1) if is_alike(grams(rounds[at].text), now)]
    if not alike or rounds[-1].changed:
        return OK
    return Verdict("halt" if len(alike) > 1 else "warn", "semantic", alike[0] + 1)


def grams(text: str) -> Counter[str]:
    """The trigrams of a text, blanks closed up and in small letters, with their counts."""
    plain = " ".join(text.lower().split())
    return Counter(plain[at : at + GRAM] for at in range(len(plain) - GRAM + 1))


def is_alike(one: Counter[str], other: Counter[str]) -> bool:
    """Whether the cosine of two texts is above 0.95, strictly."""
    dot = sum(count * other[gram] for gram, count in one.items() if gram in other)
    sizes = _size(one) * _size(other)
    return dot * dot * _SQUARE[1] > sizes * _SQUARE[0]


def _size(vector: Counter[str]) -> int:
    return sum(count * count for count in vector.values())
