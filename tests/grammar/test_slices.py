"""Slices of texts: what they show, and the three laws of lenses."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.language.refs import ParseError, Slice
from loom.language.slices import get, placed, put
from tests.thorough import tries

DOCUMENT = """# Story

first words

## Motive

why she went,
and when

### Older

long ago

## Ending

```
## no heading
```
done
"""
TEXT = "one\ntwo\nthree\n\nfour"


def lines(first: int, last: int) -> Slice:
    """`lines:first-last`."""
    return Slice("lines", first, last)


def section(name: str) -> Slice:
    """`§name`."""
    return Slice("section", name=name)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (lines(2, 3), "two\nthree"),
        (lines(1, 1), "one"),
        (Slice("para", 1, 1), "one\ntwo\nthree"),
        (Slice("para", 2, 2), "four"),
        (Slice("para", 1, 2), TEXT),
        (Slice("part", 1, 1), TEXT),
        (Slice("head", last=2), "one\ntwo"),
        (Slice("head", last=99), TEXT),
        (Slice("tail", last=2), "\nfour"),
    ],
)
def test_a_slice_shows_its_lines(part: Slice, text: str) -> None:
    cut = get(TEXT, part)
    assert (cut.text, cut.clipped) == (text, "")
    assert cut.shown == text


def test_both_ends_are_counted() -> None:
    cut = get("\n".join(str(number) for number in range(1, 200)), lines(107, 115))
    assert cut.text.split("\n") == [str(number) for number in range(107, 116)]
    assert (cut.first, cut.last) == (107, 115)


def test_past_the_end_is_clipped_and_said() -> None:
    assert get(TEXT, lines(4, 60)).shown == "\nfour\n(clipped: there are 5 lines)"
    assert get(TEXT, lines(50, 60)).shown == "(clipped: there are 5 lines)"
    assert get("one\n", lines(1, 9)).shown == "one\n(clipped: there is 1 line)"
    assert get(TEXT, Slice("para", 2, 7)).shown == "four\n(clipped: there are 2 paragraphs)"
    assert get(TEXT, Slice("part", 2, 2)).shown == "(clipped: there is 1 part)"


def test_a_hundred_lines_are_a_part() -> None:
    text = "\n".join(str(number) for number in range(1, 251)) + "\n"
    assert get(text, Slice("part", 3, 3)).text.split("\n") == [str(n) for n in range(201, 251)]
    assert get(text, Slice("part", 1, 2)).last == 200


@pytest.mark.parametrize("name", ["Motive", "motive", "MOTIVE"])
def test_a_section_goes_to_the_next_heading_of_its_level(name: str) -> None:
    cut = get(DOCUMENT, section(name))
    assert cut.text.startswith("## Motive\n")
    assert cut.text.endswith("long ago")
    assert (cut.first, cut.last) == (5, 12)


def test_headings_inside_fences_are_text() -> None:
    assert get(DOCUMENT, section("ending")).text.endswith("done")
    with pytest.raises(ParseError) as caught:
        get(DOCUMENT, section("no heading"))
    assert caught.value.code == "NOT_FOUND"
    assert "§motive" in caught.value.hint


def test_two_sections_of_a_name_are_told_apart_by_their_ids() -> None:
    text = "# A b\n1\n# a  B #\n2\n# A-b-1\n3"
    with pytest.raises(ParseError) as caught:
        get(text, section("a b"))
    assert (caught.value.code, caught.value.hint) == ("INVALID_SYNTAX", "write §a-b-2 or §a-b-3")
    assert get(text, section("a-b-3")).text == "# a  B #\n2"
    assert get(text, section("a-b-1")).text == "# A-b-1\n3"


def test_head_and_tail_are_read_only() -> None:
    for part in (Slice("head", last=2), Slice("tail", last=2)):
        with pytest.raises(ParseError) as caught:
            put(TEXT, part, "x")
        assert caught.value.code == "REJECTED"


def test_nothing_is_put_past_the_end() -> None:
    for part in (lines(6, 9), Slice("para", 3, 3), Slice("part", 2, 2)):
        with pytest.raises(ParseError) as caught:
            put(TEXT, part, "x")
        assert caught.value.code == "NOT_FOUND"


def test_a_put_of_other_length_returns_its_new_lines() -> None:
    after = placed(TEXT, lines(2, 2), "2a\n2b\n2c")
    assert after.text == "one\n2a\n2b\n2c\nthree\n\nfour"
    assert after.slice == lines(2, 4)
    assert placed(DOCUMENT, section("Older"), "### Older\nnew").slice == section("Older")
    assert placed(DOCUMENT, section("Older"), "### Newer\nnew").slice == lines(10, 11)


texts = st.lists(
    st.sampled_from(["a", "b c", "", " ", "# h", "## h", "## k", "```", "\r", "é"]), max_size=12
).map("\n".join)
slices = st.one_of(
    st.builds(
        lambda kind, one, other: Slice(kind, min(one, other), max(one, other)),
        st.sampled_from(["lines", "para", "part"]),
        st.integers(1, 8),
        st.integers(1, 14),
    ),
    st.sampled_from([section("h"), section("k"), section("h-1"), section("h-2")]),
)


@given(text=texts, part=slices)
@settings(max_examples=tries(200))
def test_putting_what_was_got_changes_nothing(text: str, part: Slice) -> None:
    with contextlib.suppress(ParseError):
        assert put(text, part, get(text, part).text) == text


@given(text=texts, part=slices, new=texts)
@settings(max_examples=tries(200))
def test_what_is_put_is_what_is_got(text: str, part: Slice, new: str) -> None:
    with contextlib.suppress(ParseError):
        after = placed(text, part, new)
        got = get(after.text, after.slice)
        assert (got.text, got.clipped) == (new, "")


@given(text=texts, part=slices, new=texts, newer=texts)
@settings(max_examples=tries(200))
def test_the_last_of_two_puts_wins(text: str, part: Slice, new: str, newer: str) -> None:
    with contextlib.suppress(ParseError):
        first = placed(text, part, new)
        assert put(first.text, first.slice, newer) == put(text, part, newer)


def test_an_unknown_section_is_answered_with_the_nearest() -> None:
    text = "\n".join(f"# Part {n}\nx" for n in range(12)) + "\n# The last horn\ny"
    with pytest.raises(ParseError) as near:
        get(text, Slice("section", name="the horn"))
    assert near.value.hint == "did you mean §the-last-horn"
    with pytest.raises(ParseError) as far:
        get(text, Slice("section", name="zzz"))
    assert far.value.hint.startswith("there are §part-0, §part-1")
