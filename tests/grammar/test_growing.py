"""A reply read as it comes says the same as one that is read again at each piece, and reads
each of its lines once."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.context.values import Language
from agents.providers.attempt import Cutter, read_reply
from loom.language import lines
from loom.language.batches import MAX_COMMANDS, Batch, segments_of
from loom.language.lines import Line, read
from tests.grammar.table import VERBS
from tests.thorough import THOROUGH, tries

# Longer than a line may be (64 KiB), so that a reply of one line is too long as well.
LONG = (1024 if THOROUGH else 80) * 1024
LOOKS = ("view", "find", "list", "tree")


def looks(line: Line) -> bool:
    return line.verb in LOOKS


LANGUAGE = Language(VERBS, looks)


def _has_ended(text: str) -> bool:
    """Whether a reply has ended, by reading all of its text."""
    for segment in segments_of(text, VERBS, finished=False):
        if isinstance(segment, Batch) and any(
            command.line and looks(command.line) for command in segment.commands
        ):
            return segment.closed
    return False


PIECES = [
    *("\n", "\n", "\n\n", " ", "→ view a7x2", "→ view a7x2\n", "-> view a7x2\n", "-", "->", "→"),
    *("→ prune a7x2\n", "→ respond\n", '→ respond "one\n', '"', 'a "word"\n', "→ respnod\n", "←"),
    *("←\n", " ←\n", "```\n", "~~~\n", "prose", "prose\n", "  - x\n", "-> and so on\n", "\r\n"),
    *("→ view a b c\n", "→ and so on\n", '→ respond "x"\n', "\t", "   ", "   → view a7x2\n"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@settings(max_examples=tries(600))
@example(["→ view a7x2\n", "-", "-", '"'])
@example(["→ view a7x2\n", "- ", "-", "x"])
@example(["→ view a7x2\n", "=", "x"])
@example(["→ view a7x2\n", "✓", "x"])
def test_a_growing_reply_ends_where_the_whole_one_does(pieces: list[str]) -> None:
    cutter, text = Cutter(LANGUAGE), ""
    for piece in pieces:
        text += piece
        ended = cutter.feed(piece)
        if piece.strip():
            assert ended == _has_ended(text), text
        if ended:
            return


def test_a_line_is_read_once_however_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(text: str, *more: object) -> Line:
        seen.append(len(text))
        return read(text, VERBS)

    monkeypatch.setattr(lines, "read", counted)
    cutter = Cutter(LANGUAGE)
    for number in range(300):
        for letter in f"→ frobnicate the {number} thing\n":
            assert not cutter.feed(letter)
    # Once by itself, and once as it would be with lines below it.
    assert len(seen) <= 2 * MAX_COMMANDS


@pytest.mark.parametrize(
    "piece",
    [
        "→ frobnicate {n}\n",
        "`→ view {n} x y`\n",
        "```\n→ view {n} x y\n```\n",
        "```\n→ view a{n}x\n```\n",
        "- → view {n} x y\n",
        "Then I say → view a{n}x here.\n",
    ],
)
def test_how_many_lines_are_read_does_not_grow_with_the_reply(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def counted(text: str, *more: object) -> Line:
        seen.append(text)
        return read(text, VERBS)

    monkeypatch.setattr(lines, "read", counted)
    for number in (MAX_COMMANDS * 4, MAX_COMMANDS * 8):
        reply = "".join(piece.replace("{n}", str(at)) for at in range(number))
        seen.append("")
        read_reply(reply, LANGUAGE, finished=True)
        cutter = Cutter(LANGUAGE)
        for at in range(0, len(reply), 97):
            if cutter.feed(reply[at : at + 97]):
                break
    second = len(seen) - seen.index("", 1)
    assert seen.index("", 1) == second <= 8 * MAX_COMMANDS


def test_a_reply_has_so_many_commands() -> None:
    lines = "→ frobnicate\n" * 300 + "The end."
    reply = read_reply(lines, LANGUAGE, finished=True)
    assert len(reply.commands) == 300
    assert reply.prose == "The end."
    codes = [command.bad.code for command in reply.commands if command.bad]
    assert codes == ["INVALID_SYNTAX"] * MAX_COMMANDS + ["LIMIT_EXCEEDED"] * 100
    last = reply.commands[-1].bad
    assert last is not None and "next reply" in last.hint


@pytest.mark.parametrize(
    "line",
    [
        "→ x\n",
        "→ x\nprose\n",
        "\\→ x\nprose\n",
        '→ respond "\n',
        "→ respnod\n",
        "-",
        "\n",
        " ",
        '"\n',
        "→ respond\n\n",
        "```\n",
        "← \n",
    ],
)
def test_a_long_reply_of_anything_is_read(line: str) -> None:
    text = (line * (LONG // len(line))) + "\n"
    read_reply(text, LANGUAGE, finished=True)
    cutter = Cutter(LANGUAGE)
    for at in range(0, len(text), 9_973):
        if cutter.feed(text[at : at + 9_973]):
            return
