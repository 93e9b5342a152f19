"""Plain values from which a request to a loom-aware agent is made. PURE."""

from dataclasses import dataclass
from typing import Literal

from agents.context.truncation import Counted, count


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


@dataclass(frozen=True)
class Request:
    """What the inviter of a turn asks: the words, the node that holds them, and who wrote it."""

    local_id: str
    text: str
    author: str
    kind: str


@dataclass(frozen=True)
class Told:
    """The answer to one line: its canonical form, the reply, and for a look the number under
    which it is kept (0: it is answered by itself, without a frame)."""

    line: str
    reply: str
    number: int = 0


@dataclass(frozen=True)
class Round:
    """A round that ended: what was said, the answers to its lines, and how many characters
    after them were dropped."""

    text: str
    told: tuple[Told, ...] = ()
    dropped: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Syntax:
    """A command that may be used: its group, its form, what it does."""

    group: str
    form: str
    says: str


@dataclass(frozen=True)
class Twig:
    """A line of OUTLINE: a node with its first words, how deep it lies, how many
    `continuations` it has and how many of them are `shown` below it."""

    local_id: str
    words: str
    level: int
    is_last: bool
    continuations: int = 0
    shown: int = 0
    is_here: bool = False
    is_hit: bool = False


@dataclass(frozen=True)
class Near:
    """A line of PATH: what changes about a node that was read; `age` in words."""

    local_id: str
    author: str
    kind: str
    age: str
    continuations: int = 0
    annotations: int = 0
    is_bookmarked: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Action:
    """A line that the reader gave: its verb, the nodes it touched, and what came of it."""

    verb: str
    nodes: tuple[str, ...] = ()
    outcome: str = "ok"


@dataclass(frozen=True)
class View:
    """What the sections of the WORKSPACE message are rendered from. `tokens` by part;
    `others`: kind, node and depth of who else is active; `notifications` a line each;
    `deeds` the last ones, oldest first, told only by their number where `is_short`; `request`
    names the inviter's words, such as `[z3n7] from Ada`."""

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
    deeds: tuple[Action, ...] = ()
    is_short: bool = False
    request: str = ""


@dataclass(frozen=True)
class Aware:
    """Everything a request to a loom-aware agent is made from. `closing` ends the last
    message, `opening` ended that of the first round; `request` is not in `path`."""

    persona: str
    system_context: str
    commands: tuple[Syntax, ...]
    path: tuple[Stop, ...]
    rounds: tuple[Round, ...]
    view: View
    opening: str
    closing: str
    request: Request | None = None
    truncation: str = "truncateMiddle"
    limit: int = 3072
    can_show: bool = False
    counted: Counted = count
