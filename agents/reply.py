"""What a model said in a round: where its answer is cut, its prose, its commands. PURE.

Only the live text of a turn comes in here, never what a subject wrote. See docs/model.md §5.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loom.grammar.batches import Batch, Command, Growing, Segment, prose_of, segments_of
from loom.grammar.form_matching import Verbs
from loom.grammar.forms import Form
from loom.grammar.lines import Line

Look = Callable[[Line], bool]


@dataclass(frozen=True)
class Language:
    """The commands there are, and which of them look at something."""

    forms: Mapping[str, Sequence[Form]]
    aliases: Mapping[str, str]
    looks: Look


@dataclass(frozen=True)
class Reply:
    """A round's answer: `text` up to its cut, its `prose`, its `commands` in order, and how
    many characters came after the cut."""

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
    """Hears a stream and says when nothing more is needed. Each line is read once, however
    it is cut into pieces."""

    def __init__(self, language: Language) -> None:
        self._growing = Growing(Verbs(language.forms, language.aliases), language.looks)
        self._rest: list[str] = []
        self._has_arrow = self._is_known = False

    def takes_time(self, piece: str) -> bool:
        """Whether hearing the piece may take more than a moment: commands are read then."""
        self._has_arrow = self._has_arrow or "→" in piece or ">" in piece
        return self._has_arrow and "\n" in piece

    def hear(self, piece: str) -> bool:
        """Whether the first batch with a look line has ended, now that `piece` has come."""
        first, *more = piece.split("\n")
        self._rest.append(first)
        for line in more:
            self._growing.feed("".join(self._rest))
            self._rest, self._is_known = [line], False
        if self._is_known or not self._rest[-1].strip():
            return self._growing.has_ended
        rest = "".join(self._rest)
        # What begins like a command shows only at its end whether it is one.
        self._is_known = rest.strip() not in ("-", "←")
        return self._growing.ends_with(rest)


def _segments(text: str, language: Language, *, finished: bool) -> tuple[Segment, ...]:
    return segments_of(text, language.forms, language.aliases, finished=finished)


def _looks(said: Command, language: Language) -> bool:
    return said.line is not None and language.looks(said.line)


def _commands(segments: Sequence[Segment]) -> tuple[Command, ...]:
    return tuple(said for one in segments if isinstance(one, Batch) for said in one.commands)
