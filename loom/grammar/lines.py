"""A command line: what it says, and its one canonical form.

Source: model.md §5. Only canonical wording is read here; other wordings are rules that
come before the forms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loom.grammar.bad import Bad, short, unread
from loom.grammar.forms import Form, syntax
from loom.grammar.reading import Reading
from loom.grammar.refs import refuse_controls
from loom.grammar.tokens import tokens_of
from loom.grammar.verbs import Verbs, first_word, without_arrow
from loom.grammar.writing import CLOSER, write_line

__all__ = ["Line", "read", "write"]

MAX_LINE_BYTES = 64 * 1024


@dataclass(frozen=True)
class Line:
    """One command: its verb, which of the verb's forms, a value for every part."""

    verb: str
    form: int
    values: Mapping[str, object]
    because: str = ""
    canonical: str = ""


def read(text: str, forms: Mapping[str, Sequence[Form]], aliases: Mapping[str, str]) -> Line:
    """The command that `text` is: one line, its arrow optional, its block below it.

    The first form of the verb that reads it counts. Raises Bad: INVALID_SYNTAX,
    LIMIT_EXCEEDED for a line over 64 KiB (its block not counted) or a number over its
    maximum, NOT_FOUND for a number that no window, task or step can have.
    """
    refuse_controls(text)
    line, newline, rest = text.partition("\n")
    _demand_size(line)
    verbs = Verbs(forms, aliases)
    verb, arguments = verbs.split(line)
    tokens = tokens_of(arguments)
    failures: list[tuple[bool, int, Bad]] = []
    for number, form in enumerate(forms[verb]):
        reading = Reading(form, tokens)
        try:
            values = _with_block(reading, rest if newline else None, verbs)
        except Bad as bad:
            failures.append((bad.code != "INVALID_SYNTAX", reading.at, bad))
            continue
        because = reading.because or ""
        canonical = write(verb, form, values, because)
        _demand_size(canonical.partition("\n")[0])
        return Line(verb, number, values, because, canonical)
    raise _best(failures)


def write(verb: str, form: Form, values: Mapping[str, object], because: str = "") -> str:
    """The canonical line of a form's values, with its arrow, and its block if it has one."""
    assert form.verb == verb
    return write_line(form, values, because=because)


def _best(failures: list[tuple[bool, int, Bad]]) -> Bad:
    """What to say where no form reads a line: a limit, else what was followed furthest."""
    return max(failures, key=lambda failure: failure[:2])[2]


def _demand_size(line: str) -> None:
    if len(line) * 4 > MAX_LINE_BYTES and len(line.encode()) > MAX_LINE_BYTES:
        raise Bad(
            "LIMIT_EXCEEDED",
            "A line is at most 64 KiB without its block.",
            "write long text in the lines below, closed by ←",
        )


def _with_block(reading: Reading, below: str | None, verbs: Verbs) -> dict[str, object]:
    """The values of a line together with its block, if it wants one."""
    values = reading.values()
    block = reading.plan.block
    if reading.wants_block and block is not None:
        if below is None:
            raise _no_content(reading.form)
        values[block.name], below = _cut(below)
    if below and below.strip(" \t\r\n"):
        raise _too_much(below, verbs)
    return values


def _cut(below: str) -> tuple[str, str]:
    """The content of a block, and what stands after the line that closes it."""
    closer = CLOSER.search(below) if "←" in below else None
    if closer is None:
        return below, ""
    return below[: max(0, closer.start() - 1)], below[closer.end() :]


def _no_content(form: Form) -> Bad:
    return unread(
        f"{form.verb} needs a text.",
        f'write → {syntax(form)}, the text in "quotes" or in the lines below, closed by ←',
    )


def _too_much(below: str, verbs: Verbs) -> Bad:
    first = next(line for line in below.split("\n") if line.strip(" \t\r")).strip(" \t\r")
    if verbs.verb_of(first_word(without_arrow(first))) is not None:
        return unread("These are several commands.", "give one at a time")
    return unread(
        f"{short(first)} belongs to no command.",
        "only a command that lacks its text reads the lines below it, up to ←",
    )
