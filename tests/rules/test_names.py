"""What one may be called, and which names look alike."""

import pytest

from loom.rules.errors import CommandError
from loom.rules.names import checked, cleaned, look_alike, shown_title, skeleton

ALIKE = [
    ("Ada", "ada"),
    ("Ada", "Аdа"),  # Cyrillic
    ("Paul", "PauI"),
    ("Bob", "B0b"),
    ("Ada", "Ａｄａ"),
    ("Ada B", "AdaB"),
    ("Ada", "Ada\ufe0f"),
    ("Nora", "Νοra"),  # Greek
    ("O'Hara", "O’Hara"),
    ("Marie", "rnarie"),
    ("Will", "VVill"),
    ("Mia", "Mi\u0307a"),
]


@pytest.mark.parametrize(("name", "other"), ALIKE)
def test_names_that_look_alike_have_one_skeleton(name: str, other: str) -> None:
    assert look_alike(other, ["Somebody", name]) == name
    assert look_alike(name, ["Somebody", other]) == other


def test_other_names_have_skeletons_of_their_own() -> None:
    names = [
        "Ada",
        "Adam",
        "Ana",
        "Anna",
        "Оля",
        "Юля",
        "美咲",
        "राम",
        "रम",
        "かな",
        "がな",
        "Muse",
        "Muse 2",
    ]
    assert len({skeleton(one) for one in names}) == len(names)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "a\nb",
        "a\x00",
        "a\u200bb",
        "\ufeffAda",
        "Ada\u202e",
        "a\u2028b",
        "\u3164",
        "x" * 81,
    ]
    + [f"Ada ({mark})" for mark in ("human", "Model", "imported", "imported 2", "you")],
)
def test_nobody_is_called_by_what_is_not_seen_or_says_more(name: str) -> None:
    with pytest.raises(CommandError) as refused:
        checked(name, most=80)
    assert refused.value.code == "INVALID_SYNTAX"


def test_a_name_is_kept_in_one_form() -> None:
    assert checked("Ｊose\u0301 🦉", most=80) == "José 🦉"


def test_of_a_foreign_name_what_may_be_kept_is_kept() -> None:
    assert cleaned("A\u200bda\n(human) (imported)", most=80) == "A da"
    assert cleaned("\u200b\ufeff", most=80) == ""


@pytest.mark.parametrize("title", ["", "   ", "\u200b", "\n\t", "\ufeff \u2800"])
def test_a_title_of_which_nothing_is_seen_is_none(title: str) -> None:
    assert shown_title(title) == ""


@pytest.mark.parametrize("title", [" Marie ", "<script>", "שלום", "👩‍👩‍👧", "."])
def test_a_title_that_is_seen_is_kept_as_it_is(title: str) -> None:
    assert shown_title(title) == title
