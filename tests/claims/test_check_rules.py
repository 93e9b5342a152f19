"""What each kind of check says about a text, and in which time."""

import pytest

from loom.claims.commands.judging import read_answer
from loom.claims.rules.checks import MAX_PARSED, checked_parameters, run
from loom.errors import CommandError


@pytest.mark.parametrize(
    ("kind", "parameters", "text", "passed", "expected"),
    [
        ("contains", {"text": "Lamp"}, "the lamp", True, ""),
        ("contains", {"text": "lamp"}, "dark", False, '"lamp" is not there'),
        ("absent", {"text": "lamp"}, "dark", True, ""),
        ("absent", {"text": "lamp"}, "lamp Lamp", False, '"lamp" is there 2 times'),
        ("max_words", {"n": 2}, "a b", True, "2 ≤ 2"),
        ("max_words", {"n": 2}, "a b c", False, "3 > 2"),
        ("min_words", {"n": 2}, "a", False, "1 < 2"),
        ("min_words", {"n": 1}, "a b", True, "2 ≥ 1"),
        ("regex", {"pattern": r"^# \w+"}, "# Title", True, ""),
        ("regex", {"pattern": r"\d{4}"}, "no year", False, r"nothing matches \d{4}"),
        ("json", {}, '{"a": 1}', True, ""),
        ("json", {}, f"[{'1' * 60_000}, -{'1' * 60_000}]", True, ""),
        ("json", {}, "{", False, "Expecting property name enclosed in double quotes"),
        ("python", {}, "a = 1\nprint(a)", True, ""),
        ("python", {}, "a = = 1", False, "line 1: invalid syntax"),
    ],
)
def test_a_check_measures_a_text(
    kind: str, parameters: dict[str, object], text: str, passed: bool, expected: str
) -> None:
    outcome = run(kind, parameters, text)
    assert outcome.passed is passed
    assert outcome.said.startswith(expected) if expected else outcome.said == ""


@pytest.mark.parametrize("kind", ["json", "python"])
@pytest.mark.parametrize("text", ["[" * 200_000, "-" * 200_000, "1" * 200_000, "(" * 50_000])
def test_a_hostile_text_breaks_nothing(kind: str, text: str) -> None:
    """A number of any length is JSON; Python reads no such number."""
    assert run(kind, {}, text).passed is (kind == "json" and text.isdigit())


def test_a_text_that_is_too_long_is_not_parsed() -> None:
    assert run("python", {}, "a\n" * MAX_PARSED).said.startswith("longer than")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(a?){50}a{50}$"])
def test_no_pattern_makes_a_text_slow(pattern: str) -> None:
    """RE2 reads each letter once, whatever the pattern; `re` would need years here."""
    assert run("regex", {"pattern": pattern}, "a" * 100_000 + "b").passed is False


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("spelling", {}),
        ("max_words", {}),
        ("max_words", {"n": 0}),
        ("max_words", {"n": True}),
        ("max_words", {"n": "5"}),
        ("max_words", {"n": 5, "text": "a"}),
        ("contains", {"text": " "}),
        ("contains", {"text": "a" * 1001}),
        ("json", {"a": 1}),
        ("regex", {"pattern": "(?=a)"}),
        ("regex", {"pattern": r"(a)\1"}),
        ("regex", {"pattern": "("}),
        ("regex", {"pattern": "((a{100}){100}){100}"}),
    ],
)
def test_bad_parameters_get_a_sentence_and_a_hint(kind: str, parameters: dict[str, object]) -> None:
    with pytest.raises(CommandError) as caught:
        checked_parameters(kind, parameters)
    assert caught.value.code == "INVALID_SYNTAX"
    assert caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("answer", "outcome", "reason"),
    [
        ("yes - it names the year", "passed", "it names the year"),
        ("**No.** The year is missing.", "failed", "The year is missing."),
        ("Unsure: it says neither", "unsure", "it says neither"),
        ("I think so", "unsure", "I think so"),
        ("yesterday", "unsure", "yesterday"),
        ("", "unsure", ""),
    ],
)
def test_the_answer_of_a_judge_is_read(answer: str, outcome: str, reason: str) -> None:
    assert read_answer(answer) == (outcome, reason)
