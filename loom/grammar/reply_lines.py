"""What one line of a reply is by itself: a command, a near miss of one, or text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loom.grammar.form_matching import BLANK, MAX_BLANKS, Verbs, first_word, is_ref, without_arrow
from loom.grammar.line_reader import REF_WORDS
from loom.grammar.lines import Line, each_of, read
from loom.grammar.synonyms import CHANGING, LOOKS, ONE_BY_ONE
from loom.grammar.tokens import ParseError, short, tokens_of, unread

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
_PUNCTUATION = ".,;:!?"
_FEW_WORDS = 6
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

    # near misses

    def like(self, line: str) -> Like | None:
        """The command that a whole line would be without its marks, or with the right arrow."""
        match = _LIKE.match(line)
        if match is None:
            return None
        marks, wrap, _, body = match.groups()
        body = body.strip(" \t\r")
        if wrap:
            body = body.rstrip(_PUNCTUATION)
            body = body.removesuffix(wrap[::-1]) if body.endswith(wrap[::-1]) else ""
            if "`" in body if "`" in wrap else wrap in body:
                return None
        if not body.strip(BLANK):
            return None
        is_plain = not wrap and not marks.strip(BLANK)
        return Like(f"→ {body.strip(BLANK)}", is_plain and len(marks) > MAX_BLANKS)

    def examined(self, like: Like, line: str, number: int) -> Command | None:
        """What a line that may look like a command is: a look that runs, a near miss, or None
        where it is only text."""
        said = self.read(like.text, number)
        is_read = said.line is not None and not names_nobody(said.line, like.text)
        if is_read and makes_window(said.line) and not like.indented:
            return said
        if not is_read and not self._is_meant(like.text):
            return None
        return self.near_miss(line, number, said)

    def _is_meant(self, text: str) -> bool:
        """Whether what cannot be read as a command was meant as one."""
        words = without_arrow(text).split()
        word = words[0].strip("*_`" + _PUNCTUATION)
        names = names_something(words[1:12])
        if self.verbs.verb_of(word) is not None:
            return names or len(words) <= _FEW_WORDS
        return names

    def near_miss(self, line: str, number: int, said: Command) -> Command:
        """The answer to what looks like a command: the line to write, or why it is none."""
        if said.line is not None:
            first, block, _ = said.line.canonical.partition("\n")
            below = ", its text below it, closed by ←" if block else ""
            hint = f"write {first} alone on its line{below}"
        elif self.wants_block(said.text):
            hint = f"write {said.text} alone on its line, its text below it, closed by ←"
        else:
            assert said.bad is not None
            hint = f"{said.bad.hint}, alone on its line"
        message = f'line {number}: "{short(line)}" looks like a command.'
        return Command(line, bad=unread(message, hint), number=number, near=True)

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

    def inner_command(self, text: str, number: int) -> Command:
        """The longest command that a text inside a sentence begins with."""
        words = text.split()
        for count in range(len(words), 0, -1):
            said = self.read("→ " + " ".join(words[:count]).rstrip(_PUNCTUATION + '"|)'), number)
            if said.line is not None and not names_nobody(said.line, text):
                return said
        return said

    def in_fence(self, line: str, number: int) -> Command | None:
        """The near miss that a line of code is: only one that can be read counts."""
        body = line.strip(" \t\r")
        if not body.startswith(("→", "->")):
            return None
        if self.verbs.verb_of(first_word(without_arrow(body))) is None:
            return None
        said = self.read(body, number)
        is_read = said.line is not None and not names_nobody(said.line, body)
        return self.near_miss(line, number, said) if is_read else None


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
    bare = word.strip('*_`()"' + _PUNCTUATION)
    return bare.lower() not in REF_WORDS and is_ref(bare)


def names_nobody(line: Line, text: str) -> bool:
    """Whether a line was read with a common word as an id."""
    return "node:" in line.canonical.partition("\n")[0] and "node:" not in text.lower()


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
