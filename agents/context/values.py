"""Plain values from which a request to a loom-aware agent is made. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from agents.context.truncation import KEPT_AT_THE_END, Counted, Part, count
from loom.rules.framing import escaped, plain
from loom.rules.windows import LARGE, WARNED, Row

STEP = 8  # nodes by which EARLIER grows, so that what is cached changes seldom


@dataclass(frozen=True)
class Own(Part):
    """The reader's own text, and what names it afterwards."""

    named: str = ""


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
    turn; `stale`: what is newer; `changes`: the last ones, the newest first."""

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
