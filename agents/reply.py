"""What a model wrote in a round: where its answer is cut, its prose, its commands. Pure.

Only the live text of a turn comes in here, never what a subject wrote. See docs/model.md §5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loom.grammar.batches import (
    MAX_LOOKS,
    Batch,
    Command,
    Growing,
    Segment,
    prose_of,
    segments_of,
)
from loom.grammar.form_matching import Verbs
from loom.grammar.forms import Form
from loom.grammar.lines import Line
from loom.grammar.reply_lines import ARROW_MARKS, is_undecided, makes_window, named_line
from loom.grammar.tokens import ParseError

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
