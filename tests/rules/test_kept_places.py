"""Where words stand after edits of the text around them."""

import random

import pytest

from loom.text.edits import Edit, difference, edited, kept

TEXT = "one two three four five"  # two: 4-7, three: 8-13


@pytest.mark.parametrize(
    ("edits", "now"),
    [
        ([], "three"),
        ([Edit(0, 0, "zero ")], "three"),
        ([Edit(8, 8, "and ")], "three"),  # written right before
        ([Edit(13, 13, "!")], "three"),  # written right after
        ([Edit(10, 11, "RR")], "thRRee"),
        ([Edit(8, 13, "3")], "3"),
        ([Edit(8, 13, "")], None),
        ([Edit(4, 10, "x")], "ree"),
        ([Edit(11, 15, "x")], "thr"),
        ([Edit(4, 18, "x")], None),
        ([Edit(0, 4, ""), Edit(9, 10, "H"), Edit(19, 23, "5")], "tHree"),
    ],
)
def test_words_keep_their_place(edits: list[Edit], now: str | None) -> None:
    place = kept(edits, 8, 13)
    assert (None if place is None else edited(TEXT, edits)[slice(*place)]) == now


def test_words_that_nobody_touches_are_found_after_any_edits() -> None:
    draw = random.Random(4)
    for _ in range(300):
        words = [draw.choice(("a", "b", "c")) for _ in range(12)]
        at = draw.randrange(12)
        words[at] = "MARK"
        before = " ".join(words)
        start = before.index("MARK")
        other = list(words)
        for _ in range(draw.randrange(5)):
            place = draw.randrange(12)
            if place != at:
                other[place] = draw.choice(("", "d", "e f g"))
        after = " ".join(other)
        place_now = kept(difference(before, after), start, start + 4)
        assert place_now is not None
        assert after[slice(*place_now)] == "MARK"
