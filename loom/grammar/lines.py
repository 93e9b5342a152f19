"""A command line: what it says, and its one canonical form.

Source: model.md §5. Only canonical wording is read here; other wordings are rules that
come before the forms.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loom.grammar.bad import Bad, short, unread
from loom.grammar.forms import Form, Part, syntax
from loom.grammar.reading import Reading
from loom.grammar.refs import refuse_controls
from loom.grammar.tokens import tokens_of
from loom.grammar.verbs import candidates
from loom.grammar.writing import CLOSER, write_line

__all__ = ["Line", "read", "write"]

MAX_LINE_BYTES = 64 * 1024
MAX_BLANKS = 2
ARROWS = ("→", "->")
_BLANK = " \t"
_VERB = re.compile(r"[^ \t]+")

Forms = Mapping[str, Sequence[Form]]


@dataclass(frozen=True)
class Line:
    """One command: its verb, which of the verb's forms, a value for every part."""

    verb: str
    form: int
    values: Mapping[str, object]
    because: str = ""
    canonical: str = ""


def read(text: str, forms: Forms, aliases: Mapping[str, str]) -> Line:
    """The command that `text` is: one line, its arrow optional, its block below it.

    The first form of the verb that reads it counts. Raises Bad: INVALID_SYNTAX, or
    LIMIT_EXCEEDED for a line over 64 KiB (its block not counted) or a number over its
    maximum.
    """
    refuse_controls(text)
    line, newline, rest = text.partition("\n")
    _demand_size(line)
    verb, arguments = _split(line, forms, aliases)
    tokens = tokens_of(arguments)
    below = rest if newline else None
    failures: list[tuple[bool, int, Bad]] = []
    for number, form in enumerate(forms[verb]):
        reading = Reading(form, tokens)
        try:
            values = _with_block(reading, below, forms, aliases)
        except Bad as bad:
            failures.append((bad.code != "INVALID_SYNTAX", reading.at, bad))
            continue
        because = reading.because or ""
        canonical = write(verb, form, values, because)
        _demand_size(canonical.partition("\n")[0])
        return Line(verb, number, values, because, canonical)
    raise max(failures, key=lambda failure: failure[:2])[2]


def write(verb: str, form: Form, values: Mapping[str, object], because: str = "") -> str:
    """The canonical line of a form's values, with its arrow, and its block if it has one."""
    assert form.verb == verb
    return write_line(form, values, because=because)


def _demand_size(line: str) -> None:
    if len(line) > MAX_LINE_BYTES or (
        len(line) * 4 > MAX_LINE_BYTES and len(line.encode()) > MAX_LINE_BYTES
    ):
        raise Bad(
            "LIMIT_EXCEEDED",
            "A line is at most 64 KiB without its block.",
            "write long text in the lines below, closed by ←",
        )


def _split(line: str, forms: Forms, aliases: Mapping[str, str]) -> tuple[str, str]:
    """The verb, and what stands after it on its line."""
    body = line.rstrip(" \t\r").lstrip(_BLANK)
    if not body:
        raise unread("There is no command.", "write one, such as → view here")
    if len(line) - len(line.lstrip(_BLANK)) > MAX_BLANKS:
        raise unread("A command stands after at most two blanks.", "write it at the line's start")
    word = _first_word(body)
    verb = verb_of(word, forms, aliases)
    if verb is None:
        raise _unknown(word, forms, aliases)
    return verb, _bare(body)[len(word) :]


def _bare(body: str) -> str:
    for arrow in ARROWS:
        if body.startswith(arrow):
            return body[len(arrow) :].lstrip(_BLANK)
    return body


def _first_word(body: str) -> str:
    match = _VERB.match(_bare(body))
    return match[0] if match else ""


def verb_of(word: str, forms: Forms, aliases: Mapping[str, str]) -> str | None:
    """The verb that a word is, or is another word for."""
    low = word.lower()
    verb = low if low in forms else aliases.get(low)
    return verb if verb in forms else None


def _unknown(word: str, forms: Forms, aliases: Mapping[str, str]) -> Bad:
    if not word:
        return unread("There is no command after the arrow.", "write one, such as → view here")
    near = candidates(word, forms, aliases)
    hint = f"did you mean: {', '.join(near)}" if near else "→ help lists the commands"
    return Bad("INVALID_SYNTAX", f"There is no command {short(word)}.", hint, near)


def _with_block(
    reading: Reading, below: str | None, forms: Forms, aliases: Mapping[str, str]
) -> dict[str, object]:
    """The values of a line together with its block, if it wants one."""
    values = reading.values()
    block = reading.plan.block
    if reading.wants_block and block is not None:
        if below is None:
            raise _no_content(reading.form, block)
        values[block.name], below = _cut(below)
    if below and below.strip(" \t\r\n"):
        raise _too_much(below, forms, aliases)
    return values


def _cut(below: str) -> tuple[str, str]:
    """The content of a block, and what stands after the line that closes it."""
    closer = CLOSER.search(below) if "←" in below else None
    if closer is None:
        return below, ""
    return below[: max(0, closer.start() - 1)], below[closer.end() :]


def _no_content(form: Form, block: Part) -> Bad:
    return unread(
        f"{form.verb} needs a text{f' after {block.lead}' if block.lead else ''}.",
        f'write → {syntax(form)}: the text in "quotes", or in the lines below, closed by ←',
    )


def _too_much(below: str, forms: Forms, aliases: Mapping[str, str]) -> Bad:
    first = next(line for line in below.split("\n") if line.strip(" \t\r"))
    body = first.strip(" \t\r")
    if verb_of(_first_word(body), forms, aliases) is not None:
        return unread("These are several commands.", "give one at a time")
    return unread(
        f"{short(body)} belongs to no command.",
        "only a command that lacks its text reads the lines below it",
    )
