"""The sections of a document: their ids stay, and finding them takes time in proportion."""

from difflib import SequenceMatcher
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.documents.rules import (
    MOST_EMBEDS,
    MOST_SECTIONS,
    Section,
    left_out,
    lines_of,
    moved_section,
    removed_section,
    sections_of,
    spans_of,
)
from loom.language.refs import ParseError
from loom.text.edits import FEW, difference, edited, line_difference, stayed
from tests.steps import Scanned, scanned, steps

WORDS = st.sampled_from(["Motive", "Doubt", "Notes", "Means", "End"])
HEADING = st.tuples(st.integers(1, 3), WORDS)
SMALL = st.lists(HEADING, max_size=FEW)


def _text(headings: list[tuple[int, str]]) -> str:
    return "\n\n".join(f"{'#' * level} {words}\n\nText.\n" for level, words in headings)


def _kept_before(now: list[tuple[int, str]], before: list[Section]) -> list[str]:
    """The ids as they were kept while every heading was compared with every other."""
    old = [(section.level, section.text) for section in before]
    ids = [""] * len(now)
    left = set(range(len(old)))
    loose = []
    for tag, a, b, c, d in SequenceMatcher(None, old, now, autojunk=False).get_opcodes():
        if tag == "equal":
            for was, place in zip(range(a, b), range(c, d), strict=True):
                ids[place] = before[was].id
                left.discard(was)
        elif tag == "replace":
            loose.append((range(a, b), range(c, d)))
    for place, heading in enumerate(now):
        same = [was for was in sorted(left) if old[was][1] == heading[1]]
        if not ids[place] and same:
            ids[place] = before[same[0]].id
            left.discard(same[0])
    for were, places in loose:
        free = [place for place in places if not ids[place]]
        for was, place in zip(
            [section_id for section_id in were if section_id in left], free, strict=False
        ):
            ids[place] = before[was].id
            left.discard(was)
    return ids


def _agrees(before: list[tuple[int, str]], after: list[tuple[int, str]]) -> None:
    old = sections_of(_text(before))
    now = sections_of(_text(after), old)
    for section, was in zip(now, _kept_before(after, old), strict=True):
        assert section.id == was or (not was and section.id not in {section.id for section in old})
    assert len({section.id for section in now}) == len(now)


@given(SMALL, SMALL)
def test_the_ids_of_a_small_document_stay_as_they_always_did(
    before: list[tuple[int, str]], after: list[tuple[int, str]]
) -> None:
    _agrees(before, after)


@given(SMALL, st.integers(0, FEW), st.integers(0, FEW), st.booleans())
def test_a_section_is_moved_and_removed_as_a_whole(
    headings: list[tuple[int, str]], place: int, goal: int, is_after: bool
) -> None:
    text = _text(headings)
    sections = sections_of(text)
    if max(place, goal) >= len(sections):
        return
    (first, last), goal_lines = spans_of(text, sections)[place], spans_of(text, sections)[goal]
    lines = text.split("\n")
    own, others = lines[first - 1 : last], [*lines[: first - 1], *lines[last:]]
    removed = edited(text, removed_section(text, sections, sections[place].id))
    assert removed.split() == " ".join(others).split()
    if first <= goal_lines[0] <= last:
        with pytest.raises(ParseError):
            moved_section(
                text, sections, sections[place].id, to=sections[goal].id, is_after=is_after
            )
        return
    edits = moved_section(
        text, sections, sections[place].id, to=sections[goal].id, is_after=is_after
    )
    at = goal_lines[1] if is_after else goal_lines[0] - 1
    before = [line for number, line in enumerate(lines[:at], 1) if not first <= number <= last]
    after = [line for number, line in enumerate(lines[at:], at + 1) if not first <= number <= last]
    moved = edited(text, edits)
    assert moved.split() == " ".join([*before, *own, *after]).split()
    assert len(sections_of(moved)) == len(sections)


MANY = [(1 + number % 3, f"Heading {number}") for number in range(3 * FEW)]
PLACE = st.integers(0, len(MANY) - 1)


@given(PLACE, PLACE, st.sampled_from(["insert", "delete", "reword", "move"]))
def test_a_long_document_keeps_ids_through_one_change(place: int, to: int, what: str) -> None:
    after = list(MANY)
    if what == "insert":
        after.insert(place, (1, "New"))
    elif what == "reword":
        after[place] = (after[place][0], "New")
    else:
        taken = after.pop(place)
        if what == "move":
            after.insert(to, taken)
    _agrees(MANY, after)


@given(PLACE, PLACE)
def test_a_heading_that_is_repeated_loses_no_id(place: int, to: int) -> None:
    old = sections_of(_text(MANY))
    after = sections_of(_text([*MANY[:to], MANY[place], *MANY[to:]]), old)
    assert {section.id for section in old} < {section.id for section in after}


@given(st.lists(HEADING, min_size=FEW, max_size=90), st.data())
def test_a_chapter_that_goes_takes_only_its_own_ids_along(
    chapters: list[tuple[int, str]], data: st.DataObject
) -> None:
    before = [
        heading
        for number, (_, words) in enumerate(chapters)
        for heading in ((1, f"Chapter {number}"), (2, words))
    ]
    gone = data.draw(st.integers(0, len(chapters) - 1))
    old = sections_of(_text(before))
    after = before[: 2 * gone] + before[2 * gone + 2 :]
    left = [section.id for number, section in enumerate(old) if number // 2 != gone]
    assert [section.id for section in sections_of(_text(after), old)] == left


@given(st.lists(st.integers(0, 9), max_size=80), st.lists(st.integers(0, 9), max_size=80))
def test_what_stayed_is_equal_and_in_order(old: list[int], new: list[int]) -> None:
    for few in (0, 4, FEW):
        pairs = stayed(old, new, few=few)
        assert all(old[a] == new[b] for a, b in pairs)
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@pytest.mark.parametrize("words", ["h", "h {}"])
@pytest.mark.parametrize("change", ["end", "start", "middle"])
def test_twice_the_headings_take_twice_the_steps(words: str, change: str) -> None:
    def work(many: int) -> int:
        headings = [(1, words.format(number)) for number in range(many)]
        old = sections_of(_text(headings))
        at = {"end": many, "start": 0, "middle": many // 2}[change]
        text = _text([*headings[:at], (1, "a"), (2, "b"), *headings[at:]])
        return steps(lambda: sections_of(text, old))

    assert work(800) < 2.5 * work(400)


def test_ids_in_the_worst_order_take_no_square_of_steps() -> None:
    def work(many: int) -> int:
        headings = [(1, f"h {number}") for number in range(many)]
        old = sections_of(_text(headings))
        text = _text([(2, words) for _, words in headings[::-1]])
        return steps(lambda: sections_of(text, old))

    assert work(800) < 2.8 * work(400)


def test_headings_above_the_bound_are_text_and_this_is_reported() -> None:
    text = "# h\n" * (MOST_SECTIONS + 1)
    sections = sections_of(text)
    assert len(sections) == MOST_SECTIONS == len({section.id for section in sections})
    assert spans_of(text, sections)[-1] == (MOST_SECTIONS, MOST_SECTIONS + 1)  # with what follows
    assert "2,000 headings" in left_out(text)[0]
    assert left_out("# h\n" * MOST_SECTIONS) == []
    assert "100 embeds" in left_out("![[a7x2]]\n" * (MOST_EMBEDS + 1))[0]


def test_a_million_headings_are_not_all_looked_at() -> None:
    few, many = "# h\n" * 10_000, "# h\n" * 1_000_000
    assert steps(lambda: sections_of(many)) < 1.2 * steps(lambda: sections_of(few))


@given(SMALL)
def test_the_lines_of_all_sections_are_those_of_each(headings: list[tuple[int, str]]) -> None:
    text = _text(headings)
    sections = sections_of(text)
    assert spans_of(text, sections) == [lines_of(text, sections, section) for section in sections]


def test_the_lines_of_all_sections_are_found_in_one_pass() -> None:
    def work(many: int) -> tuple[int, int]:
        text = Scanned("# h\n\n" * many)
        sections = sections_of(str(text))
        return steps(lambda: spans_of(text, sections)), scanned(lambda: spans_of(text, sections))

    (few, scanned_few), (many, scanned_many) = work(400), work(800)
    assert many < 2.5 * few and scanned_many < 2.5 * scanned_few


LINES = st.lists(st.sampled_from(["", "a", "b b", "c é 👩‍🚀", "a a a"]), max_size=40)


@given(LINES, LINES)
def test_a_difference_makes_one_text_from_the_other(one: list[str], two: list[str]) -> None:
    before, after = "\n".join(one), "\n".join(two)
    assert edited(before, line_difference(before, after)) == after
    assert edited(before, difference(before, after)) == after


def test_differences_of_equal_words_take_no_square_of_steps() -> None:
    def work(many: int) -> int:
        before, after = "x" + "a b " * many + "y", "z" + "b a " * many + "w"
        return steps(lambda: difference(before, after))

    assert work(4000) < 10 * work(400)
