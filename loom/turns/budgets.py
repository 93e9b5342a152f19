"""The budget of a turn: what it has used, and what follows when it is used up. Pure."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from loom.errors import CommandError
from loom.language.batches import MAX_COMMANDS
from loom.participants.budgets import Budget, clock
from loom.text.tokens import thousands

# The budget of a turn, and what it has used.

Next = Literal["go on", "conclude", "end"]
HOURS_OF_A_DAY: Final = 24
BEYOND: Final = 20  # lines of a round that are read in addition to the steps of the turn
KEPT_COSTS: Final = 10  # tokens that the request before had too cost a tenth: providers cache them
MOST_TOKENS: Final = 1_000_000  # that one extension grants
WARNED_AT: Final = 80  # percent of a part of the budget


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


def extended(budget: Budget, steps: int, tokens: int = 0) -> Budget:
    """The budget with this many more steps and tokens, as granted after `budget extend`."""
    return replace(budget, steps=budget.steps + steps, tokens=budget.tokens + tokens)


def within(budget: Budget, spent: Spent, asking: Budget, asked: Spent) -> Budget:
    """The budget of a turn that an agent asked for: of each part at most what the turn has used
    and what is left of the `asking` one, which has used `asked`, this turn included."""
    left = {name: max(most - have, 0) for name, have, most in _used(asking, asked)}
    used = {name: have for name, have, _ in _used(budget, spent)}
    return replace(
        budget,
        steps=min(budget.steps, used["steps"] + left["steps"]),
        items=min(budget.items, used["items"] + left["items"]),
        rounds=min(budget.rounds, used["rounds"] + left["rounds"]),
        tokens=min(budget.tokens, used["tokens"] + left["tokens"]),
        milliseconds=min(budget.milliseconds, used["time"] + left["time"]),
    )


def with_asked(spent: Spent, asked: Spent) -> Spent:
    """What a turn has used, together with a turn that it asked for, which ran at the same time."""
    return replace(
        spent,
        steps=spent.steps + asked.steps,
        items=spent.items + asked.items,
        rounds=spent.rounds + asked.rounds,
        tokens=spent.tokens + asked.tokens,
    )


def cost(sent: int, kept: int, of: int) -> int:
    """How many tokens of the budget a request of `sent` tokens uses. Of its text, `kept` of `of`
    tokens at the beginning are those of the request before it, of which a tenth counts."""
    share = sent * min(kept, of) // of if of else 0
    return sent - share + share // KEPT_COSTS


def what_is_over(budget: Budget, spent: Spent) -> str | None:
    """The sentence about the first part of the budget that is used up; None while lines may run. A
    number is used up when it reaches its limit; the depth only when it exceeds it, so that windows
    at the deepest level can still be used and closed.
    """
    over = part_over(budget, spent)
    return sentence(over, budget) if over else None


def part_over(budget: Budget, spent: Spent) -> str:
    """The first part of the budget that is used up: `day`, `steps`, `items`, `rounds`, `tokens`,
    `time` or `depth`; "" for none."""
    if spent.steps_today >= budget.day:
        return "day"
    for name, have, most in _used(budget, spent):
        if have >= most:
            return name
    return "depth" if spent.depth > budget.depth else ""


def _used(budget: Budget, spent: Spent) -> tuple[tuple[str, int, int], ...]:
    """(name, used, allowed) of the parts of a budget that only grow."""
    return (
        ("steps", spent.steps, budget.steps),
        ("items", spent.items, budget.items),
        ("rounds", spent.rounds, budget.rounds),
        ("tokens", spent.tokens, budget.tokens),
        ("time", spent.milliseconds, budget.milliseconds),
    )


def sentence(part: str, budget: Budget) -> str:
    """Which part of the budget is used up, in words."""
    if part == "day":
        return f"All {budget.day:,} steps of this agent here in {HOURS_OF_A_DAY} hours are used."
    if part == "time":
        return f"The time of this turn, {clock(budget.milliseconds)}, is over."
    if part == "depth":
        return f"Windows lie at most {budget.depth} deep in this turn."
    return f"All {getattr(budget, part):,} {part} of this turn are used."


def warning(budget: Budget, spent: Spent) -> str:
    """The line that warns, once WARNED_AT percent of a part of the budget are used; else ""."""
    near = [
        f"{name} {clock(have)}/{clock(most)}"
        if name == "time"
        else f"{name} {thousands(have)}/{thousands(most)}"
        for name, have, most in _used(budget, spent)
        if have * 100 >= most * WARNED_AT
    ]
    if not near:
        return ""
    is_short = any(part.startswith("tokens") for part in near)
    more = ", or ask for more: → budget extend tokens:50000" if is_short else ""
    return f"! nearly used up: {', '.join(near)} · write your answer soon{more}"


def is_late(budget: Budget, spent: Spent) -> bool:
    """Whether the time of a turn is over."""
    return spent.milliseconds >= budget.milliseconds


def refusal(budget: Budget, spent: Spent, *, outlives_budget: bool) -> CommandError | None:
    """LIMIT_EXCEEDED for a line, or None if it may run, as one whose verb outlives the budget."""
    over = what_is_over(budget, spent)
    if over is None or outlives_budget:
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


def next_round(budget: Budget, spent: Spent, *, concluding: bool, ahead: int = 0) -> Next:
    """What follows a round that asks for another one: a round, the last round that may only
    conclude, or, after that (`concluding`), the end. A round that needs more tokens (about `ahead`)
    than are left is the last one, so that a turn uses at most one round more than its budget."""
    if concluding:
        return "end"
    then = replace(spent, depth=0, tokens=spent.tokens + ahead)
    return "conclude" if part_over(budget, then) else "go on"


def shown(budget: Budget, spent: Spent) -> str:
    """`steps 6/100 · depth 2/10 · items 9/50 · rounds 1/12 · tokens 12.4k/200k · 0:21/5:00`, as
    STATUS and the page show it."""
    return " · ".join(
        (
            f"steps {spent.steps}/{budget.steps}",
            f"depth {spent.depth}/{budget.depth}",
            f"items {spent.items}/{budget.items}",
            f"rounds {spent.rounds}/{budget.rounds}",
            f"tokens {thousands(spent.tokens)}/{thousands(budget.tokens)}",
            f"{clock(spent.milliseconds)}/{clock(budget.milliseconds)}",
        )
    )
