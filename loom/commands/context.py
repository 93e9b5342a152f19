"""What a running command is given, and what it returns."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from loom.access import Actor, may_reach
from loom.commands.registry import Command
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.lines import Line
from loom.grammar.printing import STORED_WHOLE, block_of, named, shortened
from loom.models import Grove, Node, Participant, Step, Tree, Workspace
from loom.queries import lookup
from loom.rules import addresses
from loom.rules.errors import not_found


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
    position: str = ""  # where the line was given: a local id
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

        Where its content cannot be found in it as it is (it was quoted, with escapes), the
        canonical line replaces it.
        """
        given = self.request.line.replace("\0", "�").encode(errors="replace").decode()
        if not self.is_held or self.line is None:
            return given
        block = block_of(self.line.canonical)
        if len(block) <= STORED_WHOLE:
            return given
        return given.replace(block, named(block)) if block in given else self.canonical


Op = dict[str, Any]  # one operation of an inverse, see loom.commands.inverse


@dataclass(frozen=True)
class Reply:
    """What a command answers. `refs` local ids in order, `inverse` what undo would do,
    `items` ids of the items touched, `generations` uids of what goes on running."""

    text: str
    refs: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    inverse: tuple[Op, ...] = ()
    items: tuple[int, ...] = ()
    link_type: str = ""
    running: bool = False


@dataclass
class Context:
    """One line being run. `writer` is the locked tree (None for pure looking); `at` is the
    local id that `here` means, "" for the position of the workspace."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    at: str
    now: datetime
    origin: str
    turn: str = ""  # the id of the turn whose line it is
    writer: Writer | None = None
    moved_to: Node | None = None
    chosen: dict[int, Node] = field(default_factory=dict)  # slot id → version
    outline: dict[str, Any] | None = None  # the outline as this line leaves it
    agent: Participant | None = None  # whose turn is undone: what it wrote is no stranger's
    steps: list[Step] = field(default_factory=list)  # steps a command wrote itself

    @cached_property
    def here(self) -> Node:
        """What `here` means: `at`, otherwise the current version at the position of the
        workspace, or at the nearest node above that is not hidden; the root where the workspace
        is in a tree that the actor may no longer read."""
        if not self.at:
            position = lookup.by_id(self.workspace.position_id)
            if not may_reach(self.actor, position.tree_id, here=self.tree):
                return lookup.root_of(self.tree)
            visible = lookup.visible_at_or_above(position, self.workspace)
            return lookup.selected_version(visible.slot_id, self.workspace) or visible
        node = lookup.find_node(self.tree, self.at.lower())
        if node is None:
            raise not_found(f"[{self.at}], where the line was given,")
        return node

    @property
    def own(self) -> list[Participant]:
        """Whose later work does not prevent an undo."""
        return [self.actor.participant, *([self.agent] if self.agent is not None else [])]

    @property
    def world(self) -> Writer:
        """The locked tree. A command that writes it is registered with stream="tree"."""
        if self.writer is None:
            raise RuntimeError("this command is not registered as one that writes the tree")
        return self.writer

    def move(self, node: Node) -> None:
        """The workspace will have its position at `node`."""
        self.moved_to = node

    def choose(self, node: Node) -> None:
        """The workspace will have `node` as the current version of its slot."""
        self.chosen[node.slot_id] = node


def touched(*items: Node | Tree) -> tuple[int, ...]:
    """The ids of the items that nodes and trees are, for `Reply.items`."""
    return tuple(
        addresses.of_tree(item.pk) if isinstance(item, Tree) else addresses.of_node(item.pk)
        for item in items
    )
