"""Whose each character is: every one has an owner, and what stayed keeps its own."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.text.changes import Pieces, inherited, put_together


def drawn(text: str, pieces: Pieces) -> str:
    """The text as `author:words` by piece."""
    runs, at = [], 0
    for author, length in pieces:
        runs.append(f"{author}:{text[at : at + length]}")
        at += length
    return "|".join(runs)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("seemed to watch her.", "seemed to hold her.", "m:seemed to |h:hold|m: her."),
        ("one two three", "one three", "m:one three"),
        ("one three", "one two three", "m:one |h:two |m:three"),
        ("a b c d e", "a x c y e", "m:a |h:x|m: c |h:y|m: e"),
        ("Then Marie knocked.", "Then Morag knocked.", "m:Then |h:Morag|m: knocked."),
        ("knocked", "knocked,", "m:knocked|h:,"),
        ("the house", "the houses", "m:the |h:houses"),
        ("我喝茶。", "我喝水。", "m:我喝|h:水|m:。"),
        ("", "new", "h:new"),
        ("gone", "", ""),
        ("same", "same", "m:same"),
        ("🦉 and e\u0301", "🦉, and e\u0301", "m:🦉|h:,|m: and e\u0301"),
    ],
)
def test_what_stayed_is_whose_it_was(before: str, after: str, expected: str) -> None:
    pieces = (("m", len(before)),) if before else ()
    assert drawn(after, inherited(before, pieces, after, "h")) == expected


def test_a_third_hand_is_seen_beside_the_first_two() -> None:
    first = inherited("the cold sea", (("m", 12),), "the warm sea", "a")
    second = inherited("the warm sea", first, "the warm lake", "b")
    assert drawn("the warm lake", second) == "m:the |a:warm|m: |b:lake"


_texts = st.text(alphabet="ab \n🦉", max_size=40)


@given(_texts, _texts)
def test_every_character_has_one_owner(before: str, after: str) -> None:
    pieces = (("m", len(before)),) if before else ()
    authorship = inherited(before, pieces, after, "h")
    assert sum(length for _, length in authorship) == len(after)
    assert all(length > 0 for _, length in authorship)
    assert all(one[0] != other[0] for one, other in pairwise(authorship))
    kept = sum(length for author, length in authorship if author == "m")
    assert kept <= len(before)


def test_a_rewritten_book_is_the_writers_and_takes_no_time() -> None:
    before, after = "old " * 200_000, "new " * 200_000
    authorship = inherited(before, (("m", len(before)),), after, "h")
    assert authorship == (("h", 799_999), ("m", 1))


def together(parts: list[tuple[str, list[tuple[str, int]]]], text: str) -> list[tuple[str, str]]:
    """(author, words) of a text that Ada put together."""
    pieces = put_together([(part, tuple(by)) for part, by in parts], text, "ada")
    shown, at = [], 0
    for author, length in pieces:
        shown.append((author, text[at : at + length]))
        at += length
    assert at == len(text)
    return shown


def test_sentences_put_together_keep_their_authors() -> None:
    wren = "One lamp burned. The house was still."
    corvid = "It was dark. Nobody came."
    parts = [(wren, [("wren", len(wren))]), (corvid, [("corvid", len(corvid))])]
    assert together(parts, "It was dark. One lamp burned. Nobody came.") == [
        ("corvid", "It was dark. "),
        ("wren", "One lamp burned. "),
        ("corvid", "Nobody came."),
    ]
    assert together(parts, "One lamp burned. Then I wrote this. Nobody came.") == [
        ("wren", "One lamp burned. "),
        ("ada", "Then I wrote this. "),
        ("corvid", "Nobody came."),
    ]
    assert together([], "All mine.") == [("ada", "All mine.")]


def test_of_a_part_with_several_authors_each_keeps_what_they_wrote() -> None:
    text = "Morag came home. She sat down."
    parts = [(text, [("bo", 5), ("wren", len(text) - 5)])]
    assert together(parts, "Morag came home.") == [("bo", "Morag"), ("wren", " came home.")]


def test_putting_together_takes_as_long_as_the_texts_are() -> None:
    part = "a a " * 50_000
    pieces = put_together([(part, (("wren", len(part)),))] * 2, "a a b " * 30_000, "ada")
    assert sum(length for _, length in pieces) == 6 * 30_000
