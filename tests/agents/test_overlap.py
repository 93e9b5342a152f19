"""Where an answer meets its text: what is taken off, and which blanks stand between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.context.overlap import Overlap
from agents.context.subject_request import PLAIN
from loom.participants.provider_kinds import WAYS

TEXT = "It was late.\n\nThe old clock struck nine, and Marie opened the"
ENDS = st.sampled_from(
    [
        "",
        TEXT,
        f"{TEXT} ",
        f"{TEXT}\n\n",
        f"{TEXT} cham",
        "no, no, no",
        "古い時計が九時を",
        "aaa a aaa a",
    ]
)
TEXTS = st.one_of(ENDS, st.text(max_size=60))
ANSWERS = st.one_of(
    st.text(max_size=60),
    st.builds(
        lambda text, at, more: text[at:] + more, TEXTS, st.integers(0, 40), st.text(max_size=9)
    ),
)


def joined(text: str, way: str, *pieces: str) -> tuple[str, str]:
    """(what the new node holds, the note)."""
    overlap = Overlap(text, way)
    shown = "".join(overlap.feed(piece) for piece in pieces)
    return shown + overlap.rest(), overlap.note


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(at % (len(text) + 1) for at in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "way", "answer", "stands"),
    [
        # Few words that were asked for, a whole sentence, the whole text.
        (TEXT, "instruction", "Marie opened the door.", " door."),
        (TEXT, "few_shot", "the door.", " door."),
        (TEXT, "instruction", "The old clock struck nine, and Marie opened the door.", " door."),
        (TEXT, "instruction", f"{TEXT} door.", " door."),
        (TEXT, PLAIN, f"{TEXT} door.", " door."),
        (TEXT, "prefill", f"{TEXT} door.", " door."),
        # In the middle of a word.
        (f"{TEXT} cham", "instruction", "opened the chamber.", "ber."),
        (f"{TEXT} cham", "prefill", "ber.", "ber."),
        # Too little to be meant, and nobody asked for it.
        ("Row, row, row", PLAIN, "row your boat", "row your boat"),
        ("no, no", "prefill", "no, no, never", "no, no, never"),
        # The beginning of a word is no repetition of one.
        ("He was a", "instruction", "answerable man", " answerable man"),
        # Blanks that the text has are not doubled; those it lacks are put there.
        ("Once upon a ", "prefill", " time", "time"),
        ("Once upon a ", "instruction", "time", "time"),
        ("Once upon a ", "instruction", "upon a time", "time"),
        ("Once.\n\n", "prefill", "\n\nThen", "Then"),
        ("Once.\n\n", "prefill", "\n\n\nThen", "\nThen"),
        ("Once.\n", "prefill", " Then", "Then"),
        ("Once. ", "prefill", "\n\nThen", "\n\nThen"),
        ("def f():\n", "instruction", "    return 1", "    return 1"),
        ("def f():\n", "prefill", "\n    return 1", "    return 1"),
        ("Once upon a", "instruction", "time", " time"),
        ("He came.", "few_shot", "She left.", " She left."),
        ("He came", "instruction", ", saw", ", saw"),
        ('He said, "', "instruction", "Come", "Come"),
        ('"Come," he said,', "instruction", '"now."', ' "now."'),
        ('He said, "come', "instruction", '" and left', '" and left'),
        ("Once upon a", "prefill", "time", "time"),
        ("Once upon a", PLAIN, "time", "time"),
        ("a well-", "instruction", "known man", "known man"),
        ("古い時計が", "instruction", "鳴った", "鳴った"),
        ("古い時計が九時を打って", "instruction", "九時を打って、止まった", "、止まった"),
        ("", "instruction", "Once", "Once"),
    ],
)
def test_an_answer_meets_its_text(text: str, way: str, answer: str, stands: str) -> None:
    assert joined(text, way, answer)[0] == stands


def test_what_was_done_is_reported() -> None:
    assert joined(TEXT, "instruction", "Marie opened the door")[1] == (
        "took off 16 characters that repeat the end of the text"
    )
    assert joined("One ", "prefill", " two")[1] == "took off the blanks that the text ends with"
    assert joined("One", "instruction", "two")[1] == "put a blank before it"
    assert joined("One", "prefill", " two")[1] == ""


def test_an_answer_that_repeats_nothing_waits_for_nothing() -> None:
    overlap = Overlap(TEXT, "instruction")
    assert overlap.feed("Zebras") == " Zebras"
    assert not overlap.holds


def test_a_long_text_that_is_said_again_is_shown_only_where_it_goes_on() -> None:
    text = "".join(f"Sentence number {n} stands here. " for n in range(500)).rstrip()
    overlap = Overlap(text, PLAIN)
    assert all(not overlap.feed(text[at : at + 9]) for at in range(0, len(text), 9))
    assert overlap.feed(" And") + overlap.feed(" so on.") == " And so on."


@given(TEXTS, st.sampled_from([PLAIN, *WAYS]), ANSWERS, st.lists(st.integers(0, 80), max_size=6))
def test_however_an_answer_is_cut_the_same_stands(
    text: str, way: str, answer: str, places: list[int]
) -> None:
    assert joined(text, way, *cut(answer, places)) == joined(text, way, answer)


@given(TEXTS, st.sampled_from([PLAIN, *WAYS]), ANSWERS)
def test_only_the_beginning_of_an_answer_is_touched(text: str, way: str, answer: str) -> None:
    stands, note = joined(text, way, answer)
    if note == "put a blank before it":
        assert stands == f" {answer}" and not text[-1].isspace() and not answer[0].isspace()
        return
    assert answer.endswith(stands)
    assert bool(note) == (stands != answer)
    taken = answer[: len(answer) - len(stands)].strip()
    assert text.rstrip().endswith(taken)


@given(st.text(max_size=80), st.sampled_from(["prefill", "continue_final"]), st.text(max_size=40))
def test_a_turn_that_goes_on_gives_the_text_a_model_meant(text: str, way: str, more: str) -> None:
    core = text.rstrip()
    stands, _ = joined(text, way, more)
    if not text[len(core) :] and core and not more.lstrip().startswith(core):
        assert stands == more
