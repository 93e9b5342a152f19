"""Lines of a text, followed through changes of it."""

from hypothesis import given
from hypothesis import strategies as st

from loom.workspace.window_rules import Lines, changes, followed, rows_of, to_evict

TEXTS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=12).map("\n".join)


@given(TEXTS, TEXTS)
def test_the_changes_of_a_text_make_the_new_one(old: str, new: str) -> None:
    one, two = old.split("\n"), new.split("\n")
    lines: list[str] = []
    at = 0
    for span in changes(old, new):
        lines += one[at : span.first - 1]
        lines += two[len(lines) : len(lines) + span.now]
        at = span.last
    assert [*lines, *one[at:]] == two


@given(TEXTS, TEXTS, st.integers(1, 12), st.integers(0, 5), st.integers(0, 5))
def test_ranges_without_a_common_line_have_none_afterwards(
    old: str, new: str, first: int, more: int, gap: int
) -> None:
    one = Lines(first, first + more)
    two = Lines(one.last + 1 + gap, one.last + 2 + gap)
    moved = [followed(old, new, lines) for lines in (one, two)]
    assert moved[0].last < moved[1].first
    assert followed(old, old, one) == one


def test_lines_move_with_what_is_above_and_grow_with_what_is_between() -> None:
    old = "a\nb\nc\nd\ne\nf"
    assert followed(old, "x\ny\n" + old, Lines(2, 4)) == Lines(4, 6)
    assert followed(old, old + "\nx", Lines(5, 6)) == Lines(5, 6)
    assert followed(old, old.replace("c", "x\ny"), Lines(2, 4)) == Lines(2, 5)
    assert followed(old, "x\n" + old.replace("\nd", "") + "\ny", Lines(3, 5)) == Lines(4, 5)
    gone = followed(old, "a\nf", Lines(3, 4))
    assert gone.last < gone.first


def test_lines_around_are_not_owned() -> None:
    rows = rows_of("a\nb\nc\nd", Lines(2, 2), 1)
    assert [(row.number, row.is_around) for row in rows] == [(1, True), (2, False), (3, True)]


def test_what_was_shown_longest_ago_goes_first() -> None:
    assert to_evict([(3, 10), (1, 10), (2, 10)], 20) == [3]
    assert to_evict([(3, 10), (1, 10), (2, 30)], 20) == [3, 1]
    assert to_evict([(3, 10)], 20) == []
