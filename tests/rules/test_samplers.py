"""The names, bounds and spellings of samplers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.errors import CommandError
from loom.participants.provider_kinds import (
    SAMPLERS_BY_NAME,
    checked_samplers,
    read_samplers,
    samplers_of,
    samplers_written,
)

NUMBERS = st.fixed_dictionaries(
    {},
    optional={
        sampler.name: st.integers(int(sampler.lowest), int(sampler.highest))
        if sampler.is_whole
        else st.floats(sampler.lowest, sampler.highest)
        for sampler in SAMPLERS_BY_NAME.values()
    },
)
OTHERS = st.fixed_dictionaries(
    {},
    optional={
        "stop": st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=4),
        "grammar": st.text(min_size=1, max_size=40).filter(lambda text: "\0" not in text),
        "logit_bias": st.dictionaries(
            st.integers(0, 99999).map(str), st.floats(-100, 100), min_size=1, max_size=3
        ),
    },
)


@given(NUMBERS, OTHERS)
def test_what_is_written_is_read_again(
    numbers: dict[str, object], others: dict[str, object]
) -> None:
    settings = checked_samplers({**numbers, **others})
    assert read_samplers(samplers_written(settings)) == settings


@pytest.mark.parametrize(
    "given",
    [
        *("top_p=2", "top_k=1.5", "seed=-1", "nothing=1", "top_p", "top_p=x", "top_p=nan"),
        "top_p=0.1 top_p=0.2",
        *('{"stop": [""]}', '{"stop": 1}', '{"logit_bias": {"a": 1}}', '{"grammar": 1}'),
        *('{"logit_bias": {"1": 101}}', "{", '{"top_p": true}', '{"top_p": "0.5"}'),
    ],
)
def test_what_no_request_could_carry_is_refused_with_a_sentence(given: str) -> None:
    with pytest.raises(CommandError) as refused:
        read_samplers(given)
    assert refused.value.code == "INVALID_SYNTAX" and refused.value.hint


def test_what_the_probe_found_goes_before_what_is_documented() -> None:
    assert "seed" in samplers_of("openai:gpt-4o", {})
    assert samplers_of("custom:m", {}) == {"stop"}
    probed = {"chat": True, "top_k": True, "seed": False, "grammar": True}
    assert samplers_of("openai:gpt-4o", probed) == {"top_k", "stop", "grammar"}
