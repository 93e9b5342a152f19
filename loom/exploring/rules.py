"""Pure: how many calls an exploration makes, what its budget still allows, which texts are kept,
and what a judge has answered."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

RATING_TOKENS = 120  # of a judge's answer
MOST_CALLS = 2_000  # of one exploration
SHOWN = 12  # words of a goal in a reply

_RATING = re.compile(r"\W{0,20}(\d{1,2}(?:[.,]\d)?)(?:\s{0,3}/\s{0,3}10)?(?![\d/])[\s\W]{0,20}")


@dataclass(frozen=True)
class Shape:
    """The shape of an exploration: texts below each text, rounds, texts that are kept of a round,
    and whether a model judges each."""

    n: int
    depth: int
    keep: int
    is_judged: bool

    @property
    def texts(self) -> int:
        """The texts that it asks for at most."""
        total, front = 0, 1
        for _ in range(self.depth):
            total += front * self.n
            front = min(self.keep, front * self.n)
        return total

    @property
    def calls(self) -> int:
        """The calls of models that it makes at most."""
        return self.texts * (2 if self.is_judged else 1)


@dataclass(frozen=True)
class Amount:
    """Calls of models, tokens (read and written) and money in billionths of a dollar."""

    steps: int = 0
    tokens: int = 0
    money: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.steps + other.steps, self.tokens + other.tokens, self.money + other.money
        )

    def times(self, count: int) -> "Amount":
        """So much that many times."""
        return Amount(self.steps * count, self.tokens * count, self.money * count)


@dataclass(frozen=True)
class ExplorationBudget:
    """What an exploration may use; `money` None: as much as the day of who pays allows."""

    steps: int
    tokens: int
    money: int | None

    def over(self, used: Amount, asked: Amount) -> str:
        """The part that would be exceeded by `asked` in addition to `used`: steps, tokens or money;
        "" if all of it is within the budget."""
        after = used + asked
        if after.steps > self.steps:
            return "steps"
        if after.tokens > self.tokens:
            return "tokens"
        return "money" if self.money is not None and after.money > self.money else ""


def planned(
    budget: ExplorationBudget, used: Amount, costs: Sequence[Amount], n: int
) -> tuple[list[int], str]:
    """(how many texts are asked for below each text of the frontier, the part of the budget for
    which they are fewer than `n`). `costs` is what one text, with its judge, costs at most below
    each; texts are given out in turn, so that every one gets its first before any its second."""
    counts = [0] * len(costs)
    for _ in range(n):
        for place, cost in enumerate(costs):
            over = budget.over(used, cost)
            if over:
                return counts, over
            used, counts[place] = used + cost, counts[place] + 1
    return counts, ""


def best(scores: Sequence[float | None], keep: int) -> list[int]:
    """The places of the best scores, best first; equal ones in their order. What has no score comes
    last."""
    order = sorted(range(len(scores)), key=lambda at: (-_number(scores[at]), at))
    return order[:keep]


def _number(score: float | None) -> float:
    return -1.0 if score is None else score


def most_different(near: Sequence[Sequence[float]], keep: int) -> list[int]:
    """The places of texts that differ most: from the first on, always the one whose nearest chosen
    one is the farthest. `near` is from 0 to 1."""
    if not len(near):
        return []
    chosen = [0]
    while len(chosen) < min(keep, len(near)):
        left = [at for at in range(len(near)) if at not in chosen]
        chosen.append(min(left, key=lambda at: (max(near[at][other] for other in chosen), at)))
    return chosen


def read_rating(text: str) -> tuple[float | None, str]:
    """(the rating from 0 to 10, the reason) of a judge's answer; None if it begins with none."""
    line = " ".join(text[:2_000].split())
    rating = _RATING.match(line)
    if rating is None:
        return None, line[:300]
    number = float(rating[1].replace(",", "."))
    if number > 10:
        return None, line[:300]
    return number, line[rating.end() :][:300]
