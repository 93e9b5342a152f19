"""One line as it was sent, what is known of it while it runs, and what it answers."""

from dataclasses import dataclass, field
from typing import Any

from loom.access import Actor
from loom.commands.registry import Command
from loom.grammar.lines import Line
from loom.models import Tree, Workspace


@dataclass(frozen=True)
class Request:
    """One line and how it was sent (docs/model.md §14.3): `at` is what `here` means, `key` makes a
    repeat harmless, `dry_run` writes nothing. `turn` (its id) and `place` say which line of
    which turn it is: the step of a place is taken once, and with it all that the line does."""

    line: str
    key: str = ""
    at: str = ""
    dry_run: bool = False
    origin: str = ""
    turn: str = ""
    place: str = ""


@dataclass(frozen=True)
class Answer:
    """What a line that ran answers; `body` is the JSON of docs/model.md §14.3."""

    body: dict[str, Any]
    running: bool = False

    @property
    def reply(self) -> str:
        """The text a person or model reads."""
        return str(self.body["reply"])


@dataclass
class Attempt:
    """What is known about a line so far, for the step that records it."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    request: Request
    line: Line | None = None
    command: Command | None = None
    seqs: list[int] = field(default_factory=list)
    stood: str = ""

    @property
    def canonical(self) -> str:
        return self.line.canonical if self.line else ""
