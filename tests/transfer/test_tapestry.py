"""Files of Tapestry Loom: bytes that are decoded along a path, authors, marks, and token data."""

import random

import pytest

from loom.errors import CommandError
from tests.transfer.reading import tree_of
from tests.transfer.weaving import Knot, weave

TIME = 1_700_000_000_000 << 80
FOG = "🌫".encode()


def knots() -> list[Knot]:
    """A tree with a character that is cut in two, tokens and a bookmark."""
    one, two, three = TIME + 1, TIME + 2, TIME + 3
    return [
        Knot(three, b"C", above=one, is_marked=True),
        Knot(one, b"A " + FOG[:2], below=[three, two]),
        Knot(
            two,
            above=one,
            model="base-model-with-a-name",
            meta={"temperature": "1.0"},
            tokens=[(FOG[2:], {"probability": "0.5"}), (b" rose", {"token_id": "17"})],
        ),
    ]


def test_a_weave_has_its_nodes_in_order_and_no_character_in_two() -> None:
    meta = {"title": "Lighthouse", "notes": "a note that is longer than eight bytes"}
    tree = tree_of(weave(knots(), meta=meta), name="x.bin")
    assert tree.format.name == "tapestry" and tree.title == "Lighthouse"
    assert tree.head.description == meta["notes"]
    # The other branch does not finish the character.
    assert tree.outline() == [("A ", None), ("\ufffdC", "A "), ("🌫 rose", "A ")]
    assert [warning[:38] for warning in tree.report.warnings] == [
        "1 character not valid in the encoding "
    ]
    rose = tree.record("🌫 rose")
    assert (rose.author, rose.author_kind) == ("base-model-with-a-name", "model")
    assert [token["probability"] for token in rose.imported["tokens"][:1]] == ["0.5"]
    assert rose.imported["metadata"] == {"temperature": "1.0"}
    assert rose.at == "2023-11-14T22:13:20+00:00"
    assert tree.records[1].bookmark == "" and tree.records[0].author == ""


def test_a_later_version_is_refused_with_a_sentence() -> None:
    with pytest.raises(CommandError, match="version 1 of the format of Tapestry"):
        tree_of(weave(knots(), version=1))


def test_a_weave_with_changed_bytes_is_a_tree_or_a_sentence() -> None:
    raw = weave(knots())
    dice = random.Random(7)
    for _ in range(400):
        changed = bytearray(raw[: dice.choice([len(raw), dice.randrange(24, len(raw))])])
        for _ in range(dice.randint(1, 6)):
            changed[dice.randrange(24, len(changed))] = dice.randrange(256)
        try:
            tree_of(bytes(changed))
        except CommandError as error:
            assert error.message.endswith(".")
