"""What tokens cost, exactly."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from subprocess import run

import pytest

from loom.participants.prices import (
    Prices,
    TokenCounts,
    cached_from,
    counts_of,
    dollars,
    listed,
    prices_named,
)
from loom.people.models import Participant
from tests.patience import PATIENCE_S

TABLE = "model_prices_and_context_window_backup.json"


def test_what_is_cached_and_kept_has_its_own_price() -> None:
    prices = Prices(3, 15, 0.3, 3.75)
    assert prices.of(TokenCounts(read=1000, wrote=10, cached=600, kept=300)) == (
        100 * 3000 + 600 * 300 + 300 * 3750 + 10 * 15000
    )
    assert Prices(3, 15).of(TokenCounts(10, 0, 5, 5)) == 10 * 3000


def test_a_fraction_of_a_billionth_is_rounded_up() -> None:
    assert Prices(0.0001, 0).reading(1) == 1
    assert Prices(0.075, 0).reading(1) == 75


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, TokenCounts(7, 3)),
        (
            {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}},
            TokenCounts(7, 0, 4),
        ),
        (
            {
                "input_tokens": 1,
                "output_tokens": 2,
                "cache_read_input_tokens": 10,
                "cache_creation_input_tokens": 5,
            },
            TokenCounts(16, 2, 10, 5),
        ),
        (
            {
                "input_tokens": 1000,
                "input_tokens_details": {"cached_tokens": 900},
                "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 4},
                "total_tokens": 1010,
            },
            TokenCounts(1000, 10, 900),
        ),
        (  # the provider counts what was thought in the total alone
            {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "completion_tokens_details": {"reasoning_tokens": 5000},
                "total_tokens": 5110,
            },
            TokenCounts(100, 5010),
        ),
        ({"prompt_tokens": "7", "completion_tokens": -3}, TokenCounts()),
        ({}, TokenCounts()),
    ],
)
def test_each_way_to_tell_usage_is_read(usage: dict[str, object], counts: TokenCounts) -> None:
    assert counts_of(usage) == counts


def test_another_model_of_the_provider_has_its_own_price() -> None:
    model = Participant(model_ref="openai:own", prices={"input": 1, "output": 2})
    assert prices_named(model, "gpt-4o-mini") == listed("openai:gpt-4o-mini", "")
    assert prices_named(model, "own") == prices_named(model, "unheard-of") == Prices(1, 2)
    assert prices_named(model, "") == Prices(1, 2)
    model.base_url = "https://models.example/v1"  # where other prices apply
    assert prices_named(model, "gpt-4o-mini") == Prices(1, 2)
    model.prices = {"input": 1}
    assert prices_named(model, "gpt-4o-mini") is None


def test_the_tables_prices_hold_at_the_provider_only() -> None:
    known = listed("openai:gpt-4o-mini", "")
    assert known == Prices(0.15, 0.6, 0.075)
    assert listed("openai:gpt-4o-mini", "https://api.openai.com/v1") == known
    assert listed("litellm:openai/gpt-4o-mini", "") == known
    assert listed("openai:gpt-4o-mini", "http://127.0.0.1:8080/v1") is None
    assert listed("local:smollm2", "") is None
    assert cached_from("anthropic:claude-sonnet-4-5") == 1024
    assert cached_from("local:smollm2") is None


def test_the_listed_prices_are_those_of_litellm_which_is_not_imported() -> None:
    script = """
import json, sys
from dataclasses import astuple
from loom.participants.prices import listed
found = {ref: astuple(listed(ref, "")) for ref in sys.argv[1:]}
assert "litellm" not in sys.modules
print(json.dumps(found))
"""
    names = {
        "openai:gpt-4o": "gpt-4o",
        "anthropic:claude-sonnet-4-5": "claude-sonnet-4-5",
        "mistral:mistral-large-latest": "mistral/mistral-large-latest",
    }
    command = [sys.executable, "-c", script, *names]
    done = run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
    costs_by_ref = json.loads(done.stdout or "{}")
    assert costs_by_ref.keys() == names.keys(), done.stderr
    # Its own table, as it reads it itself; its import takes five seconds.
    package = find_spec("litellm")
    assert package is not None and package.submodule_search_locations
    table = Path(package.submodule_search_locations[0], TABLE)
    costs = json.loads(table.read_text())
    for ref, name in names.items():
        cost = costs[name]
        known = [cost["input_cost_per_token"], cost["output_cost_per_token"]]
        assert cost["litellm_provider"] == ref.partition(":")[0]
        assert [round(price * 1e6, 6) for price in known] == costs_by_ref[ref][:2], (ref, known)


@pytest.mark.parametrize(
    ("nano", "shown"),
    [
        (0, "$0.00"),
        (1, "under $0.000001"),
        (12_345, "$0.000012"),
        (12_345_678, "$0.012"),
        (123_456_789, "$0.12"),
        (999_999_999, "$1.00"),
        (1_234_567_890_000, "$1,234.57"),
    ],
)
def test_amounts_are_read_with_two_figures(nano: int, shown: str) -> None:
    assert dollars(nano) == shown
