"""The budgets that an agent may have for each of its turns: their names and numbers. Pure."""

from dataclasses import dataclass
from typing import Final, Literal

from loom.errors import CommandError

# A grove can change the numbers of each.
BudgetName = Literal["quick", "standard", "thorough"]
STEPS_A_DAY: Final = 1000  # steps of one agent in one tree, in 24 hours


@dataclass(frozen=True)
class Budget:
    """What one turn may use: steps, nesting of windows, distinct items, rounds, time in
    milliseconds, and tokens sent and written, as `cost` counts them. `day`: steps of the agent in
    a tree in 24 hours."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int
    day: int = STEPS_A_DAY


BUDGETS: Final[dict[BudgetName, Budget]] = {
    "quick": Budget(20, 3, 15, 3, 60_000, 100_000),
    "standard": Budget(100, 10, 50, 12, 300_000, 200_000),
    "thorough": Budget(500, 20, 200, 40, 1_200_000, 500_000),
}


def budget_of(preset: str) -> Budget:
    """The budget of a preset. Raises INVALID_SYNTAX for any other word."""
    for name, budget in BUDGETS.items():
        if name == preset:
            return budget
    raise CommandError(
        "INVALID_SYNTAX",
        f"There is no budget {preset[:40]!r}.",
        hint=f"there are {', '.join(BUDGETS)}",
    )


def clock(milliseconds: int) -> str:
    """Elapsed minutes and seconds: `0:21`, `5:00`, `75:09`."""
    minutes, seconds = divmod(max(milliseconds, 0) // 1000, 60)
    return f"{minutes}:{seconds:02}"
