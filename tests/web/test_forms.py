"""Fields of the forms of pages: what is kept of a text, and how what is wrong is refused."""

from typing import Any

import pytest
from django.test import RequestFactory

from loom.errors import CommandError
from loom.site.forms import Days, Flag, Number, PageForm, Text, Whole, Word, Words


class Form(PageForm):
    text = Text()
    word = Word(empty="none")
    number = Number()
    whole = Whole(empty=7)
    days = Days()
    flag = Flag()
    words = Words()


def _read(**given: Any) -> dict[str, Any]:
    return Form.read(RequestFactory().post("/", given))


def test_a_text_is_kept_but_for_the_ends_of_its_lines() -> None:
    assert _read(text=" a\r\nb\r ")["text"] == " a\nb\r "
    assert _read(word=" a\t")["word"] == "a"


def test_what_is_left_out_or_empty_has_its_stand_in() -> None:
    expected: dict[str, Any] = {
        "text": "",
        "word": "none",
        "number": None,
        "whole": 7,
        "days": None,
        "flag": False,
        "words": [],
    }
    assert _read() == expected
    assert _read(text="", word=" ", number=" ", whole="", days="") == expected


def test_values_have_their_kind() -> None:
    given = _read(number="1.5", whole="3.0", days="30", flag="on", words=["b", "a"])
    assert (given["number"], given["whole"], given["days"]) == (1.5, 3, 30)
    assert type(given["whole"]) is int
    assert given["flag"] is True
    assert given["words"] == ["b", "a"]
    assert [_read(days=days)["days"] for days in ("never", "100000", "-1")] == [None] * 3


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"text": "a\0"}, "text: U+0000 is not allowed.", "Remove it."),
        ({"number": "50 %"}, "number: '50 %' is not a number.", "Write digits."),
        ({"number": "inf"}, "number: 'inf' is not a number.", "Write digits."),
        ({"number": "9" * 60}, "", ""),
        ({"whole": "1.5"}, "whole: 1.5 is not a whole number.", "Round it."),
        ({"whole": "x" * 60}, f"whole: '{'x' * 40}' is not a number.", "Write digits."),
    ],
)
def test_what_is_wrong_is_shown_with_its_field(
    given: dict[str, str], message: str, hint: str
) -> None:
    if not message:
        assert _read(**given)
        return
    with pytest.raises(CommandError) as refused:
        _read(**given)
    assert (refused.value.code, refused.value.message) == ("INVALID_SYNTAX", message)
    assert refused.value.hint == hint


def test_what_was_typed_can_be_shown_again() -> None:
    form = Form.of(RequestFactory().post("/", {"word": " a ", "number": "x"}))
    assert form.typed("word", "number", "days") == {"word": "a", "number": "x", "days": ""}
