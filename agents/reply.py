"""What a model wrote: the prose and commands of a round of a turn, and where it is cut; and where
an answer of a subject repeats the end of the text that it continues. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.context.subject_request import ASKED, BEGUN, PLAIN
from loom.grammar.batches import (
    MAX_LOOKS,
    Batch,
    Growing,
    Segment,
    prose_of,
    segments_of,
)
from loom.grammar.forms import Form, Verbs
from loom.grammar.line_reader import Line
from loom.grammar.lines import ARROW_MARKS, Command, is_undecided, makes_window, named_line
from loom.grammar.refs import ParseError

# A round of a turn: only the live text of a turn is read here, never what a subject wrote.
# See docs/model.md §5.

Look = Callable[[Line], bool]


@dataclass(frozen=True)
class Language:
    """The commands there are, and which of them look at something."""

    forms: Mapping[str, Sequence[Form]]
    aliases: Mapping[str, str]
    looks: Look


@dataclass(frozen=True)
class Reply:
    """A round's answer: `text` up to its cut, its `prose`, its `commands` in order with the
    near misses among them, and how many characters came after the cut."""

    text: str
    prose: str
    commands: tuple[Command, ...] = ()
    dropped: int = 0


def read_reply(text: str, language: Language, *, finished: bool) -> Reply:
    """The answer as it counts. `finished`: the model ended it, or it was cut after a batch;
    otherwise a command that lies open at the end is not run."""
    cut = cut_of(_segments(text, language, finished=finished), language)
    if cut is None:
        segments = _segments(text, language, finished=finished)
        return Reply(text, prose_of(segments), _commands(segments))
    used, rest = text[:cut], text[cut:]
    segments = _segments(used, language, finished=True)
    return Reply(used, prose_of(segments), _commands(segments), len(rest) if rest.strip() else 0)


def cut_of(segments: Sequence[Segment], language: Language) -> int | None:
    """Where the first batch with a look line ends; None where there is none."""
    for one in segments:
        if isinstance(one, Batch) and any(_looks(said, language) for said in one.commands):
            return one.end
    return None


class Cutter:
    """Reads a stream and reports when nothing more is needed. Each line is read once, however
    it is cut into pieces."""

    def __init__(self, language: Language) -> None:
        self._growing = Growing(Verbs(language.forms, language.aliases), language.looks)
        self._rest: list[str] = []
        self._has_arrow = self._is_known = False

    def takes_time(self, piece: str) -> bool:
        """Whether reading the piece may take more than a moment: commands are read then."""
        self._has_arrow = self._has_arrow or any(mark in piece for mark in ARROW_MARKS)
        return self._has_arrow and "\n" in piece

    def feed(self, piece: str) -> bool:
        """Whether the first batch with a look line has ended, after `piece` has come."""
        first, *more = piece.split("\n")
        self._rest.append(first)
        for line in more:
            self._growing.feed("".join(self._rest))
            self._rest, self._is_known = [line], False
        if self._is_known or not self._rest[-1].strip():
            return self._growing.has_ended
        rest = "".join(self._rest)
        self._is_known = not is_undecided(rest)
        return self._growing.ends_with(rest)


def _segments(text: str, language: Language, *, finished: bool) -> tuple[Segment, ...]:
    return segments_of(text, language.forms, language.aliases, finished=finished)


def _looks(said: Command, language: Language) -> bool:
    return said.line is not None and language.looks(said.line)


def _commands(segments: Sequence[Segment]) -> tuple[Command, ...]:
    """The commands of all batches and the near misses between them, in order."""
    found: list[Command] = []
    for one in segments:
        found += _within_limit(one.commands) if isinstance(one, Batch) else one.near
    return tuple(found)


def _within_limit(commands: Sequence[Command]) -> list[Command]:
    """The commands of a batch, its looks after the first MAX_LOOKS refused."""
    looks = 0
    found: list[Command] = []
    for said in commands:
        looks += makes_window(said.line)
        found.append(_one_look_too_many(said) if looks > MAX_LOOKS and said.line else said)
    return found


def _one_look_too_many(said: Command) -> Command:
    if not makes_window(said.line):
        return said
    message = f"The first {MAX_LOOKS} looks of a reply run; this is one more."
    assert said.line is not None
    hint = f"read their results first, then write {said.line.canonical} if you still need it"
    bad = named_line(ParseError("LIMIT_EXCEEDED", message, hint), said.text, said.number)
    return replace(said, line=None, bad=bad)


def asks_again(replies: Sequence[Mapping[str, Any]], earlier: Sequence[Sequence[Any]]) -> bool:
    """Whether a round's lines ask for another one: `replies` are those of the round, `earlier`
    those of the rounds before, each with `asks` and, of a near miss, `near`.

    Where no real line stood, near misses ask for another round once a turn.
    """
    if any(one["asks"] and not one.get("near") for one in replies):
        return True
    if not any(one.get("near") for one in replies):
        return False
    return any(not one.get("near") for one in replies) or not any(map(_only_near, earlier))


def _only_near(replies: Sequence[Mapping[str, Any]]) -> bool:
    return bool(replies) and all(one.get("near") for one in replies)


# The answer of a subject: what it repeats of the text's end is taken off, and the blanks between
# the two are made right. Only the answer is changed, never the text; one sentence says what was
# done.

REACH = 20_000  # characters of the text's end that an answer may repeat
LONG = 12  # so much is no accident
LONG_WIDE = 6
_OPENING = "“«‘¿¡([„"
_CLOSED = ".,;:!?…)]”’»“%"
# Scripts that put no blanks between words: Thai to Khmer, Chinese and Japanese.
_WIDE = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),
    (0x20000, 0x3FFFF),
)


@dataclass
class Overlap:
    """One answer to a text that was handed over in one `way`. Pieces go in by `feed`, and come
    out as they are to be stored; what is not decided yet is kept inside."""

    text: str
    way: str
    note: str = ""
    _held: str = ""
    _is_joined: bool = False
    _core: str = field(init=False)
    _blanks: str = field(init=False)
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        core = self.text.rstrip()
        self._blanks = self.text[len(core) :]
        self._core = core if self.way in BEGUN else core[-REACH:]
        self._starts = [0] if core and self.way in BEGUN else _starts(self._core)

    @property
    def holds(self) -> bool:
        """Whether something waits inside."""
        return bool(self._held)

    def feed(self, piece: str) -> str:
        """What may be shown of the answer now that `piece` has come."""
        if self._is_joined:
            return piece
        self._held += piece
        return "" if self._may_change() else self.rest()

    def rest(self) -> str:
        """What waits, as it is to be stored; nothing more is held after it."""
        held, self._held = self._held, ""
        if self._is_joined or not held:
            return held
        self._is_joined = True
        return self._joined(held)

    def _may_change(self) -> bool:
        """Whether more of the answer could still change what is done with what came."""
        bare = self._held.lstrip()
        self._starts = [at for at in self._starts if _fits(self._core, at, bare)]
        if not bare:
            return len(self._held) < REACH
        if any(len(self._core) - at >= len(bare) for at in self._starts):
            return True
        least = max((len(self._core) - at for at in self._starts), default=0)
        return bool(least) and not bare[least:].strip()

    def _joined(self, held: str) -> str:
        bare = held.lstrip()
        repeated = self._repeated(bare)
        rest = bare[repeated:] if repeated else held
        begins = rest[: len(rest) - len(rest.lstrip())]
        taken = _of_blanks(self._blanks, begins) if repeated or self.way != PLAIN else 0
        made = rest[taken:]
        lacks = not (repeated or self._blanks) and self.way in ASKED
        if lacks and _lacks_blank(self._core, made):
            self.note = "put a blank before it"
            return f" {made}"
        self.note = _note_on(repeated, taken)
        return made

    def _repeated(self, bare: str) -> int:
        """How many characters at the start of the answer repeat the end of the text."""
        sizes = (len(self._core) - at for at in self._starts)
        fitting = (size for size in sizes if bare[:size] == self._core[-size:])
        return next((size for size in fitting if self._is_meant(bare, size)), 0)

    def _is_meant(self, bare: str, size: int) -> bool:
        """Whether so many repeated characters are no accident of the language."""
        said, is_whole = bare[:size], not bare[size : size + 1].isalnum()
        if size >= (LONG_WIDE if _is_wide(said[-1]) else LONG):
            return is_whole or self.way != PLAIN
        return self.way in ASKED and (is_whole or len(said.split()) > 1)


def _starts(core: str) -> list[int]:
    """Where a repetition may begin, the longest first: at words."""
    return [
        at
        for at, char in enumerate(core)
        if not char.isspace()
        and (at == 0 or not (core[at - 1].isalnum() and char.isalnum()) or _is_wide(char))
    ]


def _fits(core: str, at: int, bare: str) -> bool:
    """Whether an answer that begins so repeats the text from `at`, as far as both go."""
    return core.startswith(bare, at) or bare.startswith(core[at:])


def _of_blanks(blanks: str, begins: str) -> int:
    """How many of the answer's first blanks the text ends with already. A line break that the
    text lacks stays, and so does what sets a new line in."""
    if not blanks:
        return 0
    if begins.startswith(blanks):
        return len(blanks)
    if "\n" in blanks and "\n" not in begins:
        return len(begins) if begins == " " else 0
    return 0 if "\n" in begins and "\n" not in blanks else len(begins)


def _lacks_blank(core: str, answer: str) -> bool:
    """Whether two words would run into each other."""
    if not core or not answer:
        return False
    last, first = core[-1], answer[0]
    if _is_wide(last) or _is_wide(first):
        return False
    opens = first in _OPENING or (first == '"' and core.count('"') % 2 == 0)
    return (first.isalnum() or opens) and (last.isalnum() or _closes(core))


def _closes(core: str) -> bool:
    return core[-1] in _CLOSED or (core[-1] == '"' and core.count('"') % 2 == 0)


def _is_wide(char: str) -> bool:
    return not char.isascii() and any(low <= ord(char) <= high for low, high in _WIDE)


def _note_on(repeated: int, blanks: int) -> str:
    if repeated:
        s = "" if repeated == 1 else "s"
        verb = "repeats" if repeated == 1 else "repeat"
        return f"took off {repeated:,} character{s} that {verb} the end of the text"
    return "took off the blanks that the text ends with" if blanks else ""


def goes_on(text: str, answer: str) -> bool:
    """Whether an answer goes on in the middle of a sentence: with neither a new one nor the
    old one again."""
    first = next((char for char in answer if char.isalnum()), "")
    return first != "" and not first.isupper() and not answer.lstrip().startswith(text)
