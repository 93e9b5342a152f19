"""However three editors and an agent come between each other, all ends are equal."""

import pytest

from loom.documents.shared_text import SharedText, byte_offset
from loom.text.edits import Edit, difference, edited
from tests.live.interleaved import run
from tests.thorough import tries


@pytest.mark.parametrize("block", range(5))
def test_all_ends_are_equal_and_every_revision_can_be_restored(block: int) -> None:
    for seed in range(block, tries(300), 5):
        run(seed)


@pytest.mark.parametrize("text", ["→ a", "👩‍🚀 b", "e\u0301 c", "ü → 👍 d", ""])
def test_places_are_counted_in_bytes_in_one_place(text: str) -> None:
    """pycrdt counts bytes of UTF-8: an edit at any code point is made where it was meant."""
    for at in range(len(text) + 1):
        shared, _ = SharedText.born(text)
        shared.edit([Edit(at, at, "|")])
        assert shared.text == f"{text[:at]}|{text[at:]}"
        assert byte_offset(text, at) == len(text[:at].encode())
    for at in range(len(text)):
        shared, _ = SharedText.born(text)
        shared.edit([Edit(at, at + 1, "")])
        assert shared.text == text[:at] + text[at + 1 :]


def test_a_difference_touches_only_what_is_different() -> None:
    before, after = "one two three four", "one 2 three 4!"
    edits = difference(before, after)
    assert edited(before, edits) == after
    assert all("three" not in before[edit.start : edit.end] for edit in edits)
