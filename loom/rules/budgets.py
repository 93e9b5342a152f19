"""What a turn may use: the presets of docs/model.md §7, what is used up, and what may still run
then.

Pure. Whoever runs turns keeps the figures; here it is only said what they mean.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from loom.grammar.batches import MAX_COMMANDS
from loom.rules.errors import CommandError

Preset = Literal["quick", "standard", "thorough"]
Next = Literal["go on", "conclude", "end"]

STEPS_A_DAY: Final = 1000  # of one agent in one tree, in 24 hours
HOURS_OF_A_DAY: Final = 24
TOKENS: Final = 100_000
BEYOND: Final = 20  # lines of a round beyond the steps of a turn
DEFAULT: Final[Preset] = "standard"
# What runs when everything is used up: to see what is left, and to think of an end.
ALWAYS: Final = frozenset({"help", "budget", "think"})


@dataclass(frozen=True)
class Budget:
    """What one turn may use: steps, nesting of windows, distinct items, rounds, time in
    milliseconds, and tokens sent and written."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int = TOKENS


PRESETS: Final[dict[Preset, Budget]] = {
    "quick": Budget(20, 3, 15, 3, 60_000),
    "standard": Budget(100, 10, 50, 12, 300_000),
    "thorough": Budget(500, 20, 200, 40, 1_200_000),
}


@dataclass(frozen=True)
class Spent:
    """What a turn has used. `depth` is how deep windows lie, or would with the next line;
    `rounds` counts those that ended; `steps_today` are the agent's in this tree."""

    steps: int = 0
    depth: int = 0
    items: int = 0
    rounds: int = 0
    milliseconds: int = 0
    tokens: int = 0
    steps_today: int = 0


def budget_of(preset: str) -> Budget:
    """The budget of a preset. Raises INVALID_SYNTAX for any other word."""
    for name, budget in PRESETS.items():
        if name == preset:
            return budget
    raise CommandError(
        "INVALID_SYNTAX",
        f"There is no budget {preset[:40]!r}.",
        hint=f"there are {', '.join(PRESETS)}",
    )


def extended(budget: Budget, steps: int) -> Budget:
    """The budget with so many steps more, as `budget extend` asks."""
    return replace(budget, steps=budget.steps + steps)


def what_is_over(budget: Budget, spent: Spent) -> str | None:
    """The sentence that says what is used up, the first of them; None while lines may run.

    A figure is used up when it reaches its limit; the depth only when it goes beyond, so
    that windows at the deepest level can still be used and closed.
    """
    if spent.steps_today >= STEPS_A_DAY:
        return f"All {STEPS_A_DAY:,} steps of this agent here in {HOURS_OF_A_DAY} hours are used."
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
    """Whether a verb runs though the budget is used up."""
    return verb in ALWAYS


def refusal(budget: Budget, spent: Spent, verb: str) -> CommandError | None:
    """LIMIT_EXCEEDED for a line with this verb, or None where it may run."""
    over = what_is_over(budget, spent)
    if over is None or may_still_run(verb):
        return None
    return CommandError(
        "LIMIT_EXCEEDED",
        over,
        hint="write your answer now, without further commands; → budget shows what is left",
    )


def most_lines(budget: Budget) -> int:
    """How many lines of one round are looked at: what may still run when all is used up, and
    what is refused, has an end too."""
    return min(budget.steps + BEYOND, MAX_COMMANDS)


def not_run(over: int, budget: Budget) -> str:
    """What an agent reads of the lines of its reply that were more than are looked at."""
    return (
        f"! LIMIT_EXCEEDED: {over:,} lines more were not run. At most {most_lines(budget)} lines"
        " of a reply are: send the others in your next reply."
    )


def next_round(budget: Budget, spent: Spent, *, concluding: bool) -> Next:
    """What follows a round that asks for another one: a round, the one last round that may
    only conclude, or, after that (`concluding`), the end."""
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
    """Minutes and seconds that are over: `0:21`, `5:00`, `75:09`."""
    minutes, seconds = divmod(max(milliseconds, 0) // 1000, 60)
    return f"{minutes}:{seconds:02}"
