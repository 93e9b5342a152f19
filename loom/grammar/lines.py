"""One line as a request: read from text, and printed in its canonical form."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from loom.grammar.form_matching import MOST, Verbs, first_word, without_arrow
from loom.grammar.forms import Form, Part, print_value, syntax
from loom.grammar.line_reader import Reading
from loom.grammar.refs import Ref, print_ref, refuse_controls
from loom.grammar.synonyms import ENDS, OTHER_TYPES, TYPES
from loom.grammar.tokens import (
    AmbiguousError,
    MisreadError,
    ParseError,
    Token,
    quote,
    short,
    tokens_of,
    unread,
)
from loom.grammar.wording import meant, suggestions, variants

# Printed values: the canonical line, and the small printers that replies share.


CLOSER = re.compile(r"^←[ \t\r]*+$", re.MULTILINE)
LONG = 120  # characters of content that still fit in a quote
STORED_WHOLE = 240  # characters of content that a stored line keeps; longer ones are named
FIRST_WORDS = 8
FIRST_CHARACTERS = 60
_PLAIN_TAG = re.compile(r"[\w-]+")


def write_line(form: Form, values: Mapping[str, object], *, because: str) -> str:
    """The canonical line with its arrow; defaults left out, long content as a block."""
    pieces = ["→ " + form.verb]
    block: str | None = None
    for part in form.parts:
        value = values.get(part.name, part.absent)
        if part.kind == "content" and isinstance(value, str) and _is_block(value):
            block = value
            pieces.append(part.lead)
        elif _is_written(part, value):
            pieces += _written(part, value)
    if because:
        pieces.append(f"because:{quote(because)}")
    line = " ".join(piece for piece in pieces if piece)
    return line if block is None else f"{line}\n{block}\n←"


def _is_block(content: str) -> bool:
    return ("\n" in content or len(content) > LONG) and not CLOSER.search(content)


def _is_written(part: Part, value: object) -> bool:
    if part.optional or part.kind == "flag":
        return value is not None and value != part.absent
    return value is not None


def _written(part: Part, value: object) -> list[str]:
    if part.kind == "option":
        return [f"{part.key}:{print_value(part, value)}"]
    if part.kind == "flag":
        return [part.word]
    lead = [part.lead] if part.lead and part.kind != "word" else []
    if isinstance(value, tuple):
        return [*lead, *(_one(part, one) for one in cast("Sequence[object]", value))]
    return [*lead, _one(part, value)]


def _one(part: Part, value: object) -> str:
    if isinstance(value, Ref):
        return print_ref(value)
    text = str(value)
    if part.kind == "tags":
        return f"#{text if _PLAIN_TAG.fullmatch(text) else quote(text)}"
    return quote(text) if part.kind in ("quoted", "content") else text


# What stands for a text in a stored line. No form reads it: such a line cannot be run again.
_NAMED = re.compile(r'[ \n]"[^"\n]*…" \([\d,]+ characters, sha256 ([0-9a-f]{64})\)')


def named(text: str) -> str:
    """What a stored line says in place of a long text that a node holds: its first words,
    its length and its digest. `"It was…" (100,000 characters, sha256 …)`."""
    words = text[: FIRST_CHARACTERS * 4].replace('"', "'").replace("\\", "/").split()
    first = " ".join(words[:FIRST_WORDS])[:FIRST_CHARACTERS].rstrip()
    return f'"{first}…" ({len(text):,} characters, sha256 {digest_of(text)})'


def block_of(canonical: str) -> str:
    """The content of a canonical line that is written as a block; "" where it has none."""
    _, _, block = canonical.partition("\n")
    return block.removesuffix("\n←")


def shortened(canonical: str) -> str:
    """A canonical line as it is stored where a node holds its content: a long block is
    replaced by its name. `→ respond [a7x2] "It was…" (100,000 characters, sha256 …)`.

    Lines without a long block come back unchanged. Content that holds a closing line (`←`)
    is in quotes, not in a block, and stays.
    """
    block = block_of(canonical)
    if len(block) <= STORED_WHOLE:
        return canonical
    return f"{canonical.partition(chr(10))[0]} {named(block)}"


def digest_named(line: str) -> str:
    """The SHA-256 of the text that a stored line only names; "" where it names none."""
    found = _NAMED.search(line)
    return found[1] if found else ""


def digest_of(text: str) -> str:
    """The hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def without_name(line: str) -> str:
    """A stored line without the name of its text; any other line as it is."""
    return _NAMED.sub(" …", line)


# Small printers that replies share: ages, first words, counts of words.


MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
SUMMARY_WORDS = 30
SUMMARY_CHARACTERS = 300


def age(now: datetime, then: datetime) -> str:
    """`now`, `3m ago`, `2h ago`, `5d ago`."""
    seconds = int((now - then).total_seconds())
    if seconds < MINUTE_S:
        return "now"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S}m ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S}h ago"
    return f"{seconds // DAY_S}d ago"


def excerpt(text: str, words: int = SUMMARY_WORDS) -> str:
    """The first words in quotes, on one line; `…` says that there are more.

    A text of so few words is its own summary. Where words have no end, as in scripts
    without blanks, 300 characters count as enough.
    """
    head = text[: SUMMARY_CHARACTERS * 8]
    parts = head.split(None, words)
    line = " ".join(parts[:words])
    cut = len(parts) > words or (len(head) < len(text) and bool(text[len(head) :].strip()))
    if len(line) > SUMMARY_CHARACTERS:
        line, cut = line[:SUMMARY_CHARACTERS].rstrip(), True
    return f'"{line}…"' if cut else f'"{line}"'


def words(count: int) -> str:
    """`1 word`, `1,247 words`."""
    return f"{count:,} {'word' if count == 1 else 'words'}"


PART_CHARACTERS = 12_000  # of a part of a long reply: about 3,000 tokens
_NEAR = 2_000  # characters before the end of a part in which a line or word end is looked for


def parts_of(text: str) -> list[str]:
    """A long reply in parts of at most PART_CHARACTERS, which joined are the text; each ends
    after a line where one ends near, else after a word."""
    parts, start = [], 0
    while len(text) - start > PART_CHARACTERS:
        end = start + PART_CHARACTERS
        for mark in ("\n", " "):
            at = text.rfind(mark, end - _NEAR, end)
            if at >= 0:
                end = at + 1
                break
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


__all__ = ["Line", "each_of", "read", "write"]

MAX_LINE_BYTES = 64 * 1024
_NODE = "node:"  # printed before an id without a digit, which may be no id but a word


@dataclass(frozen=True)
class Line:
    """One command: its verb, which of the verb's forms, a value for every part."""

    verb: str
    form: int
    values: Mapping[str, object]
    because: str = ""
    canonical: str = ""


def read(
    text: str,
    forms: Mapping[str, Sequence[Form]],
    aliases: Mapping[str, str],
    *,
    is_whole: bool = True,
) -> Line:
    """The command that `text` is: one line, its arrow optional, its block below it.

    The first form of the verb that reads it counts. Other wordings are read where all that
    the rules make of them is one line. Raises ParseError: INVALID_SYNTAX, LIMIT_EXCEEDED for a
    line over 64 KiB (its block not counted) or a number over its maximum, NOT_FOUND for a
    number that no window, task or step can have.
    """
    refuse_controls(text)
    line, newline, rest = text.partition("\n")
    _demand_size(line)
    verbs = Verbs(forms, aliases)
    body = verbs.body(line)
    below = rest if newline else None
    try:
        said = _canonical(body, below, verbs)
    except ParseError as bad:
        if bad.code != "INVALID_SYNTAX":
            raise
        try:
            return _in_other_words(body, below, verbs, bad)
        except ParseError as worse:
            raise (_with_suggestion(worse, body, below, verbs) if is_whole else worse) from None
    is_nobody = _NODE in said.canonical and _NODE not in line.lower()
    if is_nobody or _is_other_type(said) or _ends_in_punctuation(said):
        return _in_other_words(body, below, verbs, said)
    return said


def _is_other_type(line: Line) -> bool:
    """Whether `list` was read with another word for a type: `children`, `ancestors`."""
    kind = str(line.values.get("type", "")).lower() if line.verb == "list" else ""
    return kind in OTHER_TYPES or TYPES.get(kind, kind) != kind


def _ends_in_punctuation(line: Line) -> bool:
    """Whether the type of a link was read with the full stop that ended the line."""
    return str(line.values.get("type", "")).endswith((".", ";", "!"))


# Suggestions read a line again for each of its words, so long ones get none: without this bound
# a line of 64 KiB took more than five minutes.
MOST_SUGGESTED = 1000


def _with_suggestion(bad: ParseError, body: str, below: str | None, verbs: Verbs) -> ParseError:
    """The same refusal with the exact line to write, where one can be found."""
    if bad.code != "INVALID_SYNTAX" or isinstance(bad, AmbiguousError):
        return bad
    if len(body) > MOST_SUGGESTED:
        return bad
    if first_word(body).lower().strip(".!") in ENDS:
        return unread(bad.message, "a turn ends with a reply without commands: write your answer")
    head = body.rstrip().removesuffix("←").rstrip()
    if head != body.rstrip() and _takes_block(head, verbs):
        return unread(
            bad.message, f"write → {head}, the text in the lines below it, and ← alone on the last"
        )
    several = each_of(body, verbs)
    if several:
        return unread("A line names one item.", f"write {_each_on_its_line(several)}")
    if isinstance(bad, MisreadError) or verbs.verb_of(first_word(body)) is None:
        return _suggesting(bad, body, below, verbs)
    return bad


def _takes_block(head: str, verbs: Verbs) -> bool:
    try:
        _canonical(head, "a text\n←", verbs)
    except ParseError:
        return False
    return True


def _suggesting(bad: ParseError, body: str, below: str | None, verbs: Verbs) -> ParseError:
    try:
        return _first_readable(bad, body, below, verbs)
    except ParseError:  # a quote is not closed
        return bad


def _first_readable(bad: ParseError, body: str, below: str | None, verbs: Verbs) -> ParseError:
    for texts in suggestions(body, verbs):
        lines = [_suggested(text, below, verbs) for text in texts]
        if all(lines):
            return ParseError(
                bad.code, bad.message, f"write {_each_on_its_line(lines)}", bad.candidates
            )
    return bad


def _each_on_its_line(lines: Sequence[str]) -> str:
    shown = " and ".join(line.partition("\n")[0] for line in lines)
    return f"{shown}, each on its line" if len(lines) > 1 else shown


def _suggested(text: str, below: str | None, verbs: Verbs) -> str:
    """The canonical line of a text; "" where it is none, or takes a common word as an id."""
    try:
        line = read(f"→ {text}" if below is None else f"→ {text}\n{below}", *verbs, is_whole=False)
    except ParseError:
        return ""
    return "" if _NODE in line.canonical and _NODE not in text.lower() else line.canonical


def _canonical(body: str, below: str | None, verbs: Verbs) -> Line:
    """The line as the tables write it. Raises ParseError."""
    verb, arguments = verbs.split(body)
    tokens = tokens_of(arguments)
    failures: list[tuple[tuple[bool, int, int], ParseError]] = []
    for number, form in enumerate(verbs.forms[verb]):
        reading = Reading(form, tokens)
        try:
            values = _with_block(reading, below, verbs)
        except ParseError as bad:
            likeness = (bad.code != "INVALID_SYNTAX", reading.at, _own_words(form, tokens))
            failures.append((likeness, bad))
            continue
        because = reading.because or ""
        canonical = write(verb, form, values, because)
        _demand_size(canonical.partition("\n")[0])
        return Line(verb, number, values, because, canonical)
    raise _best(failures)


def _in_other_words(
    body: str, below: str | None, verbs: Verbs, otherwise: Line | ParseError
) -> Line:
    """The one line that the rules of wording make of a body; where they make none,
    `otherwise`: why it was not read, or how it was with a common word as an id."""
    try:
        tiers = variants(body, verbs)
    except ParseError as bad:
        raise (otherwise if isinstance(otherwise, ParseError) else bad) from None
    for wordings in tiers:
        line = _only_reading(wordings, below, verbs)
        if line is not None:
            return line
    if isinstance(otherwise, Line):
        return otherwise
    raise _none(otherwise, body, verbs)


def _only_reading(wordings: list[str], below: str | None, verbs: Verbs) -> Line | None:
    """The one line that these read as; None where none is read. Raises ParseError for several, and
    for one that is over a limit."""
    found: dict[str, Line] = {}
    over: list[ParseError] = []
    for wording in wordings:
        try:
            line = _canonical(wording, below, verbs)
            found[line.canonical] = line
        except ParseError as bad:
            over += [bad] if bad.code != "INVALID_SYNTAX" else []
    if len(found) > 1:
        raise _several(tuple(found), tuple(line.verb for line in found.values()))
    if over:
        raise over[0]
    return next(iter(found.values()), None)


def _several(lines: tuple[str, ...], verbs: tuple[str, ...]) -> ParseError:
    shown = " or ".join(line.partition("\n")[0] for line in lines[:MOST])
    return AmbiguousError(
        "INVALID_SYNTAX",
        "This line is ambiguous.",
        f"write {shown}",
        tuple(dict.fromkeys(verbs))[:MOST],
    )


def _none(bad: ParseError, body: str, verbs: Verbs) -> ParseError:
    """The refusal of a line whose verb is not known, with what may have been meant."""
    if verbs.verb_of(first_word(body)) is not None:
        return bad
    near = meant(body, verbs)
    return ParseError(
        bad.code, bad.message, f"did you mean: {', '.join(near)}" if near else bad.hint, near
    )


_ITEM = r"\[?(?:node:)?[a-z][0-9][a-z][0-9][a-z0-9]{0,4}\]?(?![A-Za-z0-9:\"])"
_AND = r"(?:[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+(?:and|&)[ \t]+)"
_ITEMS = re.compile(rf"(?:both[ \t]+)?(?<![A-Za-z0-9:\"])({_ITEM}(?:{_AND}{_ITEM}){{1,9}})", re.I)


def each_of(text: str, verbs: Verbs) -> tuple[str, ...]:
    """The lines that a line naming several items stands for, canonical; none where its verb
    does not read with each of them alone. `view a7x2 and b3k9` is two lines."""
    line = text.partition("\n")[0].partition('"')[0]
    match = _ITEMS.search(line)
    if match is None:
        return ()
    found: list[str] = []
    for item in re.findall(_ITEM, match[1], re.I):
        try:
            one = read(line[: match.start()] + item + text[match.end() :], *verbs, is_whole=False)
        except ParseError:
            return ()
        found.append(one.canonical)
    return tuple(found)


def write(verb: str, form: Form, values: Mapping[str, object], because: str = "") -> str:
    """The canonical line of a form's values, with its arrow, and its block if it has one."""
    assert form.verb == verb
    return write_line(form, values, because=because)


def _own_words(form: Form, tokens: Sequence[Token]) -> int:
    """How many words and options that a form must have are in a line, less those that are not."""
    said = {token.raw.partition(":")[0].lower() for token in tokens}
    own = [part.key if part.kind == "option" else part.lead for part in form.plan.required]
    return sum(1 if word in said else -1 for word in own if word)


def _best(failures: list[tuple[tuple[bool, int, int], ParseError]]) -> ParseError:
    """What to say where no form reads a line: a limit, else what was followed furthest, else the
    form whose words it has, and of several the last form, which is the common one."""
    return max(reversed(failures), key=lambda failure: failure[0])[1]


def _demand_size(line: str) -> None:
    if len(line) * 4 > MAX_LINE_BYTES and len(line.encode()) > MAX_LINE_BYTES:
        raise ParseError(
            "LIMIT_EXCEEDED",
            "A line is at most 64 KiB without its block.",
            "write long text in the lines below and end it with ←",
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
    """The content of a block, and what follows the line that closes it."""
    closer = CLOSER.search(below) if "←" in below else None
    if closer is None:
        return below, ""
    return below[: max(0, closer.start() - 1)], below[closer.end() :]


def _no_content(form: Form) -> ParseError:
    return unread(
        f"{form.verb} needs a text.",
        f'write → {syntax(form)}, the text in "quotes" or in the lines below, ended by ←',
    )


def _too_much(below: str, verbs: Verbs) -> ParseError:
    first = next(line for line in below.split("\n") if line.strip(" \t\r")).strip(" \t\r")
    if verbs.verb_of(first_word(without_arrow(first))) is not None:
        return unread("This is more than one command.", "give one at a time")
    return unread(
        f"{short(first)} does not belong to a command.",
        "only a command that lacks its text reads the lines below it, up to ←",
    )
