"""Pure: how many calls an exploration makes, and what its budget still allows."""

from collections.abc import Sequence
from dataclasses import dataclass

RATING_TOKENS = 120  # of a judge's answer
MOST_CALLS = 2_000  # of one exploration
SHOWN = 12  # words of a goal in a reply


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
