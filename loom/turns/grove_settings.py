"""The settings of a grove about turns, their budgets, and summaries. Pure."""

from collections.abc import Mapping
from typing import Any

from loom.participants.budgets import BUDGETS, STEPS_A_DAY, Budget, budget_of
from loom.people.grove_settings import Setting, add_settings, number, number_of
from loom.people.grove_settings import translated_in_pages as _


def _of_budget(of: str, budget: Budget) -> list[Setting]:
    seconds = budget.milliseconds // 1000
    return [
        number(f"{of}_steps", budget.steps, _("lines of a turn"), 1, 100_000, of=of),
        number(f"{of}_depth", budget.depth, _("nested windows of a turn"), 1, 100, of=of),
        number(f"{of}_items", budget.items, _("different items of a turn"), 1, 100_000, of=of),
        number(f"{of}_rounds", budget.rounds, _("rounds of a turn"), 1, 1_000, of=of),
        number(f"{of}_seconds", seconds, _("seconds of a turn"), 1, 86_400, of=of),
        number(f"{of}_tokens", budget.tokens, _("tokens of a turn"), 1_000, 100_000_000, of=of),
    ]


add_settings(
    Setting(
        "summary_model",
        "string",
        "",
        "the id of the model that makes summaries; empty: the first with a key; none: no summaries",
    ),
    number("summary_words", 30, _("words up to which a text is its own summary"), 1, 1_000),
    number("summary_tokens", 50, _("tokens of the summary of a node"), 8, 2_000),
    number("tree_summary_tokens", 120, _("tokens of the summary of a tree or document"), 8, 4_000),
    number(
        "tree_summary_every",
        10,
        _("new nodes after which the summary of a tree is updated"),
        1,
        1000,
    ),
    number("continue_max", 10, _("maximum number of continuations per line"), 1, 10),
    number("ask_depth", 1, _("turns in a row in which agents ask one another"), 1, 3),
    number(
        "steps_a_day",
        STEPS_A_DAY,
        _("steps of an agent in a tree in 24 hours"),
        1,
        10**6,
    ),
    *(setting for name, budget in BUDGETS.items() for setting in _of_budget(name, budget)),
)


def budget_in(preset: str, settings: Mapping[str, Any]) -> Budget:
    """The budget of a preset in a grove with these settings. Raises INVALID_SYNTAX for an unknown
    preset."""
    budget_of(preset)
    return Budget(
        steps=number_of(settings, f"{preset}_steps"),
        depth=number_of(settings, f"{preset}_depth"),
        items=number_of(settings, f"{preset}_items"),
        rounds=number_of(settings, f"{preset}_rounds"),
        milliseconds=number_of(settings, f"{preset}_seconds") * 1000,
        tokens=number_of(settings, f"{preset}_tokens"),
        day=number_of(settings, "steps_a_day"),
    )
