"""The budget of a turn: the presets, what a turn has used, and what follows when it is used up.
Pure."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from loom.errors import CommandError
from loom.language.batches import MAX_COMMANDS

# Budgets of turns: a grove can change the numbers of each.


BudgetName = Literal["quick", "standard", "thorough"]
STEPS_A_DAY: Final = 1000  # steps of one agent in one tree, in 24 hours
TOKENS: Final = 100_000
USUAL_BUDGET: Final[BudgetName] = "standard"


@dataclass(frozen=True)
class Budget:
    """What one turn may use: steps, nesting of windows, distinct items, rounds, time in
    milliseconds, and tokens sent and written. `day`: steps of the agent in a tree in 24 hours."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int = TOKENS
    day: int = STEPS_A_DAY


BUDGETS: Final[dict[BudgetName, Budget]] = {
    "quick": Budget(20, 3, 15, 3, 60_000),
    "standard": Budget(100, 10, 50, 12, 300_000),
    "thorough": Budget(500, 20, 200, 40, 1_200_000),
}


# The budget of a turn, and what it has used.

Next = Literal["go on", "conclude", "end"]
HOURS_OF_A_DAY: Final = 24
BEYOND: Final = 20  # lines of a round that are read in addition to the steps of the turn
# Verbs that still run when the budget is used up.
ALWAYS: Final = frozenset({"help", "budget", "think"})


@dataclass(frozen=True)
class Spent:
    """What a turn has used. `depth` is the nesting depth of windows, including those of the next
    line; `rounds` counts finished ones; `steps_today` are the agent's in this tree."""

    steps: int = 0
    depth: int = 0
    items: int = 0
    rounds: int = 0
    milliseconds: int = 0
    tokens: int = 0
    steps_today: int = 0


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


def extended(budget: Budget, steps: int) -> Budget:
    """The budget with this many more steps, as granted after `budget extend`."""
    return replace(budget, steps=budget.steps + steps)


def what_is_over(budget: Budget, spent: Spent) -> str | None:
    """The sentence about the first part of the budget that is used up; None while lines may run. A
    number is used up when it reaches its limit; the depth only when it exceeds it, so that windows
    at the deepest level can still be used and closed.
    """
    if spent.steps_today >= budget.day:
        return f"All {budget.day:,} steps of this agent here in {HOURS_OF_A_DAY} hours are used."
    used = (
        ("steps", spent.steps, budget.steps),
        ("items", spent.items, budget.items),
        ("rounds", spent.rounds, budget.rounds),
        ("tokens", spent.tokens, budget.tokens),
    )
    for name, have, most in used:
        if have >= most:
            return f"All {most:,} {name} of this turn are used."
    if spent.milliseconds >= budget.milliseconds:
        return f"The time of this turn, {clock(budget.milliseconds)}, is over."
    if spent.depth > budget.depth:
        return f"Windows lie at most {budget.depth} deep in this turn."
    return None


def is_late(budget: Budget, spent: Spent) -> bool:
    """Whether the time of a turn is over."""
    return spent.milliseconds >= budget.milliseconds


def may_still_run(verb: str) -> bool:
    """Whether a verb runs even if the budget is used up."""
    return verb in ALWAYS


def refusal(budget: Budget, spent: Spent, verb: str) -> CommandError | None:
    """LIMIT_EXCEEDED for a line with this verb, or None if it may run."""
    over = what_is_over(budget, spent)
    if over is None or may_still_run(verb):
        return None
    return CommandError(
        "LIMIT_EXCEEDED",
        over,
        hint="write your answer now, without further commands; → budget shows what is left",
    )


def most_lines(budget: Budget) -> int:
    """How many lines of one round are read: lines that still run without a budget, and refused
    ones, need a limit too."""
    return min(budget.steps + BEYOND, MAX_COMMANDS)


def not_run(over: int, budget: Budget) -> str:
    """The message about the lines of a reply that were over the limit and not read."""
    return (
        f"! LIMIT_EXCEEDED: {over:,} lines more were not run. At most {most_lines(budget)} lines"
        " of a reply are: send the others in your next reply."
    )


def next_round(budget: Budget, spent: Spent, *, concluding: bool) -> Next:
    """What follows a round that asks for another one: a round, the last round that may only
    conclude, or, after that (`concluding`), the end."""
    if concluding:
        return "end"
    return "conclude" if what_is_over(budget, replace(spent, depth=0)) else "go on"


def shown(budget: Budget, spent: Spent) -> str:
    """`steps 6/100 · depth 2/10 · items 9/50 · rounds 1/12 · 0:21/5:00`, as STATUS and the page
    show it."""
    return " · ".join(
        (
            f"steps {spent.steps}/{budget.steps}",
            f"depth {spent.depth}/{budget.depth}",
            f"items {spent.items}/{budget.items}",
            f"rounds {spent.rounds}/{budget.rounds}",
            f"{clock(spent.milliseconds)}/{clock(budget.milliseconds)}",
        )
    )


def clock(milliseconds: int) -> str:
    """Elapsed minutes and seconds: `0:21`, `5:00`, `75:09`."""
    minutes, seconds = divmod(max(milliseconds, 0) // 1000, 60)
    return f"{minutes}:{seconds:02}"
