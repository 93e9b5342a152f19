"""Parts of a request that are left out this once: how they are written and read."""

import pytest

from loom.errors import CommandError
from loom.turns.left_out import is_left_out, parts_in


def test_parts_are_named_once_and_in_order() -> None:
    assert parts_in(" memory;lore:The mill; memory ;") == ("memory", "lore:The mill")
    assert parts_in("") == ()


@pytest.mark.parametrize("text", ["path", "memory, note", "Memory", "lore;x"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(CommandError):
        parts_in(text)


def test_more_than_fifty_are_refused() -> None:
    with pytest.raises(CommandError):
        parts_in("; ".join(f"lore:{n}" for n in range(51)))


def test_lore_is_left_out_as_a_whole_or_by_its_title() -> None:
    assert is_left_out(("lore",), "lore", "The mill")
    assert is_left_out(("lore:Mill, old",), "lore", "Mill; old")
    assert not is_left_out(("lore:The mill",), "lore", "The sea")
    assert not is_left_out(("memory",), "lore", "The sea")
