"""Loops: whether the steps of a turn repeat, and the reaction to them (docs/model.md §7). Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loom.errors import CommandError

# Detection of loops, and the reaction to them (docs/model.md §7).

Decision = Literal["run", "warn", "refuse", "halt"]
Status = Literal["ok", "exact", "structural", "semantic"]
HISTORY: Final = 100  # steps of a turn that are considered
LONGEST: Final = 6  # steps of a block that repeats
TIMES: Final = 3  # repetitions of a block at the end that count as a loop
GRAM: Final = 3  # characters
# Two texts count as the same if the cosine is above 0.95: its square as a fraction, so that only
# whole numbers are compared.
_SQUARE: Final = (361, 400)
_COSINE: Final = 0.95
_DECISIONS: Final[tuple[Decision, ...]] = ("run", "warn", "refuse", "halt")


@dataclass(frozen=True)
class Past:
    """One step, or the line that would be next. `line` is canonical, or as given if it could not
    be parsed; `items` are those it touches, each with its version; `changed` says whether it
    changed the tree or grove (a refused line did not, and a thought does not count, because
    thinking would hide every loop); `moved`, whether it changed what the agent has in view, as
    `hide`, `back` and `todo toggle` do; `failed`, whether it was refused by itself, so that it may
    run once something else has run; `result` names the window of its answer, such as `#14`.
    """

    seq: int
    line: str
    position: str
    items: tuple[tuple[str, str], ...] = ()
    changed: bool = False
    result: str = ""
    moved: bool = False
    failed: bool = False


@dataclass(frozen=True)
class RoundProse:
    """The prose of one round, and whether one of its lines changed the tree or grove."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class LoopVerdict:
    """The decision about a line (or, by `semantic`, about a turn) and its reason: `earlier` is the
    repeated step, or for `semantic` the repeated round, counted from 1; if the line is not run,
    the position goes back to `position`."""

    decision: Decision = "run"
    status: Status = "ok"
    earlier: int = 0
    position: str = ""
    result: str = ""

    @property
    def warning(self) -> str:
        """The warning that is added to the answer; "" if there is none."""
        return "" if self.decision == "run" else f"! {self.message} Next time it is not run."

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
        """LOOP, with a reference to what is repeated."""
        there = f"its answer is {self.result}; " if self.result else ""
        halted = "the turn was halted; " if self.decision == "halt" else ""
        return CommandError(
            "LOOP", self.message, hint=f"{halted}{there}look at something else, or conclude"
        )


OK: Final = LoopVerdict()


def look(past: Sequence[Past], now: Past) -> LoopVerdict:
    """The decision about the line `now` after the steps `past`, oldest first."""
    recent = _since_change(past[-HISTORY:])
    verdicts = (_exact(recent, now), _structural(recent, now))
    return max(verdicts, key=lambda verdict: _DECISIONS.index(verdict.decision))


def _since_change(past: Sequence[Past]) -> Sequence[Past]:
    last = max((at for at, step in enumerate(past) if step.changed), default=-1)
    return past[last + 1 :]


def _exact(past: Sequence[Past], now: Past) -> LoopVerdict:
    ran = max((at for at, step in enumerate(past) if not step.failed), default=-1)
    same = [
        step
        for at, step in enumerate(past)
        if _state(step) == _state(now) and not step.moved and (at > ran or not step.failed)
    ]
    return _verdict("exact", len(same), same[0]) if same else OK


def _state(step: Past) -> tuple[object, ...]:
    return step.line, step.position, step.items


def _structural(past: Sequence[Past], now: Past) -> LoopVerdict:
    pairs = [(step.line, step.items) for step in (*past, now)]
    for size in range(1, LONGEST + 1):
        length = _periodic(pairs, size)
        if length >= TIMES * size:
            first = (*past, now)[len(pairs) - length]
            return _verdict("structural", length - TIMES * size + 1, first)
    return OK


def _periodic(pairs: Sequence[object], size: int) -> int:
    """How many of the last pairs equal the pair `size` before them, including that first block."""
    at = len(pairs) - 1
    while at >= size and pairs[at] == pairs[at - size]:
        at -= 1
    return len(pairs) - 1 - at + size


def _verdict(status: Status, times: int, earlier: Past) -> LoopVerdict:
    decision = _DECISIONS[min(times, len(_DECISIONS) - 1)]
    return LoopVerdict(decision, status, earlier.seq, earlier.position, earlier.result)


def semantic(rounds: Sequence[RoundProse], near: Sequence[float] = ()) -> LoopVerdict:
    """Whether the prose of the last round repeats earlier rounds of the turn: if one since the
    last change of the tree or grove is alike, warn; if two, halt. Rounds of under three characters
    are ignored. `near`: the cosine of the meaning of each round and the last one (empty: it is
    not known), by which two texts are alike as well."""
    if not rounds:
        return OK
    since = (
        max((at for at, turn_round in enumerate(rounds[:-1]) if turn_round.changed), default=-1) + 1
    )
    now = grams(rounds[-1].text)
    alike = [
        at
        for at in range(since, len(rounds) - 1)
        if is_alike(grams(rounds[at].text), now) or (near and now and near[at] > _COSINE)
    ]
    if not alike or rounds[-1].changed:
        return OK
    return LoopVerdict("halt" if len(alike) > 1 else "warn", "semantic", alike[0] + 1)


def grams(text: str) -> Counter[str]:
    """The trigrams of a text in lower case, with whitespace collapsed, and their counts."""
    plain = " ".join(text.lower().split())
    return Counter(plain[at : at + GRAM] for at in range(len(plain) - GRAM + 1))


def is_alike(first: Counter[str], other: Counter[str]) -> bool:
    """Whether the cosine of two texts is above 0.95, strictly."""
    dot = sum(count * other[gram] for gram, count in first.items() if gram in other)
    sizes = _size(first) * _size(other)
    return dot * dot * _SQUARE[1] > sizes * _SQUARE[0]


def _size(vector: Counter[str]) -> int:
    return sum(count * count for count in vector.values())
