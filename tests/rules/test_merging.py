"""Texts are merged by words, or not at all."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.text.changes import difference, merged
from tests.steps import steps

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", " ", "\n", ", ", "🙂"]), max_size=12).map(
    "".join
)


@given(TEXTS, TEXTS)
def test_what_only_one_changed_is_theirs(base: str, other: str) -> None:
    assert merged(base, other, base) == other
    assert merged(base, base, other) == other
    assert merged(base, other, other) == other


@given(TEXTS, TEXTS, TEXTS)
def test_the_order_of_the_two_does_not_matter(base: str, one: str, two: str) -> None:
    assert merged(base, one, two) == merged(base, two, one)


@given(TEXTS, TEXTS)
def test_a_difference_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    parts = difference(old, new)
    assert parts is not None
    assert "".join(part[0] for part in parts) == old
    assert "".join(part[1] for part in parts) == new


@pytest.mark.parametrize(
    ("base", "one", "two", "expected"),
    [
        ("The old house stood.", "The house stood.", "The old house fell.", "The house fell."),
        ("a b c", "x b c", "a b y", "x b y"),
        ("a b c", "a b c d", "z a b c", "z a b c d"),
        ("a b c", "a x c", "a y c", None),
        ("a b", "a q b", "a r b", None),
        ("one two three", "", "one two four", None),
    ],
)
def test_passages_that_both_changed_are_left_to_people(
    base: str, one: str, two: str, expected: str | None
) -> None:
    assert merged(base, one, two) == expected


def test_twice_the_words_take_twice_the_steps_to_compare_and_to_merge() -> None:
    """Every second piece is the same blank: pairs of equal pieces are the square of the words."""

    def work(function: Callable[[str, str], object], many: int) -> int:
        words, signs = " ".join(f"w{number}" for number in range(many)), ". , ; : " * (many // 4)
        return steps(lambda: function(words, signs))

    for function in (difference, lambda old, new: merged(old, f"{old} end", new)):
        assert work(function, 1600) < 2.8 * work(function, 800)
