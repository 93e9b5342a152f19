"""Syntax as help prints it, and the small printers of replies."""

from datetime import UTC, datetime, timedelta

import pytest

from loom.language import slices
from loom.language.forms import Form, FormPart, syntax
from loom.text import ages, shortening
from tests.grammar import table

NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (table.VIEW, "view REF [full|summary] [with-annotations] [as:prose|nodes|diff]"),
        (
            table.CONTINUE,
            'continue [from REF] [n:1≤10] [tokens:m] [temperature:x] [using agent:"name"…]',
        ),
        (table.RESPOND, "respond [REF] CONTENT [from:a,b [as:context|instruction]]"),
        (table.LINK, 'link REF to REF [as:TYPE=related] [note:"…"] [confidence:x]'),
        (table.FIND, 'find "query" [in:tree|grove|REF] [max:5≤50] [context:3] [open]'),
        (table.TREE_RESET, "tree reset [depth:2]"),
        (table.SPLIT, "split REF at:n"),
        (table.EDIT_REPLACE, 'edit REF replace:"…" with:"…" [as:version|fork]'),
        (table.UNDO_REF, "undo step:n|turn:ID"),
        (table.ACCEPT_EDITED, "accept REF edited CONTENT"),
        (table.HIDE, "hide #n…"),
        (table.HELP, "help [verb]"),
        (table.EXPAND_TYPE, "expand TYPE [of REF] [max:10≤40]"),
        (table.TODO_ADD, 'todo add "texts"…'),
        (Form("tag", (table.REF, table.NAMES)), "tag REF #name…"),
        (Form("x", (FormPart("t", "type", choices=("links", "claims")),)), "x links|claims|TYPE"),
    ],
)
def test_syntax_is_that_of_the_tables(form: Form, text: str) -> None:
    assert syntax(form) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((-5, "now"), (0, "now"), (59, "now"), (60, "1m ago"), (3599, "59m ago")),
        *((3600, "1h ago"), (86399, "23h ago"), (86400, "1d ago"), (86400 * 400, "400d ago")),
    ],
)
def test_ages_are_short(seconds: int, text: str) -> None:
    assert ages.age(NOW, NOW - timedelta(seconds=seconds)) == text


def test_a_short_text_is_its_own_summary() -> None:
    assert shortening.excerpt("a b\n c") == '"a b c"'
    assert shortening.excerpt("") == '""'
    thirty = " ".join(["w"] * 30)
    assert shortening.excerpt(thirty) == f'"{thirty}"'


def test_a_long_text_is_cut_after_its_first_words() -> None:
    assert shortening.excerpt("a b c d", words=3) == '"a b c…"'
    assert shortening.excerpt("w " * 100_000, words=2) == '"w w…"'


def test_a_text_without_blanks_is_cut_all_the_same() -> None:
    assert len(shortening.excerpt("字" * 5000)) == 303
    assert shortening.excerpt("a" + " " * 10_000 + "b") == '"a…"'


def test_words_are_counted_in_words() -> None:
    assert [slices.words(n) for n in (0, 1, 1247)] == ["0 words", "1 word", "1,247 words"]
