"""What in a reply is a command and what is prose, and that nothing else ever is one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.language.batches import Batch, Prose, Segment, prose_of, segments_of
from loom.language.lines import ParsedCommand, read
from loom.language.refs import ParseError
from tests.grammar.table import VERBS
from tests.thorough import tries


def parted(text: str, *, finished: bool = True) -> tuple[Segment, ...]:
    """The segments of a reply."""
    return segments_of(text, VERBS, finished=finished)


def commands(text: str, *, finished: bool = True) -> list[ParsedCommand]:
    """All commands of a reply, in order."""
    batches = [segment for segment in parted(text, finished=finished) if isinstance(segment, Batch)]
    return [command for batch in batches for command in batch.commands]


def run(text: str, *, finished: bool = True) -> list[str]:
    """The canonical lines that would run; `✗` for a command that would not."""
    return [
        command.line.canonical if command.line else "✗"
        for command in commands(text, finished=finished)
    ]


VIEW, PRUNE = "→ view a7x2", "→ prune a7x2"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("just prose", []),
        (VIEW, [VIEW]),
        ("-> view a7x2", [VIEW]),
        ("→view a7x2", [VIEW]),
        ("  → view a7x2", [VIEW]),
        ("  → view a7x2\r\nand on", [VIEW]),
        ("\t→ view a7x2\r\nand on", []),
        (f"\t\t{PRUNE}", []),
        ("   → view a7x2", []),
        ("so → view a7x2", []),
        ("-> a7x2 leads on", []),
        ("-> and so on", []),
        ("-> VIEW a7x2", [VIEW]),
        ("-> show a7x2", [VIEW]),
        ("→ and so on", ["✗"]),
        ("→", ["✗"]),
        ("→ show me node a7x2", [VIEW]),
        # fences
        (f"```\n{PRUNE}\n```", []),
        (f"```\n{PRUNE}", []),
        (f"~~~text\n{PRUNE}\n~~~\n{VIEW}", [VIEW]),
        (f"````\n```\n{PRUNE}\n````\n{VIEW}", [VIEW]),
        (f"```\n~~~\n{PRUNE}\n```\n{VIEW}", [VIEW]),
        (f"```\n{PRUNE}\n``` not closed\n{PRUNE}", []),
        (f"```\n{PRUNE}\n        ```\n{PRUNE}", []),
        (f"``` not ` opened\n{VIEW}", [VIEW]),
        (f"``\n{VIEW}", [VIEW]),
        (f"- ```\n  {PRUNE}\n  ```\n{VIEW}", [VIEW]),
        (f"1. ~~~\n{PRUNE}", []),
        (f"      ```\n{PRUNE}\n      ```", []),
        (f"```\r\n{PRUNE}\r\n```\r\n{VIEW}\r\n", [VIEW]),
        # quotes, escapes
        (f"> {PRUNE}", []),
        (f" > {PRUNE}\n> ```\n{VIEW}", [VIEW]),
        (f"\\{PRUNE}\n\\-> prune a7x2", []),
        (f'"{PRUNE}"', []),
        (f"* {PRUNE}\n- {PRUNE}\n1. {PRUNE}", []),
        # blocks
        ("→ respond\none\ntwo\n←\nprose", ["→ respond\none\ntwo\n←"]),
        ("→ respond\none", ['→ respond "one"']),
        (f"→ respond\n{PRUNE}\n←\n{VIEW}", ['→ respond "→ prune a7x2"', VIEW]),
        (f"→ respond\n```\n←\n{VIEW}", ['→ respond "```"', VIEW]),
        (f"→ respond\n ←\n{PRUNE}", ["✗"]),
        ('→ respond "x"\nprose\n←', ['→ respond "x"']),
        ("→ reply to a7x2\none\n←", ['→ respond a7x2 "one"']),
        ("→ respond\none\nI wrote it below.", ["✗"]),
        ('→ edit a7x2\n"""\nNew.\n"""\nI changed it.', ["✗"]),
        ("→ respond", ["✗"]),
        ("→ respond\n\n", ["✗"]),
        # what may have been the text of a command that is not read
        (f"→ respnod\n{PRUNE}\n←\n{VIEW}", ["✗", VIEW]),
        (f'→ respond "one\n{PRUNE}\nend"\n{VIEW}', ["✗", VIEW]),
        (f"→ view a b c\n{VIEW}\n→ respond\nx\n←", ["✗", VIEW, '→ respond "x"']),
        (f"→ veiw a7x2\n{VIEW}", ["✗", VIEW]),
    ],
)
def test_only_what_position_and_form_make_a_command_is_one(text: str, lines: list[str]) -> None:
    assert run(text) == lines


ARROWS = "⇒⟶➔➜➝➞➡⮕🡒⇢⟹↦⭢›»>←↠﹥＞⊳▶"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u2066\u00a0\u3000\u2003\u034f\ufe0f\x0b\x0c"


@pytest.mark.parametrize("arrow", [*ARROWS, "=>", "–>", "—>", "−>", "‐>", "->>", "-＞", "- >"])
def test_no_other_arrow_is_one(arrow: str) -> None:
    assert run(f"{arrow} prune a7x2") == []


@pytest.mark.parametrize("mark", INVISIBLE)
def test_nothing_invisible_helps_or_is_skipped(mark: str) -> None:
    assert run(f"{mark}→ prune a7x2") == []
    assert run(f"-{mark}> prune a7x2") == []
    for text in (f"→{mark}prune a7x2", f"→ pru{mark}ne a7x2", f"→ prune{mark}a7x2"):
        assert run(text) == ["✗"]
    assert run(f"→ prune a7{mark}x2") == ["✗"]


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\\n"])
def test_only_a_line_feed_begins_a_line(end: str) -> None:
    assert run(f"text{end}→ prune a7x2") == []


def test_lines_in_a_row_are_one_batch_blank_lines_allowed() -> None:
    text = f"before\n\n{VIEW}\n\n  \n{VIEW}\n\nbetween\n{VIEW}\n"
    kinds = [type(segment) for segment in parted(text)]
    assert kinds == [Prose, Batch, Prose, Batch]
    batches = [segment for segment in parted(text) if isinstance(segment, Batch)]
    assert [len(batch.commands) for batch in batches] == [2, 1]
    assert [batch.closed for batch in batches] == [True, False]


@pytest.mark.parametrize(
    ("tail", "closed"),
    [
        *(
            ("", False),
            ("\n", False),
            ("\n ", False),
            ("\n-", False),
            ("\n-> vi", False),
            ("\n   -", False),
        ),
        *(
            ("\nA", True),
            ("\n-x", True),
            ("\n-> and so\n", True),
            ("\n```", True),
        ),
    ],
)
def test_a_batch_is_closed_when_nothing_can_be_added(tail: str, closed: bool) -> None:
    segments = parted(f"{VIEW}\n{tail}", finished=False)
    batch = next(segment for segment in segments if isinstance(segment, Batch))
    assert batch.closed is closed


@pytest.mark.parametrize("text", ["→ respond\nhalf a te", "→ respond\nhalf\n", "→ prune a7x2"])
def test_what_is_cut_off_is_not_run_and_its_text_is_kept(text: str) -> None:
    assert run(f"{VIEW}\n{text}", finished=False) == [VIEW, "✗"]
    assert commands(text, finished=False)[0].text == text
    assert len(run(text)) == 1
    assert "✗" not in run(text)


def test_a_lone_closer_after_a_quoted_text_parts_no_batch() -> None:
    text = f'→ annotate a7x2 "x"\n←\n{VIEW}\n←\n{PRUNE}\nB'
    (batch,) = (segment for segment in parted(text) if isinstance(segment, Batch))
    assert [command.line.canonical for command in batch.commands if command.line][1:] == [
        VIEW,
        PRUNE,
    ]


def test_a_closed_block_and_a_whole_line_are_run_though_the_reply_is_cut_off() -> None:
    assert run("→ respond\none\n←", finished=False) == ['→ respond "one"']
    assert run(f"{VIEW}\nand th", finished=False) == [VIEW]


def test_escaped_arrows_are_prose_with_the_arrow_itself_but_not_in_fences() -> None:
    text = "\\→ a\n \\-> b\nc \\→ d\n```\n\\→ e\n```\n"
    assert prose_of(parted(text)) == "→ a\n -> b\nc \\→ d\n```\n\\→ e\n```"


@pytest.mark.parametrize("answer", ["✓", "✓ 2 hits", "✗ nothing", "✓ done\n  a detail", "\n✔ so"])
def test_an_invented_answer_ends_the_batch_and_is_no_prose(answer: str) -> None:
    text = f"{VIEW}\n{answer}\n{PRUNE}"
    first, *_, last = (segment for segment in parted(text) if isinstance(segment, Batch))
    assert [command.line.canonical for command in first.commands if command.line] == [VIEW]
    assert [command.line.canonical for command in last.commands if command.line] == [PRUNE]
    assert first.closed
    assert prose_of(parted(text)) == ""


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        (f"A\n\n{VIEW}\n\nB\n", "A\n\nB"),
        (f"A\n{VIEW}\nB", "A\nB"),
        (f"A\n{VIEW}\n\n\nB", "A\n\nB"),
        (f"\n\n{VIEW}\n  B  \n\n", "  B"),
        (f"A  \n{VIEW}\n\n→ respond\nx\n←\n\n{VIEW}", "A"),
        (f"A\n{VIEW}\n\n{VIEW}\nB\n\n\nC", "A\nB\n\n\nC"),
        (VIEW, ""),
        ('A\n→ annotate a7x2 "x"\n←\nB', "A\nB"),
        ('→ annotate a7x2 "x"\n\n←\n\nB', "B"),
        ("A\n←\nB", "A\n←\nB"),
    ],
)
def test_prose_closes_up_where_commands_stood(text: str, prose: str) -> None:
    assert prose_of(parted(text)) == prose


PIECES = st.sampled_from(
    [
        *("→ view a7x2", "-> prune a7x2", "→ respond", '→ respond "x"', "→ x", "→", "→ edit b3k9"),
        *("←", " ←", "```", "~~~", "````", "- ```", "> → prune a7x2", "\\→ a", "\\-> b", "", "  "),
        *("prose", "\r", '→ respond "open', 'close"', "   → view a7x2", "⇒ view a7x2", "\u200b"),
        "→ what is under b3k9?",
    ]
)
replies = st.lists(PIECES | st.text(max_size=12), max_size=25).map("\n".join)


@given(text=replies, finished=st.booleans())
@settings(max_examples=tries(300))
def test_segments_span_the_whole_reply_and_each_command_reads_as_it_stands(
    text: str, finished: bool
) -> None:
    segments = parted(text, finished=finished)
    assert "".join(text[segment.start : segment.end] for segment in segments) == text
    assert [segment.start for segment in segments[1:]] == [segment.end for segment in segments[:-1]]
    for batch in (segment for segment in segments if isinstance(segment, Batch)):
        assert batch.commands
        for command in batch.commands:
            raw = text[batch.start : batch.end]
            assert command.text.removeprefix("→ ") in raw  # its marks are left away
            assert (command.line is None) != (command.bad is None)
            if command.line is not None:
                assert read(command.text, VERBS) == command.line
            assert command.bad is None or isinstance(command.bad, ParseError)


@given(text=replies)
@settings(max_examples=tries(200))
def test_no_line_runs_that_does_not_begin_with_an_arrow(text: str) -> None:
    for command in commands(text):
        if command.near:
            assert command.line is None
            continue
        start = command.text.lstrip(" \t")
        assert start.startswith(("→", "->"))
        assert len(command.text) - len(start) <= 2


@given(text=replies, mark=st.sampled_from(["> ", "| ", "\u200b", ". "]))
@settings(max_examples=tries(100))
def test_a_reply_quoted_line_by_line_runs_nothing(text: str, mark: str) -> None:
    assert run("\n".join(mark + line for line in text.split("\n"))) == []


@given(text=replies)
@settings(max_examples=tries(100))
def test_a_reply_in_a_longer_fence_runs_nothing(text: str) -> None:
    assert run(f"`````````\n{text}\n`````````") == []


@given(text=replies, size=st.integers(0, 400))
@settings(max_examples=tries(200))
def test_what_runs_of_a_reply_cut_off_runs_of_the_whole_too(text: str, size: int) -> None:
    part = run(text[:size], finished=False)
    if "✗" in part[:-1]:  # what follows may turn out to be its block
        return
    sure = [line for line in part if line != "✗"]
    assert [line for line in run(text) if line != "✗"][: len(sure)] == sure


@pytest.mark.parametrize("line", ["→ x", '→ respond "', "```", "→ respond\n←", "\\→", "→ x\n\n"])
def test_long_replies_are_parted(line: str) -> None:
    assert parted((line + "\n") * 5_000)
