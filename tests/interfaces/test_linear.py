"""What strangers send is read in one pass: bodies, files, Markdown and code.

Most of these tests would not end before their timeout where a reader tries things twice; how
the cost grows is printed by `python -m bench.linear`.
"""

import json
import re
from pathlib import Path

import pytest
from django.utils.html import escape
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexer import RegexLexer
from pygments.token import Token

from loom.errors import CommandError
from loom.site import api_requests, markdown
from loom.site.api_requests import MAX_BYTES, MAX_DEPTH, read_json
from loom.transfer import files
from loom.transfer.files import demand_readable

# Every character that means something to one of the readers, and ends of what they begin.
WORST = [
    *('"', '\\"', '"\\', "\\", "[", "{", "[]", "[],", '"["', '{"a":', '"\\u', "1", "-", " ", "a"),
    *('"a",', '\\\\"', "]", "}", ",", ":", '"]', '[{"'),
]


def _filled(piece: str, before: str = "", size: int = MAX_BYTES) -> bytes:
    return (before + piece * (size // len(piece)))[:size].encode()


@pytest.mark.parametrize("before", ["", '"', '["'])
def test_a_body_of_8_mib_of_anything_is_read_or_refused(before: str) -> None:
    for piece in WORST:
        try:
            read_json(_filled(piece, before))
        except CommandError as refused:
            assert refused.code in ("INVALID_SYNTAX", "LIMIT_EXCEEDED")


values = st.recursive(
    st.text('[]{}"\\a', max_size=6) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('[{"\\', max_size=3), inner)
    ),
)


@given(st.lists(st.sampled_from(WORST), max_size=200).map("".join))
def test_what_one_reader_refuses_the_other_refuses_too(text: str) -> None:
    deep = text + "[" * 200
    try:
        json.loads(deep)
    except ValueError:
        with pytest.raises(CommandError):
            read_json(deep.encode())


@pytest.mark.parametrize("piece", ["[],", "{},", "1,", '"",', '{"a":1},', '"\\\\",', '"\\"",'])
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_json(f"[{piece * 10_000}1]".encode())
    monkeypatch.setattr(api_requests, "from_json", None)
    with pytest.raises(CommandError, match="100,000 values"):
        read_json(f"[{piece * 200_000}1]".encode())


@pytest.mark.parametrize("piece", ["[", "{,", '"', "\\", '\\"[', "\n,"])
def test_a_long_text_of_marks_is_one_value(piece: str) -> None:
    text = piece * 300_000
    assert read_json(json.dumps({"text": text}).encode()) == {"text": text}


def test_a_body_one_level_too_deep_is_refused() -> None:
    def nested(levels: int) -> bytes:
        return b"[" * levels + b'"]]["' + b"]" * levels

    assert read_json(nested(MAX_DEPTH))
    with pytest.raises(CommandError, match="64 levels"):
        read_json(nested(MAX_DEPTH + 1))
    with pytest.raises(CommandError, match="64 levels"):
        read_json(nested(100_000))


@pytest.mark.parametrize(
    "raw",
    [
        *(b"1e999", b'{"a": [-1.5E400]}', b"NaN", b"[Infinity]", b'"\xff"', b'"\\ud800"'),
        *(
            b'"\\ude00\\ud83d"',
            b'{"\\u0000": 1}',
            b'["a\\u0000"]',
            b'"a\x00"',
            b"1" * 5000,
            b"[1,]",
        ),
        *(b"", b"{} {}", b"'a'", b"01", b"\xef\xbb\xbf{}"),
    ],
)
def test_what_cannot_be_stored_or_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(CommandError) as refused:
        read_json(raw)
    assert refused.value.code == "INVALID_SYNTAX"


@pytest.mark.parametrize("piece", ['"', '\\"', '"\\', "\\", '"a', "1" * 3999 + "x", '"1"'])
@pytest.mark.parametrize("before", ["", '"', "1" * 5000 + '"'])
def test_a_file_of_8_mib_of_anything_is_checked(tmp_path: Path, piece: str, before: str) -> None:
    # The digits at the end let strings be told apart, which is the dear part.
    raw = _filled(piece, before) + b'"' * (before != "") + b" " + b"1" * 3999
    file = tmp_path / "file.json"
    file.write_bytes(raw)
    try:
        demand_readable(file, lambda at: None)
    except CommandError as refused:
        assert "digits" in refused.message


_OLD_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([0-9]{4000})', re.DOTALL)


@given(value=values, digits=st.sampled_from([3, 3999, 4000, 9000]), quoted=st.booleans())
def test_numbers_are_found_as_before(value: object, digits: int, quoted: bool) -> None:
    number = "1" * digits
    raw = json.dumps([value, "x" + number if quoted else 0])
    raw = raw if quoted else raw[:-2] + number + "]"
    old, new = (
        [match.start(1) for match in pattern.finditer(raw.encode()) if match[1] is not None]
        for pattern in (_OLD_NUMBER, files._NUMBER)
    )
    assert old[:1] == new[:1]


@pytest.mark.parametrize("run", [" ", "\t", "\n", " \n", "x\n", "a ", "(", '"', "//", "#"])
def test_no_grammar_is_given_more_than_a_piece(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def seen(lexer: RegexLexer, text: str, *more: object) -> list[tuple[int, object, str]]:
        given.append(text)
        return [(0, Token.Text, text)]

    monkeypatch.setattr(RegexLexer, "get_tokens_unprocessed", seen)
    code = "a" + (run * 10_000)[: markdown.MAX_COLOURED - 1]
    assert markdown.coloured(code, "python") == str(escape(code))
    assert all(len(piece) <= markdown.PIECE for piece in given)
    assert not any(re.search(r"\s{41}", piece) for piece in given)


@given(st.lists(st.sampled_from(["def f():\n", "\n", "    x = 1\n", '"""', "\r\n", " "])))
def test_pieces_are_the_whole_code(lines: list[str]) -> None:
    code = "".join(lines * 20)
    pieces = list(markdown.pieces(code))
    assert "".join(pieces) == code
    assert all(len(piece) <= markdown.PIECE or piece.count("\n") <= 1 for piece in pieces)


def test_all_fences_of_a_text_share_one_bound() -> None:
    fence = "```python\n" + "x = 1\n" * 700 + "```\n"
    drawn = str(markdown.rendered(fence * 4))
    assert drawn.count('class="c-number"') == 2 * 700


def test_blanks_in_code_block_nobody() -> None:
    for language in sorted(markdown.LANGUAGES):
        for blank in (" ", "\n", "\t"):
            drawn = str(markdown.rendered(f"```{language}\na{blank * 9_900}b\n```"))
            assert "<pre" in drawn


def test_a_wide_table_over_many_rows_is_not_a_table() -> None:
    wide = "|a" * 300 + "\n" + "|-" * 300 + "\n" + "|x\n" * 2000
    assert "<table>" not in str(markdown.rendered(wide))
    assert "<table>" in str(markdown.rendered("|a|b|\n|-|-|\n" + "|x|y|\n" * 2000))
