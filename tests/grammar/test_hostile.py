"""Whatever is sent, a line is read or refused: nothing else is ever raised."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.language.lines import MAX_LINE_BYTES, read
from loom.language.refs import ParseError, Slice, print_ref
from loom.language.slices import get, parse_ref
from tests.grammar.table import ALIASES, FORMS, VERBS
from tests.thorough import tries

PIECES = [
    *(
        "→",
        "->",
        " ",
        "  ",
        "\t",
        "\r",
        "\n",
        "\n←\n",
        "←",
        '"',
        '""',
        '"a b"',
        "\\",
        "\\n",
        ",",
        ":",
    ),
    *("§", "#", "[", "]", "'", "-", "a7x2", "b3k9", "here", "root", "all", "t3", "#3", "#x", "3"),
    *(
        "tree:",
        "node:",
        "doc:",
        "in ",
        "in tree:k4 ",
        "to ",
        "from ",
        "using ",
        "from:",
        "as:",
        "n:",
    ),
    *("lines:3-9", "para:2", "§a", "because:", 'agent:"A"', "full", "edited", "replace:", "with:"),
    *("\0", "\ud800", "\u200b", "é", "∑", "9" * 30, "x" * 99),
]
soup = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=14).map("".join)
spaced = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)


@given(verb=st.sampled_from([*FORMS, *ALIASES]), rest=soup | spaced)
@settings(max_examples=tries(300))
def test_a_line_is_read_or_refused_and_what_is_read_stays_itself(verb: str, rest: str) -> None:
    try:
        line = read(f"{verb} {rest}", VERBS)
    except ParseError as bad:
        assert bad.message.endswith(".")
        assert "\n" not in bad.message
        return
    assert read(line.canonical, VERBS) == line


@given(text=soup)
@settings(max_examples=tries(200))
def test_any_text_at_all_is_a_ref_or_refused(text: str) -> None:
    with contextlib.suppress(ParseError):
        ref = parse_ref(text)
        assert parse_ref(print_ref(ref)) == ref


@given(text=st.text(), part=st.builds(Slice, st.just("section"), name=soup))
def test_any_name_is_a_section_or_refused(text: str, part: Slice) -> None:
    with contextlib.suppress(ParseError):
        get(text, part)


ROOM = MAX_LINE_BYTES - 100
LONG = [
    *(
        '"' * ROOM,
        '"' + "\\" * ROOM,
        '"a" ' * (ROOM // 4),
        "#a " * (ROOM // 3),
        "a7x2 " * (ROOM // 5),
    ),
    *("#3 " * (ROOM // 3), "lines:1 " * (ROOM // 8), "[" * ROOM, "a" * ROOM, "a-" * (ROOM // 2)),
    *("from:" + "a," * (ROOM // 2), "from:" + "," * ROOM, "in tree:k " * (ROOM // 10), "§" * ROOM),
    *("from:a " + "§a,b " * (ROOM // 6), " " * ROOM, "\t" * ROOM, "using agent:a " * (ROOM // 14)),
    *("because:" * (ROOM // 8), '"' + "→" * (ROOM // 4) + '"', "tree:k node:a " * (ROOM // 14)),
]


@pytest.mark.parametrize("verb", ["respond", "tag a7x2", "continue", "hide", "todo add", "help"])
@pytest.mark.parametrize("rest", LONG, ids=lambda rest: repr(rest[:12]))
def test_a_line_of_64_kib_is_read_or_refused(verb: str, rest: str) -> None:
    with contextlib.suppress(ParseError):
        line = read(f"{verb} {rest}", VERBS)
        assert read(line.canonical, VERBS) == line


@pytest.mark.parametrize("block", ["←" * 10**6, "\n" * 10**6, " \n←" * 10**5, "\n ←" * 10**5])
def test_a_long_block_is_read(block: str) -> None:
    with contextlib.suppress(ParseError):
        read(f"respond\n{block}", VERBS)
