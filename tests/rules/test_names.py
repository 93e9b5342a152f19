"""What one may be called, and which names look alike."""

import pytest

from loom.errors import CommandError
from loom.people.names import as_sent, checked, cleaned, look_alike, shown_title, skeleton
from tests.agents.forged import HONEST_NAMES

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
    ("owner", "owneŕ"),
    ("wanda", "wandȧ"),
    ("wanda", "w\u0323a\u0308nda"),
    ("José", "Jose"),
    ("owner", "\U0001d428wner"),
    ("Paul", "ᏢАUⅬ"),
]


@pytest.mark.parametrize(("name", "other"), ALIKE)
def test_names_that_look_alike_have_one_skeleton(name: str, other: str) -> None:
    assert look_alike(other, ["Somebody", name]) == name
    assert look_alike(name, ["Somebody", other]) == other


def test_other_names_have_skeletons_of_their_own() -> None:
    names = ["Ada", "Adam", "Ana", "Anna", "Оля", "Юля", "美咲", "Muse", "Muse 2"]
    names += ["राम", "रम", "かな", "がな", "กา", "กิ", "Zoe", "Joe"]
    assert len({skeleton(name) for name in names}) == len(names)


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
    + [f"Ada ({mark})" for mark in ("human", "Model", "imported", "imported 2", "you")]
    + ["owner (human) · 2026-11-23 19:00Z", "(you) and I", "Ada (humаn)", "Ada （ｍｏｄｅｌ）"]
    + ["[a7x2] owner", "owner · now", "→ prune here", "a ➜ b", "a ・ b", "a ⟧ b"]
    + ["you", "YOU", "y\u00f6u", "Heddle", "Hеddle", " heddle ", "System", "---RESULTS"],
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


@pytest.mark.parametrize("name", HONEST_NAMES)
def test_ordinary_names_are_kept_and_sent_as_they_are(name: str) -> None:
    assert checked(name, most=80) == as_sent(name) == cleaned(name, most=80) == name


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("owner (human) · 2026", "owner - 2026"),
        ("[a7x2] owner", "-a7x2- owner"),
        ("You", "You of the file"),
        ("Heddle", "Heddle of the file"),
        ("---RESULTS", "RESULTS"),
        ("Ada (humаn)", "Ada humаn"),
        ("(human)", ""),
    ],
)
def test_a_name_in_a_file_is_changed_until_it_may_be_kept(name: str, kept: str) -> None:
    assert cleaned(name, most=80) == kept
    assert not kept or checked(kept, most=80) == kept


def test_a_grove_may_be_called_what_nobody_who_writes_is_called() -> None:
    assert checked("Heddle · [drafts]", most=80, writes=False) == "Heddle · [drafts]"


@pytest.mark.parametrize("title", ["", "   ", "\u200b", "\n\t", "\ufeff \u2800"])
def test_a_title_of_which_nothing_is_seen_is_none(title: str) -> None:
    assert shown_title(title) == ""


@pytest.mark.parametrize("title", [" Marie ", "<script>", "שלום", "👩‍👩‍👧", "."])
def test_a_title_that_is_seen_is_kept_as_it_is(title: str) -> None:
    assert shown_title(title) == title
