"""Plain values from which a request is made: the three truncations of a tree, which cut a path
to what a model can read (docs/model.md §6.3), and what an agent is sent around it. Pure.

Counts are estimates of about four characters a token.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from loom.rules import node_values
from loom.rules.node_values import escaped, plain
from loom.rules.windows import LARGE, WARNED, Row

KEPT_AT_THE_END = 4  # nodes that truncateMiddle never leaves out
GAP = "gap"  # the role of the part in place of what was left out
MARKER = "[…]"

Counted = Callable[[str], int]
count = node_values.count


class TooLong(ValueError):
    """What must be sent exceeds the room there is; the text is one sentence."""

    def __init__(self, tokens: int, room: int) -> None:
        super().__init__(
            f"The path has about {tokens:,} tokens, and there is room for {max(room, 0):,}."
        )


@dataclass(frozen=True)
class Part:
    """One text of the path and whose it is: `user`, `assistant` or GAP."""

    role: str
    text: str

    @cached_property
    def size(self) -> int:
        """About how many tokens it has. Parts of a path are counted in request after request."""
        return count(self.text)


@dataclass(frozen=True)
class Portion:
    """One section of a request: its exact text and how many tokens that has. `detail` says what
    it holds, `note` why it is there, or what of it was shortened or left out and why."""

    name: str
    text: str
    tokens: int
    detail: str = ""
    note: str = ""


@dataclass(frozen=True)
class Fitted:
    """What is left of the parts, and a note for the reader of the answer ("": nothing went)."""

    parts: tuple[Part, ...]
    note: str = ""


def count_small(text: str) -> int:
    """The same for a small vocabulary, which spells other scripts by parts of letters.

    Measured with SmolLM2, bytes a token: Chinese 1.5, Japanese 1.6, Arabic 2.0, Russian 2.3.
    """
    if text.isascii():
        return count(text)
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + -(-(len(text.encode()) - plain) * 2 // 3)


def total(parts: Sequence[Part], counted: Counted) -> int:
    """About how many tokens the parts have together."""
    if counted is count:
        return sum([part.size for part in parts])
    return sum(counted(part.text) for part in parts)


def truncate_middle(
    parts: Sequence[Part], room: int, counted: Counted = count, kept: int = KEPT_AT_THE_END
) -> Fitted:
    """The first nodes, a marker, and the last ones: at least `kept` of them, cut in front
    where even they do not fit."""
    if total(parts, counted) <= room:
        return Fitted(tuple(parts))
    tail = tuple(parts[-kept:])
    left = room - total(tail, counted) - counted(MARKER)
    if left < 0:
        return rolling_window(tail, room, counted)
    head = list(parts[: -len(tail)])
    first = _fitting(head, left // 4, counted) or _fitting(head[:1], left, counted)
    rest = head[len(first) :]
    last = _fitting(rest[::-1], left - total(first, counted), counted)[::-1]
    missing = len(rest) - len(last)
    return Fitted(
        (*first, Part(GAP, MARKER), *last, *tail),
        f"left out {missing:,} node{'' if missing == 1 else 's'} in the middle",
    )


def _fitting(parts: Sequence[Part], room: int, counted: Counted) -> list[Part]:
    """The parts from the start on that fit together."""
    kept: list[Part] = []
    for part in parts:
        room -= counted(part.text)
        if room < 0:
            break
        kept.append(part)
    return kept


def rolling_window(parts: Sequence[Part], room: int, counted: Counted = count) -> Fitted:
    """The end of the path; the oldest text is cut inside, after a blank if one is near."""
    if total(parts, counted) <= room:
        return Fitted(tuple(parts))
    kept = _fitting(parts[::-1], room, counted)[::-1]
    cut = parts[len(parts) - len(kept) - 1]
    left = room - total(kept, counted)
    end = _end_of(cut.text, left, counted) if left else ""
    begun = [Part(cut.role, end)] if end else []
    return Fitted((*begun, *kept), f"read the last {room:,} tokens")


def _end_of(text: str, room: int, counted: Counted) -> str:
    """The longest end of `text` that fits, without a broken word in front where it can be."""
    text = text[-4 * room :]  # no count is below a quarter of the characters
    low, high = 0, len(text)  # the first start that fits lies between
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if counted(text[middle:]) <= room else (middle + 1, high)
    end = text[low:]
    blank = next((at for at, char in enumerate(end[:80]) if char.isspace()), -1)
    return end[blank + 1 :]


def stop_at_limit(parts: Sequence[Part], room: int, counted: Counted = count) -> Fitted:
    """All parts. Raises TooLong where they do not fit."""
    tokens = total(parts, counted)
    if tokens > room:
        raise TooLong(tokens, room)
    return Fitted(tuple(parts))


TRUNCATIONS: dict[str, Callable[[Sequence[Part], int, Counted], Fitted]] = {
    "rollingWindow": rolling_window,
    "stopAtLimit": stop_at_limit,
}


def fit(
    parts: Sequence[Part],
    truncation: str,
    room: int,
    counted: Counted = count,
    *,
    kept: int = KEPT_AT_THE_END,
) -> Fitted:
    """The parts cut to `room` tokens by a truncation; `kept`: the last nodes that truncateMiddle
    never leaves out.

    Raises TooLong where there is no room at all, or the truncation says stop.
    """
    if room <= 0:
        raise TooLong(total(parts, counted), room)
    if truncation == "truncateMiddle":
        return truncate_middle(parts, room, counted, kept)
    return TRUNCATIONS[truncation](parts, room, counted)


# -- what an agent is sent


STEP = 8  # nodes by which EARLIER grows, so that what is cached changes seldom
MOST = 240  # characters of a sentence
_END = re.compile(r"(?<=[.!?…。！？])\s|\n")


@dataclass(frozen=True)
class Own(Part):
    """The reader's own text, and what names it afterwards."""

    named: str = ""


@dataclass(frozen=True)
class Earlier:
    """The section ("": nothing), how many nodes it summarises, and a note."""

    text: str = ""
    nodes: int = 0
    note: str = ""


def first_sentence(text: str) -> str:
    """The first sentence on one line, cut where it has no end."""
    line = " ".join(_END.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"


@dataclass(frozen=True)
class Stop:
    """A node of the path. `at` is its time in UTC, `2026-11-21 02:07`; `is_own`: the reader
    wrote it; `is_imported`: a file says so, and nobody else."""

    local_id: str
    text: str
    author: str
    kind: str
    at: str
    is_own: bool = False
    is_imported: bool = False
    summary: str = ""

    @cached_property
    def size(self) -> int:
        """About how many tokens its text has."""
        return count(self.text)

    @cached_property
    def sentence(self) -> str:
        """Its first sentence."""
        return first_sentence(self.text)

    @cached_property
    def part(self) -> Part:
        """It as one block; the header of an own one is said in the next user block."""
        if self.is_own:
            named = f"[{self.local_id}] you · {self.at[-5:]}Z (above)"
            return Own("assistant", escaped(self.text), named)
        header = f"[{self.local_id}] {plain(self.author)} ({self.kind}) · {self.at}Z"
        mark = " · imported" if self.is_imported else ""
        return Part("user", f"{header}{mark}\n{escaped(self.text)}")


@dataclass(frozen=True)
class Request:
    """What the inviter of a turn asks: the words, the node that holds them, and who wrote it."""

    local_id: str
    text: str
    author: str
    kind: str


@dataclass(frozen=True)
class LineReply:
    """The answer to one line: its canonical form, the reply, and for a look the number under
    which it is kept (0: it is answered by itself, without a frame)."""

    line: str
    reply: str
    number: int = 0


THRESHOLD = 4_000  # tokens of a result that are given whole wherever there is room for them
SHARE = 10  # of what can be read: a tenth is given whole where that is more


def threshold_of(limit: int, taken: int, chosen: int = 0) -> int:
    """How many tokens a result may have to be given whole: as many as were `chosen`, else a
    tenth of the limit, at least THRESHOLD; and at most half of what is still free."""
    return min(chosen or max(THRESHOLD, limit // SHARE), max(limit - taken, 0) // 2)


@dataclass(frozen=True)
class Round:
    """A round that ended: what was said, the answers to its lines, and how many characters
    after them were dropped. `workspace` is the WORKSPACE message that the round was sent, so
    that the next request repeats it to the byte; "" where none is kept."""

    text: str
    replies: tuple[LineReply, ...] = ()
    dropped: int = 0
    notes: tuple[str, ...] = ()
    workspace: str = ""


@dataclass(frozen=True)
class Syntax:
    """A command that may be used: its group, its form, what it does."""

    group: str
    form: str
    says: str


@dataclass(frozen=True)
class Teaching:
    """What INSTRUCTIONS depend on: the commands that may be used, the mode of the tree, the
    `lists` there are, and the `agents` and `models` that may be asked."""

    commands: tuple[Syntax, ...]
    mode: Literal["dialogue", "buffer"] = "dialogue"
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()

    @property
    def verbs(self) -> set[str]:
        """The first words of the commands."""
        return {one.form.partition(" ")[0] for one in self.commands}


@dataclass(frozen=True)
class Twig:
    """A line of OUTLINE: a node with its first words, how deep it lies, how many
    `continuations` it has and how many of them are `shown` below it; a hit of the last search has
    a `score`. With `left_out` the line
    stands for so many nodes between the one above it and the one below it."""

    local_id: str
    words: str
    level: int
    is_last: bool
    continuations: int = 0
    shown: int = 0
    is_here: bool = False
    score: float | None = None
    left_out: int = 0


@dataclass(frozen=True)
class Near:
    """A line of PATH: what changes about a node that was read; `age` in words. `words`, its
    first ones in quotes, name it in a buffer, where no header does. `skipped`: the ids of the
    nodes between this one and the line before that have no line."""

    local_id: str
    author: str
    kind: str
    age: str
    continuations: int = 0
    annotations: int = 0
    is_bookmarked: bool = False
    tags: tuple[str, ...] = ()
    links: int = 0
    words: str = ""
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Action:
    """A line that the reader gave: its verb, the nodes it touched, and its outcome."""

    verb: str
    nodes: tuple[str, ...] = ()
    outcome: str = "ok"


@dataclass(frozen=True)
class Pane:
    """A visible window: its number, what it shows, of which `kind`, and its `lines`, None where
    there was no room for them. `span` is the first and last line of a text of `total` lines,
    whose `revision` is shown. `notes` say why and how it is there; `is_kept`: it stays after the
    turn; `stale`: what is newer; `changes`: the last ones, the newest first; `links`: those of
    what it shows, by type, with how many targets or the id of the only one."""

    number: int
    name: str
    lines: tuple[Row, ...] | None
    kind: str = ""
    span: tuple[int, int] | None = None
    total: int = 0
    revision: int = 0
    notes: tuple[str, ...] = ()
    is_kept: bool = False
    stale: str = ""
    label: str = ""
    changes: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    @property
    def count(self) -> int:
        """How many lines it has of its own."""
        return sum(not one.is_around for one in self.lines or ())

    @property
    def extent(self) -> str:
        """`lines 3-9 (7)`, `lines 1-200 (200 of 812)`; nothing without a span."""
        if self.span is None:
            return ""
        first, last = self.span
        size = last - first + 1
        of = f" of {self.total:,}" if self.total > max(LARGE, size) else ""
        return f"lines {first}-{last} ({size}{of})"


@dataclass(frozen=True)
class View:
    """What the sections of the WORKSPACE message are rendered from.

    `tokens` by part; `others`: the kind, node and depth of who else is active;
    `notifications` a line each; `actions` the last ones, oldest first; `shortened` names the
    sections that are stated in brief because of the limit; `request` names the inviter's
    words, such as `[z3n7] from Ada`. `panes` are the visible windows, `stashed` the labels of
    what was put aside, `tasks` a line each; STATUS warns above `most_lines` of windows. `title`
    and `mode` are those of the tree whose path is read; `home`, (title, mode), those of the tree
    of the position where that is another one, which the rest then describes.
    """

    revision: int
    title: str
    mode: Literal["dialogue", "buffer"]
    nodes: int
    branches: int
    depth: int
    position: tuple[str, ...]
    permissions: tuple[str, ...]
    others: tuple[tuple[str, str, int], ...] = ()
    tokens: tuple[tuple[str, int], ...] = ()
    limit: int = 0
    budget: str = ""
    notifications: tuple[str, ...] = ()
    outline: tuple[Twig, ...] = ()
    near: tuple[Near, ...] = ()
    actions: tuple[Action, ...] = ()
    shortened: tuple[str, ...] = ()
    request: str = ""
    home: tuple[str, str] | None = None
    panes: tuple[Pane, ...] = ()
    stashed: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    most_lines: int = WARNED


@dataclass(frozen=True)
class Augment:
    """A document that may be in the prompt: `mark` says whether it is (● loaded, 📌 pinned); its
    `text` only then."""

    name: str
    mark: str = ""
    text: str = ""


@dataclass(frozen=True)
class Aware:
    """Everything a request to a loom-aware agent is made from. `closing` ends the message of
    every round; `request` is not in `path`. `stated` holds the sections as they were last
    stated to the reader, by name. `agents` and `models` may be named in `continue`,
    `lists` are the types of `list`; `augments` in the order in which they are sent.
    `threshold`: tokens of a result that are given whole (0: by the limit); `kept`: the last
    nodes that truncateMiddle keeps; `step`: nodes by which EARLIER grows."""

    persona: str
    system_context: str
    commands: tuple[Syntax, ...]
    path: tuple[Stop, ...]
    rounds: tuple[Round, ...]
    view: View
    closing: str
    request: Request | None = None
    truncation: str = "truncateMiddle"
    limit: int = 3072
    counted: Counted = count
    stated: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    augments: tuple[Augment, ...] = ()
    threshold: int = 0
    kept: int = KEPT_AT_THE_END
    step: int = STEP
