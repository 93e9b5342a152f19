"""What a running command is given, and what it gives back."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from loom.access import Actor
from loom.log.streams import Writer
from loom.models import Node, Step, Tree, Workspace
from loom.rules import addresses

Op = dict[str, Any]  # one operation of an inverse, see loom.commands.inverse


@dataclass(frozen=True)
class Reply:
    """What a command answers. `refs` local ids in order, `inverse` what undo would do,
    `items` addresses touched, `generations` uids of what goes on running."""

    text: str
    refs: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    inverse: tuple[Op, ...] = ()
    items: tuple[str, ...] = ()
    link_type: str = ""
    running: bool = False


@dataclass
class Context:
    """One line being run. `writer` is the locked tree (None for pure looking);
    `here` is what the line's `here` means; `move` changes it for the workspace."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    here: Node
    now: datetime
    origin: str
    writer: Writer | None = None
    moved_to: Node | None = None
    chosen: dict[int, Node] = field(default_factory=dict)  # slot id → version
    steps: list[Step] = field(default_factory=list)  # steps a command wrote itself

    @property
    def world(self) -> Writer:
        """The locked tree. A command that writes is registered with world=True."""
        if self.writer is None:
            raise RuntimeError("this command is not registered as one that writes the tree")
        return self.writer

    def move(self, node: Node) -> None:
        """The workspace will stand at `node`."""
        self.moved_to = node

    def choose(self, node: Node) -> None:
        """The workspace will read `node` in its slot."""
        self.chosen[node.slot_id] = node


def touched(*nodes: Node) -> tuple[str, ...]:
    """The addresses of nodes, for `Reply.items`."""
    return tuple(addresses.of_node(node.pk) for node in nodes)
