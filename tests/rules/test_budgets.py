"""What a turn may use, as docs/model.md §7 says it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.engine import registry
from loom.errors import CommandError
from loom.participants.budgets import BUDGETS, Budget, budget_of, clock
from loom.turns.budgets import (
    Spent,
    cost,
    extended,
    next_round,
    refusal,
    shown,
    warning,
    what_is_over,
)

STANDARD = BUDGETS["standard"]


@pytest.mark.parametrize(
    ("preset", "figures"),
    [
        ("quick", (20, 3, 15, 3, 60_000, 100_000)),
        ("standard", (100, 10, 50, 12, 300_000, 200_000)),
        ("thorough", (500, 20, 200, 40, 1_200_000, 500_000)),
    ],
)
def test_presets_are_those_of_the_model(preset: str, figures: tuple[int, ...]) -> None:
    budget = budget_of(preset)
    assert (
        budget.steps,
        budget.depth,
        budget.items,
        budget.rounds,
        budget.milliseconds,
        budget.tokens,
    ) == figures


def test_another_preset_is_refused_with_those_there_are() -> None:
    with pytest.raises(CommandError) as refused:
        budget_of("endless")
    assert refused.value.code == "INVALID_SYNTAX"
    assert refused.value.hint == "there are quick, standard, thorough"


@pytest.mark.parametrize(
    ("spent", "word"),
    [
        (Spent(steps=100), "100 steps"),
        (Spent(items=50), "50 items"),
        (Spent(rounds=12), "12 rounds"),
        (Spent(tokens=200_000), "200,000 tokens"),
        (Spent(milliseconds=300_000), "5:00"),
        (Spent(depth=11), "10 deep"),
        (Spent(steps_today=1000), "1,000 steps"),
    ],
)
def test_each_figure_ends_the_budget(spent: Spent, word: str) -> None:
    over = what_is_over(STANDARD, spent)
    assert over is not None
    assert word in over


def test_just_below_every_limit_nothing_is_over() -> None:
    spent = Spent(99, 10, 49, 11, 299_999, 199_999, 999)
    assert what_is_over(STANDARD, spent) is None
    assert next_round(STANDARD, spent, concluding=False) == "go on"


def test_the_hundred_and_first_line_is_refused() -> None:
    refused = refusal(STANDARD, Spent(steps=100), outlives_budget=False)
    assert refused is not None
    assert refused.code == "LIMIT_EXCEEDED"
    assert refused.hint
    assert refusal(STANDARD, Spent(steps=99), outlives_budget=False) is None


@pytest.mark.parametrize("verb", ["help", "budget", "think"])
def test_some_verbs_run_though_all_is_used(verb: str) -> None:
    assert registry.find(verb).facts.outlives_budget
    assert refusal(STANDARD, Spent(steps=10_000), outlives_budget=True) is None


def test_there_is_one_last_round_and_no_other() -> None:
    used = Spent(rounds=12)
    assert next_round(STANDARD, used, concluding=False) == "conclude"
    assert next_round(STANDARD, used, concluding=True) == "end"
    assert next_round(STANDARD, Spent(), concluding=True) == "end"


def test_windows_too_deep_refuse_a_line_but_do_not_end_the_turn() -> None:
    deep = Spent(depth=11)
    assert refusal(STANDARD, deep, outlives_budget=False) is not None
    assert next_round(STANDARD, deep, concluding=False) == "go on"


def test_the_status_line_has_the_form_of_the_model() -> None:
    spent = Spent(steps=6, depth=2, items=9, milliseconds=21_400, tokens=12_400)
    assert shown(STANDARD, spent) == (
        "steps 6/100 · depth 2/10 · items 9/50 · rounds 0/12 · tokens 12.4k/200k · 0:21/5:00"
    )
    assert clock(4_509_000) == "75:09"


def test_four_fifths_of_a_part_are_warned_of() -> None:
    assert warning(STANDARD, Spent(79, 10, 39, 9, 239_999, 159_999)) == ""
    assert warning(STANDARD, Spent(rounds=10, tokens=164_000)) == (
        "! nearly used up: rounds 10/12, tokens 164k/200k · write your answer soon, or ask for"
        " more: → budget extend tokens:50000"
    )
    assert "time 4:00/5:00 · write your answer soon" in warning(
        STANDARD, Spent(milliseconds=240_000)
    )


def test_what_the_request_before_held_counts_a_tenth() -> None:
    assert cost(10_000, 0, 10_000) == 10_000
    assert cost(10_000, 9_000, 10_000) == 1_900
    # The provider counts other tokens than the estimate: the share is the same.
    assert cost(8_000, 9_000, 10_000) == 1_520
    assert cost(10_000, 12_000, 10_000) == 1_000 and cost(500, 0, 0) == 500


def test_a_round_that_needs_more_tokens_than_are_left_is_the_last() -> None:
    used = Spent(tokens=195_000)
    assert next_round(STANDARD, used, concluding=False, ahead=4_000) == "go on"
    assert next_round(STANDARD, used, concluding=False, ahead=5_000) == "conclude"


def test_tokens_may_be_added() -> None:
    more = extended(STANDARD, 0, 50_000)
    assert refusal(more, Spent(tokens=249_999), outlives_budget=False) is None
    assert refusal(more, Spent(tokens=250_000), outlives_budget=False) is not None


def test_steps_may_be_added() -> None:
    more = extended(STANDARD, 20)
    assert refusal(more, Spent(steps=119), outlives_budget=False) is None
    assert refusal(more, Spent(steps=120), outlives_budget=False) is not None


figures = st.integers(0, 2_000)
spents = st.builds(Spent, figures, figures, figures, figures, figures, figures, figures)


@given(spent=spents, name=st.sampled_from(["steps", "items", "rounds", "tokens", "milliseconds"]))
def test_what_is_over_stays_over(spent: Spent, name: str) -> None:
    budget = Budget(100, 20_000, 100, 100, 1_000, 1_000)
    more = replace(spent, **{name: getattr(spent, name) + 1})
    assert what_is_over(budget, spent) is None or what_is_over(budget, more) is not None
