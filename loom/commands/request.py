"""One line as it was sent, what is known of it while it runs, and what it answers."""

from dataclasses import dataclass, field
from typing import Any

from loom.access import Actor
from loom.commands.registry import Command
from loom.grammar.lines import Line
from loom.grammar.writing import STORED_WHOLE, block_of, named, shortened
from loom.log import streams
from loom.models import Grove, Tree, Workspace


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
    is_held: bool = False  # whether a node holds the line's content

    @property
    def written(self) -> Tree | Grove:
        """What the command writes: the tree, or the grove of the tree."""
        grove = self.command is not None and self.command.stream == "grove"
        return self.tree.grove if grove else self.tree

    @property
    def stream(self) -> str:
        """The name of the stream that the command writes."""
        return streams.name_of(self.written)

    @property
    def canonical(self) -> str:
        """The canonical line; with its content named, not written out, once a node holds it."""
        canonical = self.line.canonical if self.line else ""
        return shortened(canonical) if self.is_held else canonical

    @property
    def as_given(self) -> str:
        """The line as it was sent; with its content named, once a node holds it.

        Where its content cannot be found in it as it is (it stood in quotes, with escapes),
        the canonical line stands for it.
        """
        given = self.request.line.replace("\0", "�").encode(errors="replace").decode()
        if not self.is_held or self.line is None:
            return given
        block = block_of(self.line.canonical)
        if len(block) <= STORED_WHOLE:
            return given
        return given.replace(block, named(block)) if block in given else self.canonical
