"""Unified diffs: what they say leads from one text to the other, and takes no square of steps."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.text.unified_diff import unified_diff
from tests.steps import steps

LINES = st.lists(st.sampled_from("abcdef"), max_size=30)
SEVERAL = LINES.flatmap(
    lambda lines: st.tuples(
        st.just(lines),
        st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["", "x", "y"])), max_size=4).map(
            lambda edits: _edited(lines, edits)
        ),
    )
)


def _edited(lines: list[str], edits: list[tuple[int, str]]) -> list[str]:
    new = list(lines)
    for at, line in edits:
        new[at : at + (not line)] = [line] if line else []
    return new


@given(SEVERAL, st.integers(0, 3))
def test_short_texts_have_the_diff_of_difflib(texts: tuple[list[str], list[str]], n: int) -> None:
    expected = difflib.unified_diff(*texts, "a7x2", "b3k9", lineterm="", n=n)
    assert list(unified_diff(*texts, ("a7x2", "b3k9"), around=n)) == list(expected)


@given(st.lists(st.integers(0, 9), max_size=90), st.lists(st.integers(0, 9), max_size=90))
def test_a_diff_with_every_line_holds_both_texts(before: list[int], after: list[int]) -> None:
    old, new = [str(line) for line in before], [str(line) for line in after]
    if old == new:
        assert list(unified_diff(old, new)) == []
        return
    lines = list(unified_diff(old, new, around=90))[3:]
    assert [line[1:] for line in lines if line[0] in " -"] == old
    assert [line[1:] for line in lines if line[0] in " +"] == new


@pytest.mark.parametrize("between", ["", "the same", "{}"])
def test_twice_the_lines_take_twice_the_steps(between: str) -> None:
    def work(many: int) -> int:
        old = [words for n in range(many) for words in (f"a{n}", between.format(n))]
        new = [words for n in range(many) for words in (between.format(n), f"b{n}")]
        return steps(lambda: list(unified_diff(old, new)))

    assert work(1600) < 2.8 * work(800)
