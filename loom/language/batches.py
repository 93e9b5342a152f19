"""A whole reply split into prose, batches of command lines and near misses (docs/model.md §5)."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from loom.language import back_references
from loom.language.fences import Fence, opens
from loom.language.forms import CLOSER
from loom.language.lines import (
    Line,
    LineReader,
    ParsedCommand,
    named_line,
)
from loom.language.near_misses import MOST_OF_CALL, Awaits, MissReader, is_detail, is_result
from loom.language.refs import ParseError, unread
from loom.language.verbs import Verbs

MAX_COMMANDS = 200  # commands of one reply that are parsed; each costs up to a few milliseconds
MAX_LOOKS = 10  # look commands of one batch that run
MAX_INSIDE = 10  # commands inside sentences for which a line is suggested
TO_THE_END = "! your text ran to the end of the message; close it with ←"
_BLANKS = " \t\r\n"
_ESCAPED = re.compile(r"([ \t]{0,2})\\(?=→|->)")


@dataclass(frozen=True)
class Prose:
    """Text between batches, with its escaped arrows unescaped. It spans `start` to `end`; `near`
    are the near misses in it, which stay text."""

    text: str
    start: int
    end: int
    near: tuple[ParsedCommand, ...] = ()


@dataclass(frozen=True)
class Batch:
    """Consecutive commands. `closed` says that another kind of line follows, so that nothing can
    be added while the reply is still arriving."""

    commands: tuple[ParsedCommand, ...]
    start: int
    end: int
    closed: bool = False


Segment = Prose | Batch


def segments_of(
    text: str,
    verbs: Verbs,
    *,
    finished: bool,
) -> tuple[Segment, ...]:
    """The reply in order: its segments cover the whole text, without gap or overlap. `finished`
    says that the model ended it: then its end closes the last line and block. Otherwise a command
    that is still open at the end is not run. Raises nothing.
    """
    return _ReplyReader(text, verbs, finished).segments()


def prose_of(segments: Sequence[Segment]) -> str:
    """The prose alone: the blank lines that removed commands leave are closed up, blank
    lines at its ends removed."""
    parts: list[str] = []
    last = ""
    for prose in (segment.text for segment in segments if isinstance(segment, Prose)):
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


def with_ids(text: str, ids: Sequence[str]) -> str:
    """The prose with `{1}` replaced by the id that the first line made, `{2}` the second's;
    a number whose line made nothing stays. `\\{1}` is the text itself."""
    return back_references.in_prose(text, _known(ids)) if "{" in text else text


def with_made(command: ParsedCommand, ids: Sequence[str], verbs: Verbs) -> ParsedCommand:
    """The command with each `{1}` among its arguments, and each `[{1}]` in its texts, replaced by
    the id that the first line of the reply made. An argument whose line made nothing that has an
    id, such as a link, is refused; in a text it stays."""
    if command.near or "{" not in command.text:
        return command
    line, newline, below = command.text.partition("\n")
    try:
        line = back_references.in_arguments(line, lambda number: _id_of(number, ids))
    except ParseError as bad:
        named = named_line(bad, command.text, command.number)
        return ParsedCommand(command.text, bad=named, number=command.number)
    known = _known(ids)
    line, below = back_references.in_quotes(line, known), back_references.in_text(below, known)
    text = line + newline + below
    if text == command.text:
        return command
    return replace(LineReader(verbs).read(text, command.number), note=command.note)


def _known(ids: Sequence[str]) -> back_references.Name:
    """What a number in a text stands for: itself if its line made nothing."""
    return lambda number: (ids[number - 1] if number <= len(ids) else "") or f"{{{number}}}"


def _id_of(number: int, ids: Sequence[str]) -> str:
    if number <= len(ids) and ids[number - 1]:
        return ids[number - 1]
    if number > len(ids):
        message = f"{{{number}}} names no earlier line of this message."
    else:
        message = f"Line {number} of this message made nothing that {{{number}}} could name."
    raise unread(
        message,
        "{1} is the node that the first line made; a link, a look and a refused line make none."
        " Name the node; in a text of a line only [{1}] is an id",
    )


def _without_blank_lines(text: str) -> str:
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:])


@dataclass
class _Waiting:
    """The place of a command that could not be parsed and may continue in the lines below it."""

    at: int
    commands: int
    likes: int
    has_look: bool


class ArrivingReply:
    """A reply that is still arriving, line by line: reports when its first batch with a line for
    which `looks` is true has ended, with the same result as `segments_of` of the text so far.

    Each line is parsed once. A command that cannot be parsed waits for the line that may end it;
    once that arrives, the results for the lines in between are dropped.
    """

    def __init__(self, verbs: Verbs, looks: Callable[[Line], bool]) -> None:
        self._lines = MissReader(verbs)
        self._looks = looks
        self._fence: Fence | None = None
        self._block: list[str] | None = None
        self._in_batch = self._has_look = self._is_answered = self._in_result = False
        self._at = self._commands = self._likes = 0
        self._waiting: dict[Awaits, _Waiting] = {}
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
                self._note([self._lines.read("\n".join(self._block))])
                self._block = None
        elif self._fence is not None:
            self._fence = None if self._fence.closed_by(line) else self._fence
        elif self._lines.is_command(line):
            self._begin()
            self._command(line)
        elif self._is_answer(line):
            self._end()
            self._is_answered = self._in_result = True
        elif not line.strip(" \t\r"):
            self._in_result = False
        elif closes and self._in_batch:
            pass
        elif not self._is_like(line):
            self._end()
            self._fence = opens(line)

    def ends_with(self, rest: str) -> bool:
        """Whether the batch has ended if the reply continues with a line of which only `rest` has
        arrived."""
        if self.has_ended or not (self._in_batch and self._has_look) or self._block is not None:
            return self.has_ended
        return (
            bool(rest.strip(" \t\r"))
            and CLOSER.fullmatch(rest) is None
            and self._waits_for(rest, closes=False) is None
            and not self._lines.is_command(rest)
            and not self._lines.may_become_command(rest)
        )

    def _begin(self) -> None:
        """A command, or something like one, has arrived: the batch begins or continues."""
        self._has_look = self._in_batch and self._has_look
        self._in_batch, self._is_answered, self._in_result = True, False, False

    def _end(self) -> None:
        self.has_ended = self.has_ended or (self._in_batch and self._has_look)
        self._in_batch = self._is_answered = self._in_result = False

    def _is_answer(self, line: str) -> bool:
        """Whether a line after a batch looks like its answer."""
        if not (self._in_batch or self._is_answered):
            return False
        return is_result(line) or (self._in_result and is_detail(line))

    def _command(self, line: str) -> None:
        self._commands += 1
        if self._commands > MAX_COMMANDS:
            return
        commands = self._lines.read_all(line)
        if commands[0].line is not None:
            self._note(commands)
        elif self._lines.wants_block(line):
            self._block = [line]
        else:
            self._wait(line)

    def _wait(self, line: str) -> None:
        awaited = self._lines.awaited(line)
        if awaited is not None:
            has_look = self._in_batch and self._has_look
            now = _Waiting(self._at, self._commands, self._likes, has_look)
            self._waiting.setdefault(awaited, now)

    def _is_like(self, line: str) -> bool:
        """Whether a line that looks like a command belongs to a batch."""
        like = self._lines.like(line)
        if like is None or self._likes >= MAX_COMMANDS:
            return False
        self._likes += 1
        command = self._lines.examined(like, line, self._at)
        if command is None:
            return False
        if command.line is not None:
            self._begin()
            self._note([command])
            return True
        self._wait(like.text)
        self._in_result = False
        return self._in_batch

    def _note(self, commands: Sequence[ParsedCommand]) -> None:
        self._has_look = self._has_look or any(
            command.line is not None and self._looks(command.line) for command in commands
        )

    def _waits_for(self, line: str, *, closes: bool) -> Awaits | None:
        kind: Awaits | None = "closer" if closes else "quote" if '"' in line else None
        return kind if kind in self._waiting else None

    def _ends_lost(self, line: str, *, closes: bool) -> bool:
        """Whether the line ends a command that could not be parsed: all lines in between were its
        text."""
        kind = self._waits_for(line, closes=closes)
        if kind is None:
            return False
        waiting = self._waiting.pop(kind)
        self._commands, self._likes, self._has_look = (
            waiting.commands,
            waiting.likes,
            waiting.has_look,
        )
        self._waiting = {
            key: other for key, other in self._waiting.items() if other.at < waiting.at
        }
        self._begin()
        self._has_look = waiting.has_look
        self._fence, self._block = None, None
        return True


class _ReplyReader(MissReader):
    """The lines of a reply, read from first to last."""

    def __init__(self, text: str, verbs: Verbs, finished: bool) -> None:
        super().__init__(verbs)
        self.text = text
        self.finished = finished
        self.has_escapes = "\\→" in text or "\\->" in text
        self.count = self.likes = self.inner = self.calls = 0
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.closers = [at for at, line in enumerate(self.lines) if CLOSER.fullmatch(line)]
        self.quotes = [at for at, line in enumerate(self.lines) if '"' in line]
        self.found: list[Segment] = []
        self.near: list[ParsedCommand] = []  # near misses of the current prose
        self.known: dict[int, tuple[ParsedCommand, int] | None] = {}  # cached near misses
        self.at = self.said_from = 0

    def segments(self) -> tuple[Segment, ...]:
        fence: Fence | None = None
        prose_from = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if fence is not None:
                fence = None if fence.closed_by(line) else fence
                self._note_near(line, is_code=fence is not None)
            elif self.is_command(line) or self._begins_batch():
                self._add_prose(prose_from, self.at)
                self._add_batch()
                prose_from = self.at
                self.at = self.said_from = self._after_answers(self.at)
                continue
            else:
                fence = opens(line)
                self._note_near(line, is_code=False)
            self.at += 1
        self._add_prose(prose_from, len(self.lines))
        return tuple(self.found)

    def _offset(self, line: int) -> int:
        return min(self.starts[line], len(self.text))

    def _add_prose(self, first: int, last: int) -> None:
        start, end = self._offset(first), self._offset(last)
        if start < end:
            first = max(first, self.said_from)
            text = self._unescaped(first, last, self._offset(first), end)
            self.found.append(Prose(text, start, end, tuple(self.near)))
            self.near = []

    def _after_answers(self, at: int) -> int:
        """The line after those that look like answers, which follow a batch and are left out of
        the prose: only Heddle answers."""
        after, in_result = at, False
        while at < len(self.lines):
            line = self.lines[at]
            if self.is_command(line):
                break
            in_result = is_result(line) or (in_result and is_detail(line))
            if not in_result and line.strip(" \t\r"):
                break
            at += 1
            after = at if in_result else after
        return after

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

    # near misses

    def _note_near(self, line: str, *, is_code: bool) -> None:
        """Records the near miss that a line of prose is or contains."""
        if self._note_call():
            return
        like = None if is_code else self._like_here()
        if like is not None:
            self.near.append(like[0])
            return
        if self.inner >= MAX_COMMANDS:
            return
        text, number = self.fenced(line) if is_code else self.inside(line), self.at + 1
        if text is None:
            return
        if is_code:
            command = self.in_fence(text, line, number)
        else:
            command = self.near_miss(line, number, self._inner_command(text), in_text=True)
        self.inner += 1
        if command is not None:
            self.near.append(command)

    def _note_call(self) -> bool:
        """Records a call in JSON, as other programs take them, that begins at the current line."""
        if self.calls >= MAX_INSIDE:
            return False
        if self.near and self.near[-1].number == self.at and self.near[-1].text.startswith("<"):
            return self.lines[self.at].lstrip().startswith("{")  # it was read with its tag
        start = self._offset(self.at)
        command = self.tool_call(self.text[start : start + MOST_OF_CALL], self.at + 1)
        if command is None:
            return False
        self.calls += 1
        self.near.append(command)
        return True

    def _inner_command(self, text: str) -> ParsedCommand:
        if self.inner < MAX_INSIDE:
            return self.inner_command(text, 0)
        return ParsedCommand(text, bad=unread("", "write it"))

    def _begins_batch(self) -> bool:
        """Whether the current line only looks like a command and counts as one: a look, which
        runs, or one whose text below it must not run in its place."""
        like = self._like_here()
        return like is not None and (like[0].line is not None or like[1] > self.at + 1)

    def _like_here(self) -> tuple[ParsedCommand, int] | None:
        """The command that the current line looks like, and the next line. Each line is examined
        once."""
        if self.at in self.known:
            return self.known[self.at]
        line = self.lines[self.at]
        like = self.like(line)
        if like is None or self.likes >= MAX_COMMANDS:
            return None
        self.likes += 1
        command = self.examined(like, line, self.at + 1)
        end = self.at + 1
        if command is not None and command.line is None:
            end = self._end_of_lost(self.at, like.text)
            command = replace(command, text="\n".join(self.lines[self.at : end]))
        elif command is not None and self.at == len(self.lines) - 1 and not self.finished:
            command = self._cut_off(command.text, self.at)
        self.known[self.at] = None if command is None else (command, end)
        return self.known[self.at]

    # batches

    def _add_batch(self) -> None:
        """Adds all commands up to the next other line. Blank lines between them belong to the
        batch, those after the last to the prose; a lone ← belongs to it everywhere. What looks like
        an answer ends it: the commands below were written for a result that nobody has given."""
        start, commands = self._offset(self.at), list[ParsedCommand]()
        end = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self.is_command(line):
                commands += self._commands()
            elif not line.strip(" \t\r"):
                self.at += 1
                continue
            elif is_result(line):
                break
            elif CLOSER.fullmatch(line):  # of a text that was in quotes, and so needed none
                self.at += 1
            elif (like := self._like_here()) is not None:
                commands.append(like[0])
                self.at = like[1]
            else:
                break
            end = self.at
        closed = self.at < len(self.lines) and not self._undecided(self.at)
        self.at = end
        self.found.append(Batch(tuple(commands), start, self._offset(end), closed))

    def _undecided(self, at: int) -> bool:
        """Whether the last line of an arriving reply may still become a command."""
        if self.finished or at < len(self.lines) - 1:
            return False
        return self.may_become_command(self.lines[at])

    def _commands(self) -> list[ParsedCommand]:
        """The commands that begin at the current line; moves behind their block."""
        first = self.at
        line = self.lines[first]
        self.at += 1
        self.count += 1
        if self.count > MAX_COMMANDS:
            return [_one_too_many(line, first + 1)]
        last_line = first == len(self.lines) - 1
        commands = self.read_all(line, first + 1)
        if commands[0].line is not None:
            is_cut = last_line and not self.finished
            return [self._cut_off(line, first)] if is_cut else commands
        if self.wants_block(line):
            return [self._with_block(first)]
        self.at = self._end_of_lost(first, line)
        text = "\n".join(self.lines[first : self.at])
        if self.at > first + 1 and line.rstrip().endswith(":"):  # its hint may use the text below
            return [self.read(text, first + 1)]
        return [replace(commands[0], text=text)]

    def _with_block(self, first: int) -> ParsedCommand:
        closer = self._next(self.closers, first + 1)
        self.at = len(self.lines) if closer is None else closer + 1
        text = "\n".join(self.lines[first : self.at])
        if closer is None and not self.finished:
            return self._cut_off(text, first)
        below = text if "\n" in text else text + "\n"
        if not below.partition("\n")[2].strip():
            return self.read(self.lines[first], first + 1)
        if closer is not None:
            return replace(self.read(below, first + 1), text=text)
        if not self._is_one_line(first + 1):
            return self._without_end(text, first)
        return replace(self.read(below, first + 1), text=text, note=TO_THE_END)

    def _is_one_line(self, first: int) -> bool:
        """Whether the lines from one on are certainly one text: a single line, which looks neither
        like a command nor like an answer. With more lines the last may be said to the reader: "I
        wrote it below b3k9."."""
        lines = [line for line in self.lines[first:] if line.strip()]
        if len(lines) != 1 or self.is_command(lines[0]) or is_result(lines[0]):
            return False
        return self.like(lines[0]) is None and self.inside(lines[0]) is None

    def _without_end(self, text: str, first: int) -> ParsedCommand:
        line = self.lines[first]
        message = "The text below this line has no end, so nothing of it was written."
        bad = unread(
            message, f"send {line.strip()} again, its text below it, and ← alone at its end"
        )
        return ParsedCommand(text, bad=named_line(bad, text, first + 1), number=first + 1)

    def _cut_off(self, text: str, first: int) -> ParsedCommand:
        bad = unread("The reply was cut off before this command ended.", "write it again, whole")
        return ParsedCommand(text, bad=named_line(bad, text, first + 1), number=first + 1)

    def _end_of_lost(self, first: int, line: str) -> int:
        """Where the text of a command that cannot be parsed ends."""
        awaited = self.awaited(line)
        places = {"quote": self.quotes, "closer": self.closers, None: []}[awaited]
        end = self._next(places, first + 1)
        return first + 1 if end is None else end + 1

    def _next(self, places: list[int], at: int) -> int | None:
        place = bisect_left(places, at)
        return places[place] if place < len(places) else None


def _one_too_many(text: str, number: int) -> ParsedCommand:
    message = f"A reply has at most {MAX_COMMANDS} commands."
    bad = ParseError("LIMIT_EXCEEDED", message, "send the others in the next reply")
    return ParsedCommand(text, bad=named_line(bad, text, number), number=number)
