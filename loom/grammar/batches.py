"""A whole reply split into prose and batches of command lines. Source: docs/model.md §5."""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loom.grammar.form_matching import BLANK, MAX_BLANKS, Verbs, first_word, without_arrow
from loom.grammar.forms import Form
from loom.grammar.lines import Line, read
from loom.grammar.printing import CLOSER
from loom.grammar.tokens import ParseError, tokens_of, unread

# A fence may stand in an item of a list. Deeper ones than Markdown's count too: where it is
# not clear whether text is code, it is not run.
_OPENING = re.compile(r"((?:[ \t]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*+)(`{3,}+|~{3,}+)(.*)", re.DOTALL)
_CLOSING = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t\r]*+")
_INDENT = 3


@dataclass(frozen=True)
class Fence:
    """An open fence: its mark and how deep it stands."""

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


# A whole reply parted into prose and batches of command lines. See docs/model.md §5.


MAX_COMMANDS = 200  # of one reply are read; each costs up to a few milliseconds
_BLANKS = " \t\r\n"
_ESCAPED = re.compile(r"([ \t]{0,2})\\(?=→|->)")


@dataclass(frozen=True)
class Command:
    """One command as it was written, its block included: what it says, or why it is not
    run. Exactly one of `line` and `bad` is set."""

    text: str
    line: Line | None = None
    bad: ParseError | None = None


@dataclass(frozen=True)
class Prose:
    """Text between batches, its escaped arrows read. It lies from `start` to `end`."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Batch:
    """Commands that stand together. `closed` says that a line which is none follows, so that
    no more can be added while the reply still comes in."""

    commands: tuple[Command, ...]
    start: int
    end: int
    closed: bool = False


Segment = Prose | Batch


def segments_of(
    text: str,
    forms: Mapping[str, Sequence[Form]],
    aliases: Mapping[str, str],
    *,
    finished: bool,
) -> tuple[Segment, ...]:
    """The reply in order: what its segments span is the whole text, without gap or overlap.

    `finished` says that the model ended it: then its end closes the last line and block.
    Otherwise what lies open at the end is not run. Nothing is raised.
    """
    return _Parting(text, Verbs(forms, aliases), finished).segments()


def prose_of(segments: Sequence[Segment]) -> str:
    """The prose alone: the blank lines that removed commands leave are closed up, blank
    lines at its ends removed."""
    parts: list[str] = []
    last = ""
    for prose in (one.text for one in segments if isinstance(one, Prose)):
        after = _without_blank_lines(prose)
        if not last or not after.strip():
            last = last or after
            continue
        bare = last.rstrip(_BLANKS)
        blanks = last[len(bare) :]
        apart = blanks.count("\n") > 1 or len(after) < len(prose)
        parts += [bare, blanks.partition("\n")[0], "\n\n" if apart else "\n"]
        last = after
    return "".join([*parts, last]).rstrip(_BLANKS)


def _without_blank_lines(text: str) -> str:
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:])


Awaits = Literal["quote", "closer"]


class _Lines:
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
        """Whether a line that still comes in, and is no command yet, may become one."""
        body = line.lstrip(BLANK)
        return len(line) - len(body) <= MAX_BLANKS and (body == "-" or body.startswith("->"))

    def read(self, text: str) -> Command:
        """The command that the text is."""
        try:
            return Command(text, line=read(text, self.verbs.forms, self.verbs.aliases))
        except ParseError as bad:
            return Command(text, bad=bad)

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


def _one_too_many(text: str) -> Command:
    message = f"A reply has at most {MAX_COMMANDS} commands."
    return Command(
        text, bad=ParseError("LIMIT_EXCEEDED", message, "send the others in the next reply")
    )


class Growing:
    """A reply that still comes in, line by line: says when its first batch with a line for
    which `looks` is true has ended, as `segments_of` would of the text so far.

    Each line is read once. A command that cannot be read waits for what may end it; when
    that comes, what was made of the lines between is dropped.
    """

    def __init__(self, verbs: Verbs, looks: Callable[[Line], bool]) -> None:
        self._lines = _Lines(verbs)
        self._looks = looks
        self._fence: Fence | None = None
        self._block: list[str] | None = None
        self._in_batch = self._has_look = False
        self._at = self._count = 0
        self._waiting: dict[Awaits, tuple[int, int, bool]] = {}
        self.has_ended = False

    def feed(self, line: str) -> None:
        """Takes the next whole line, without its line feed."""
        self._at += 1
        closes = CLOSER.fullmatch(line) is not None
        if self._ends_lost(line, closes=closes):
            return
        if self._block is not None:
            self._block.append(line)
            if closes:
                self._note(self._lines.read("\n".join(self._block)))
                self._block = None
        elif self._fence is not None:
            self._fence = None if self._fence.closed_by(line) else self._fence
        elif self._lines.is_command(line):
            self._has_look = self._in_batch and self._has_look
            self._in_batch = True
            self._command(line)
        elif not self._in_batch or line.strip(" \t\r"):
            self.has_ended = self.has_ended or (self._in_batch and self._has_look)
            self._in_batch = False
            self._fence = opens(line)

    def ends_with(self, rest: str) -> bool:
        """Whether the batch has ended, where the reply goes on with a line of which only
        `rest` has come."""
        if self.has_ended or not (self._in_batch and self._has_look) or self._block is not None:
            return self.has_ended
        return (
            bool(rest.strip(" \t\r"))
            and self._waits_for(rest, closes=CLOSER.fullmatch(rest) is not None) is None
            and not self._lines.is_command(rest)
            and not self._lines.may_become_command(rest)
        )

    def _command(self, line: str) -> None:
        self._count += 1
        if self._count > MAX_COMMANDS:
            return
        said = self._lines.read(line)
        if said.line is not None:
            self._note(said)
        elif self._lines.wants_block(line):
            self._block = [line]
        elif awaited := self._lines.awaited(line):
            self._waiting.setdefault(awaited, (self._at, self._count, self._has_look))

    def _note(self, said: Command) -> None:
        self._has_look = self._has_look or (said.line is not None and self._looks(said.line))

    def _waits_for(self, line: str, *, closes: bool) -> Awaits | None:
        kind: Awaits | None = "closer" if closes else "quote" if '"' in line else None
        return kind if kind in self._waiting else None

    def _ends_lost(self, line: str, *, closes: bool) -> bool:
        """Whether the line ends a command that could not be read: all between was its text."""
        kind = self._waits_for(line, closes=closes)
        if kind is None:
            return False
        at, self._count, self._has_look = self._waiting.pop(kind)
        self._waiting = {other: one for other, one in self._waiting.items() if one[0] < at}
        self._in_batch, self._fence, self._block = True, None, None
        return True


class _Parting(_Lines):
    """The lines of a reply, taken from the first to the last."""

    def __init__(self, text: str, verbs: Verbs, finished: bool) -> None:
        super().__init__(verbs)
        self.text = text
        self.finished = finished
        self.has_escapes = "\\→" in text or "\\->" in text
        self.count = 0
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.closers = [at for at, line in enumerate(self.lines) if CLOSER.fullmatch(line)]
        self.quotes = [at for at, line in enumerate(self.lines) if '"' in line]
        self.found: list[Segment] = []
        self.at = 0

    def segments(self) -> tuple[Segment, ...]:
        fence: Fence | None = None
        prose_from = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if fence is not None:
                fence = None if fence.closed_by(line) else fence
            elif self.is_command(line):
                self._add_prose(prose_from, self.at)
                self._add_batch()
                prose_from = self.at
                continue
            else:
                fence = opens(line)
            self.at += 1
        self._add_prose(prose_from, len(self.lines))
        return tuple(self.found)

    def _offset(self, line: int) -> int:
        return min(self.starts[line], len(self.text))

    def _add_prose(self, first: int, last: int) -> None:
        start, end = self._offset(first), self._offset(last)
        if start < end:
            self.found.append(Prose(self._unescaped(first, last, start, end), start, end))

    def _unescaped(self, first: int, last: int, start: int, end: int) -> str:
        """The text, `\\→` at the start of a line as the arrow itself, but not in fences."""
        if not self.has_escapes:
            return self.text[start:end]
        fence: Fence | None = None
        lines: list[str] = []
        for line in self.lines[first:last]:
            if fence is not None:
                fence = None if fence.closed_by(line) else fence
                lines.append(line)
                continue
            fence = opens(line)
            lines.append(_ESCAPED.sub(r"\1", line, count=1) if _ESCAPED.match(line) else line)
        return "\n".join(lines) + ("\n" if end == self.starts[last] else "")

    # batches

    def _add_batch(self) -> None:
        """All commands up to the next line that is none; blank lines between belong to them,
        those after the last to the prose."""
        start, commands = self._offset(self.at), []
        end = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self.is_command(line):
                commands.append(self._command())
                end = self.at
            elif line.strip(" \t\r"):
                break
            else:
                self.at += 1
        closed = self.at < len(self.lines) and not self._undecided(self.at)
        self.at = end
        self.found.append(Batch(tuple(commands), start, self._offset(end), closed))

    def _undecided(self, at: int) -> bool:
        """Whether the last line of a reply still coming in may yet become a command."""
        if self.finished or at < len(self.lines) - 1:
            return False
        return self.may_become_command(self.lines[at])

    def _command(self) -> Command:
        """The command that begins at the line in turn; moves behind its block."""
        first = self.at
        line = self.lines[first]
        self.at += 1
        self.count += 1
        if self.count > MAX_COMMANDS:
            return _one_too_many(line)
        last_line = first == len(self.lines) - 1
        said = self.read(line)
        if said.line is not None:
            return self._cut_off(said.text) if last_line and not self.finished else said
        if self.wants_block(line):
            return self._with_block(first)
        self.at = self._end_of_lost(first)
        return Command("\n".join(self.lines[first : self.at]), bad=said.bad)

    def _with_block(self, first: int) -> Command:
        closer = self._next(self.closers, first + 1)
        self.at = len(self.lines) if closer is None else closer + 1
        text = "\n".join(self.lines[first : self.at])
        if closer is None and not self.finished:
            return self._cut_off(text)
        below = text if "\n" in text else text + "\n"
        if not below.partition("\n")[2].strip():
            return self.read(self.lines[first])
        return replace(self.read(below), text=text)

    def _cut_off(self, text: str) -> Command:
        bad = unread(
            "The reply was cut off before this command ended.", "write the whole command again"
        )
        return Command(text, bad=bad)

    def _end_of_lost(self, first: int) -> int:
        """Where the text of a command that cannot be read ends."""
        awaited = self.awaited(self.lines[first])
        places = {"quote": self.quotes, "closer": self.closers, None: []}[awaited]
        end = self._next(places, first + 1)
        return first + 1 if end is None else end + 1

    def _next(self, places: list[int], at: int) -> int | None:
        found = bisect_left(places, at)
        return places[found] if found < len(places) else None
