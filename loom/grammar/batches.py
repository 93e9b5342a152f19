"""A whole reply parted into prose and batches of command lines. See docs/model.md §5.

Only position and form make a command here; that the text is the live output of a turn is
for the caller to know.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loom.grammar.bad import Bad, unread
from loom.grammar.fences import Fence, opens
from loom.grammar.forms import Form
from loom.grammar.lines import Line, read
from loom.grammar.tokens import tokens_of
from loom.grammar.verbs import BLANK, MAX_BLANKS, Verbs, first_word, without_arrow
from loom.grammar.writing import CLOSER

_BLANKS = " \t\r\n"
_ESCAPED = re.compile(r"([ \t]{0,2})\\(?=→|->)")


@dataclass(frozen=True)
class Command:
    """One command as it was written, its block included: what it says, or why it is not
    run. Exactly one of `line` and `bad` is set."""

    text: str
    line: Line | None = None
    bad: Bad | None = None


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
    whole = ""
    for prose in (one.text for one in segments if isinstance(one, Prose)):
        after = _without_blank_lines(prose)
        if not whole or not after.strip():
            whole = whole or after
            continue
        bare = whole.rstrip(_BLANKS)
        blanks = whole[len(bare) :]
        apart = blanks.count("\n") > 1 or len(after) < len(prose)
        before = bare + blanks.partition("\n")[0]
        whole = f"{before}\n\n{after}" if apart else f"{before}\n{after}"
    return whole.rstrip(_BLANKS)


def _without_blank_lines(text: str) -> str:
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:])


class _Parting:
    """The lines of a reply, taken from the first to the last."""

    def __init__(self, text: str, verbs: Verbs, finished: bool) -> None:
        self.text = text
        self.verbs = verbs
        self.finished = finished
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
            elif self._is_command(line):
                self._add_prose(prose_from, self.at)
                self._add_batch()
                prose_from = self.at
                continue
            else:
                fence = opens(line)
            self.at += 1
        self._add_prose(prose_from, len(self.lines))
        return tuple(self.found)

    def _is_command(self, line: str) -> bool:
        body = line.lstrip(BLANK)
        if len(line) - len(body) > MAX_BLANKS:
            return False
        if body.startswith("->"):
            return self.verbs.verb_of(first_word(without_arrow(body)).rstrip("\r")) is not None
        return body.startswith("→")

    def _offset(self, line: int) -> int:
        return min(self.starts[line], len(self.text))

    def _add_prose(self, first: int, last: int) -> None:
        start, end = self._offset(first), self._offset(last)
        if start < end:
            self.found.append(Prose(self._unescaped(first, last, start, end), start, end))

    def _unescaped(self, first: int, last: int, start: int, end: int) -> str:
        """The text, `\\→` at the start of a line as the arrow itself, but not in fences."""
        if "\\→" not in self.text and "\\->" not in self.text:
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
            if self._is_command(line):
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
        body = self.lines[at].lstrip(BLANK)
        return len(self.lines[at]) - len(body) <= MAX_BLANKS and (
            body == "-" or body.startswith("->")
        )

    def _command(self) -> Command:
        """The command that begins at the line in turn; moves behind its block."""
        first = self.at
        line = self.lines[first]
        self.at += 1
        last_line = first == len(self.lines) - 1
        said = self._read(line)
        if said.line is not None:
            return self._cut_off(said.text) if last_line and not self.finished else said
        if self._wants_block(line):
            return self._with_block(first)
        self.at = self._end_of_lost(first)
        return Command("\n".join(self.lines[first : self.at]), bad=said.bad)

    def _read(self, text: str) -> Command:
        try:
            return Command(text, line=read(text, self.verbs.forms, self.verbs.aliases))
        except Bad as bad:
            return Command(text, bad=bad)

    def _wants_block(self, line: str) -> bool:
        return self._read(line + "\n").line is not None

    def _with_block(self, first: int) -> Command:
        closer = self._next(self.closers, first + 1)
        self.at = len(self.lines) if closer is None else closer + 1
        text = "\n".join(self.lines[first : self.at])
        if closer is None and not self.finished:
            return self._cut_off(text)
        below = text if "\n" in text else text + "\n"
        if not below.partition("\n")[2].strip():
            return self._read(self.lines[first])
        return replace(self._read(below), text=text)

    def _cut_off(self, text: str) -> Command:
        bad = unread("The reply was cut off before this command ended.", "write it again, whole")
        return Command(text, bad=bad)

    def _end_of_lost(self, first: int) -> int:
        """Where the text of a command that cannot be read ends: what may have been its block
        or the rest of its quote is not run in its stead."""
        body = without_arrow(self.lines[first].strip(" \t\r"))
        verb = self.verbs.verb_of(first_word(body))
        try:
            tokens = tokens_of(body)
        except Bad:
            quote = self._next(self.quotes, first + 1)
            return first + 1 if quote is None else quote + 1
        if any(token.quoted is not None and not token.head for token in tokens):
            return first + 1
        if verb and not any(form.plan.block for form in self.verbs.forms[verb]):
            return first + 1
        closer = self._next(self.closers, first + 1)
        return first + 1 if closer is None else closer + 1

    def _next(self, places: list[int], at: int) -> int | None:
        found = bisect_left(places, at)
        return places[found] if found < len(places) else None
