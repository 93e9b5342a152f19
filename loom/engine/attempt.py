"""What is known about a line so far, for the step that records it."""

from dataclasses import dataclass, field

from loom.access import Actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.effects import Effects
from loom.engine.registry import Command
from loom.language.lines import Line
from loom.people.models import Grove
from loom.text.shortening import STORED_WHOLE, block_of, named, shortened
from loom.trees.models import Tree, Workspace


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
    position: str = ""  # where the line was given: a local id
    is_held: bool = False  # whether a node holds the line's content
    effects: Effects = field(default_factory=Effects)  # those of its context

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
        """The canonical line; once a node holds its content, the content is named instead of
        written out."""
        canonical = self.line.canonical if self.line else ""
        return shortened(canonical) if self.is_held else canonical

    @property
    def as_given(self) -> str:
        """The line as it was sent; once a node holds its content, the content is named instead. If
        the content does not occur in it literally (it was quoted, with escapes), the canonical
        line replaces it.
        """
        given = self.request.line.replace("\0", "�").encode(errors="replace").decode()
        if not self.is_held or self.line is None:
            return given
        block = block_of(self.line.canonical)
        if len(block) <= STORED_WHOLE:
            return given
        return given.replace(block, named(block)) if block in given else self.canonical
