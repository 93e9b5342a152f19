"""Checks of a text: the kinds with their parameters, and what each says about a text. Pure, and
linear in the length of the text (docs/model.md §2.1)."""

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import re2

from loom.errors import CommandError
from loom.language.refs import quote

Kind = Literal["contains", "absent", "max_words", "min_words", "regex", "json", "python", "judge"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MAX_WORDS = 1_000_000  # that a check may demand
MAX_PATTERN = 500  # characters
MAX_TEXT = 1_000  # characters of the words to look for, and of the question of a judge
MAX_SAID = 80  # characters of what a parser says
MAX_PARSED = 262_144  # characters of a text that is parsed
PATTERN_BYTES = 4 * 1024 * 1024  # memory of a compiled pattern

# The parameter of each kind: its name and type. `json` and `python` have none.
PARAMETER: Mapping[str, tuple[str, type]] = {
    "contains": ("text", str),
    "absent": ("text", str),
    "max_words": ("n", int),
    "min_words": ("n", int),
    "regex": ("pattern", str),
    "judge": ("question", str),
}


@dataclass(frozen=True)
class Outcome:
    """What a check says about a text: `passed`, and in `said` what it measured, such as
    `612 > 500`; "" if there is nothing to add."""

    passed: bool
    said: str = ""


def checked_parameters(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a check as they are stored. Raises CommandError INVALID_SYNTAX for an
    unknown kind, for missing, unknown or empty parameters, and for a pattern that RE2 cannot
    read."""
    if kind not in KINDS:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no kind of check {kind!r}.", hint=" or ".join(KINDS)
        )
    if kind not in PARAMETER:
        if given:
            raise CommandError("INVALID_SYNTAX", f"{kind} has no parameters.", hint="send {}")
        return {}
    name, type_ = PARAMETER[kind]
    value = given.get(name)
    if set(given) != {name} or not isinstance(value, type_) or isinstance(value, bool):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{kind} has one parameter, {name}.",
            hint=f'such as {{"{name}": {"500" if type_ is int else quote("a lamp")}}}',
        )
    if isinstance(value, int):
        return {name: _number(kind, value)}
    return {name: _words(kind, name, str(value))}


def _number(kind: str, value: int) -> int:
    if not 1 <= value <= MAX_WORDS:
        raise CommandError(
            "INVALID_SYNTAX", f"{kind} is a number from 1 to {MAX_WORDS:,}.", hint='{"n": 500}'
        )
    return value


def _words(kind: str, name: str, value: str) -> str:
    most = MAX_PATTERN if kind == "regex" else MAX_TEXT
    if not value.strip() or len(value) > most or "\0" in value:
        raise CommandError(
            "INVALID_SYNTAX", f"{name} has 1 to {most} characters.", hint="such as a lamp"
        )
    if kind == "regex":
        compiled(value)
    return value


def compiled(pattern: str) -> Any:
    """The pattern for RE2, which reads any text in linear time. Raises CommandError INVALID_SYNTAX
    if RE2 cannot read it: it knows no look-around and no back-references."""
    options = re2.Options()
    options.max_mem = PATTERN_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "it can't be read"
        message = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise CommandError(
            "INVALID_SYNTAX",
            f"The pattern can't be used: {message}.",
            hint="RE2 syntax: no look-around and no back-references",
        ) from None


def run(kind: str, parameters: Mapping[str, Any], text: str) -> Outcome:
    """What a check of any kind but `judge` says about a text."""
    if kind in ("contains", "absent"):
        times = text.casefold().count(str(parameters["text"]).casefold())
        words = quote(_start(str(parameters["text"])))
        if kind == "contains":
            return Outcome(times > 0, "" if times else f"{words} is not there")
        return Outcome(times == 0, f"{words} is there {_times(times)}" if times else "")
    if kind in ("max_words", "min_words"):
        return _counted(kind, int(parameters["n"]), len(text.split()))
    if kind == "regex":
        pattern = str(parameters["pattern"])
        is_there = compiled(pattern).search(text) is not None
        return Outcome(is_there, "" if is_there else f"nothing matches {_start(pattern)}")
    return _parsed(kind, text)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _start(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def _counted(kind: str, wanted: int, count: int) -> Outcome:
    if kind == "max_words":
        return Outcome(count <= wanted, f"{count} {'≤' if count <= wanted else '>'} {wanted}")
    return Outcome(count >= wanted, f"{count} {'≥' if count >= wanted else '<'} {wanted}")


def _parsed(kind: str, text: str) -> Outcome:
    if len(text) > MAX_PARSED:
        return Outcome(False, f"longer than {MAX_PARSED:,} characters")
    try:
        if kind == "json":
            json.loads(text, parse_int=str)  # of any length, as JSON has it
        else:
            ast.parse(text)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno else ""
        return Outcome(False, f"{place}{error.msg[:MAX_SAID]}")
    except (RecursionError, MemoryError):
        return Outcome(False, "nested too deeply")
    except ValueError as error:
        return Outcome(False, str(error)[:MAX_SAID])
    return Outcome(True)


def named(name: str, outcome: Outcome) -> str:
    """`max_words 612 > 500`."""
    return f"{name} {outcome.said}".rstrip()
