"""Plain values from which the view of an agent is rendered. Pure."""

from dataclasses import dataclass
from typing import Literal

from loom.rules.windows import LARGE, WARNED, Row


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
class Request:
    """What the inviter of a turn asks: the words, the node that holds them, and who wrote it."""

    local_id: str
    text: str
    author: str
    kind: str


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
