"""A line of a reply: the command that it is, in whatever words, or what it looks like."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loom.grammar.form_matching import is_ref
from loom.grammar.forms import BLANK, MAX_BLANKS, Form, Verbs, first_word, without_arrow
from loom.grammar.line_reader import REF_WORDS, Line, canonical_line, demand_size
from loom.grammar.refs import (
    AmbiguousError,
    MisreadError,
    ParseError,
    refuse_controls,
    short,
    tokens_of,
    unread,
)
from loom.grammar.synonyms import CHANGING, ENDS, LOOKS, ONE_BY_ONE, OTHER_TYPES, TYPES
from loom.grammar.wording import in_other_words, suggestions

_NODE = "node:"  # printed before an id without a digit, which may be no id but a word


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
    demand_size(line)
    verbs = Verbs(forms, aliases)
    body = verbs.body(line)
    below = rest if newline else None
    try:
        said = canonical_line(body, below, verbs)
    except ParseError as bad:
        if bad.code != "INVALID_SYNTAX":
            raise
        try:
            return in_other_words(body, below, verbs, bad)
        except ParseError as worse:
            raise (_with_suggestion(worse, body, below, verbs) if is_whole else worse) from None
    is_nobody = _NODE in said.canonical and _NODE not in line.lower()
    if is_nobody or _is_other_type(said) or _ends_in_punctuation(said):
        return in_other_words(body, below, verbs, said)
    return said


def _is_other_type(line: Line) -> bool:
    """Whether `list` was read with another word for a type: `children`, `ancestors`."""
    kind = str(line.values.get("type", "")).lower() if line.verb == "list" else ""
    return kind in OTHER_TYPES or TYPES.get(kind, kind) != kind


def _ends_in_punctuation(line: Line) -> bool:
    """Whether the type of a link was read with the full stop that ended the line."""
    return str(line.values.get("type", "")).endswith((".", ";", "!"))


# The line to write instead of one that cannot be read.

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
        canonical_line(head, "a text\n←", verbs)
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


# Fences: what is in one is code.

# A fence may be in an item of a list. Deeper ones than Markdown's count too: where it is
# not clear whether text is code, it is not run.
_OPENING = re.compile(r"((?:[ \t]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*+)(`{3,}+|~{3,}+)(.*)", re.DOTALL)
_CLOSING = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t\r]*+")
_INDENT = 3


@dataclass(frozen=True)
class Fence:
    """An open fence: its mark and how deep it is."""

    mark: str
    depth: int

    def closed_by(self, line: str) -> bool:
        """Whether a line ends it: the same mark, at least as long, nothing else beside."""
        match = _CLOSING.fullmatch(line)
        return (
            match is not None
            and match[2].startswith(self.mark)
            and len(match[1]) <= self.depth + _INDENT
        )


def opens(line: str) -> Fence | None:
    """The fence that a line opens. A line of backticks with others after them opens none."""
    match = _OPENING.match(line)
    if match is None or (match[2][0] == "`" and "`" in match[3]):
        return None
    return Fence(match[2], len(match[1]))


# What one line of a reply is by itself: a command, something like one, or text.


@dataclass(frozen=True)
class Command:
    """One command as it can be read, its block included: what it says, or why it is not run.

    Exactly one of `line` and `bad` is set. `number` is its line in the reply, from 1. `near`
    marks a near miss, which never runs. `note` is a sentence to answer beside its reply.
    """

    text: str
    line: Line | None = None
    bad: ParseError | None = None
    number: int = 0
    near: bool = False
    note: str = ""


Awaits = Literal["quote", "closer"]
# Arrows that models write where → is meant; those of two or three signs first.
ARROW_MARKS = "→>➜⇒➔➝➞➡➙➛⟶⟹⇨↦⮕"
_OTHERS = "-->|==>|=>|–>|—>|[➜⇒➔➝➞➡➙➛⟶⟹⇨↦⮕]\ufe0f?"
_LIKE = re.compile(
    r"((?:[ \t]|[-*+•][ \t]|[0-9]{1,9}[.)][ \t])*+)([*_]{0,3}+`{0,2}+)"
    rf"((?:{_OTHERS}|→|->))(.*)",
    re.DOTALL,
)
_MAY_BE_LIKE = re.compile(
    r"(?:[ \t]|[-*+•][ \t]|[0-9]{1,9}[.)][ \t])*+"
    r"(?:[-*+•]|[0-9]{1,9}[.)]?)?[*_]{0,3}`{0,2}[-=–—]{0,2}"
)
_INSIDE = re.compile(r"(?<![\\-])(→|->)[ \t]*+[*_`]{0,2}([A-Za-z]{2,14})(?![A-Za-z(])")
_CODE_END = re.compile(r"`|\*\*|__")
_RESULT = re.compile(r"[ \t]{0,2}[✓✗✔✘](?:[ \t]|$)")
_DETAIL = re.compile(r"(?:  |\t)[ \t]*\S")
PUNCTUATION = ".,;:!?"
_SHOWN = 160  # characters after an arrow inside a sentence that may belong to its command


@dataclass(frozen=True)
class Like:
    """A whole line that would be a command if it were written plainly: `text` is that
    command. An `indented` one is too far to the right and has no other mark."""

    text: str
    indented: bool


class LineReader:
    """What one line of a reply is by itself."""

    def __init__(self, verbs: Verbs) -> None:
        self.verbs = verbs

    def is_command(self, line: str) -> bool:
        """Whether a line begins a command."""
        body = line.lstrip(BLANK)
        if len(line) - len(body) > MAX_BLANKS:
            return False
        if body.startswith("->"):
            return self.verbs.verb_of(first_word(without_arrow(body)).rstrip("\r")) is not None
        return body.startswith("→")

    def may_become_command(self, line: str) -> bool:
        """Whether a line that still comes in, and is no command yet, may become one or
        something that looks like one."""
        body = line.lstrip(BLANK)
        return (
            body in ("-", "=")
            or _LIKE.match(line) is not None
            or _MAY_BE_LIKE.fullmatch(line) is not None
        )

    def read(self, text: str, number: int = 0) -> Command:
        """The command that the text is; `number` is its line in the reply."""
        try:
            line = read(text, self.verbs.forms, self.verbs.aliases)
        except ParseError as bad:
            return Command(text, bad=named_line(bad, text, number), number=number)
        return Command(text, line=line, number=number, note=note_of(text, line))

    def read_all(self, text: str, number: int = 0) -> list[Command]:
        """The commands that a line is: several where it names several items and its verb
        takes one of them."""
        said = self.read(text, number)
        if said.line is not None or '"' in text:
            return [said]
        several = each_of(text, self.verbs)
        if not several or first_word(without_arrow(several[0])) not in ONE_BY_ONE:
            return [said]
        return [self.read(one, number) for one in several]

    def wants_block(self, line: str) -> bool:
        """Whether a line that is no command by itself is one with the lines below it."""
        return self.read(line + "\n").line is not None

    def awaited(self, line: str) -> Awaits | None:
        """What ends the text of a command that cannot be read: what may have been its block
        or the rest of its quote is not run in its place. None where the line is all of it."""
        body = without_arrow(line.strip(" \t\r"))
        verb = self.verbs.verb_of(first_word(body))
        try:
            tokens = tokens_of(body)
        except ParseError:
            return "quote"
        if any(token.quoted is not None and not token.head for token in tokens):
            return None
        if verb and not any(form.plan.block for form in self.verbs.forms[verb]):
            return None
        return "closer"

    # what looks like a command
    def like(self, line: str) -> Like | None:
        """The command that a whole line would be without its marks, or with the right arrow."""
        match = _LIKE.match(line)
        if match is None:
            return None
        marks, wrap, _, body = match.groups()
        body = body.strip(" \t\r")
        if wrap:
            body = body.rstrip(PUNCTUATION)
            body = body.removesuffix(wrap[::-1]) if body.endswith(wrap[::-1]) else ""
            if "`" in body if "`" in wrap else wrap in body:
                return None
        if not body.strip(BLANK):
            return None
        is_plain = not wrap and not marks.strip(BLANK)
        return Like(f"→ {body.strip(BLANK)}", is_plain and len(marks) > MAX_BLANKS)

    def inside(self, line: str) -> str | None:
        """The beginning of a command inside a sentence, up to where it must have ended."""
        if "→" not in line and "->" not in line:
            return None
        if line.lstrip(" \t-*+•0123456789.)").startswith(">"):
            return None
        for match in _INSIDE.finditer(line):
            verb = match[2] if match[1] == "->" else match[2].lower()
            if self.verbs.verb_of(verb) is None or verb != verb.lower():
                continue
            tail = line[match.start(2) : match.start(2) + _SHOWN]
            end = _CODE_END.search(tail)
            is_code = end is not None and tail[end.start()] == "`"
            text = tail[: end.start()] if end and (is_code or end.start() > len(verb)) else tail
            words = text.split()
            if names_something(words[1:4]) or (is_code and len(words) == 1):
                return text
        return None


def is_result(line: str) -> bool:
    """Whether a line looks like the answer to a command, which only Heddle gives."""
    return _RESULT.match(line) is not None


def is_detail(line: str) -> bool:
    """Whether a line may be a detail below such an answer."""
    return _DETAIL.match(line) is not None


def is_undecided(rest: str) -> bool:
    """Whether what has come of a line may be the beginning of anything: of a mark, an arrow,
    the end of a block, an answer. Its next character decides."""
    body = rest.strip(BLANK)
    return body in ("=", "←", *"✓✗✔✘") or _MAY_BE_LIKE.fullmatch(rest) is not None


def names_something(words: Sequence[str]) -> bool:
    """Whether one of the words is an id, a tag or the like, which common text has not."""
    return any(
        is_id(word) or (word[:1] == "#" and word[1:2].isalnum()) or word[:1] == '"'
        for word in words
    )


def is_id(word: str) -> bool:
    """Whether a word is an id or another address, punctuation and marks around it left out."""
    bare = word.strip('*_`()"' + PUNCTUATION)
    return bare.lower() not in REF_WORDS and is_ref(bare)


def makes_window(line: Line | None) -> bool:
    """Whether a line only looks: it changes nothing, not even the view. A literal word (`tree
    reset`, `find clear`, `todo add`) has its own name as value; `find "clear"` has not;
    `to` is what becomes of a task."""
    if line is None or line.verb not in LOOKS:
        return False
    return not any(line.values.get(word) == word for word in CHANGING) and "to" not in line.values


def note_of(text: str, line: Line) -> str:
    """What is said beside the reply of a line in other words."""
    if line.verb == "find" and first_word(without_arrow(text.strip())).lower() == "search":
        return '! this is what the tree holds; search "words" searches the web, where you may'
    return ""


def named_line(bad: ParseError, text: str, number: int) -> ParseError:
    """The same refusal with its line: `line 3: "…": There is no command tga.`"""
    if not number:
        return bad
    where = f'line {number}: "{short(text.partition(chr(10))[0])}"'
    return ParseError(bad.code, f"{where}: {bad.message}", bad.hint, bad.candidates)
