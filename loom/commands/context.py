"""What a running command is given, and what it gives back."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from loom.access import Actor, may_reach
from loom.log.streams import Writer
from loom.models import Node, Participant, Step, Tree, Workspace
from loom.queries import lookup
from loom.rules import addresses
from loom.rules.refusals import not_found

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
    """One line being run. `writer` is the locked tree (None for pure looking); `at` is the
    local id that `here` means, "" for where the workspace stands."""

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
        """What `here` means: `at`, else the version that stands where the workspace is, or
        at the nearest node above that is not hidden; the root where the workspace is in a
        tree that the actor may not read any more."""
        if not self.at:
            stands = lookup.by_id(self.workspace.position_id)
            if not may_reach(self.actor, stands.tree_id, here=self.tree):
                return lookup.root_of(self.tree)
            visible = lookup.visible_at_or_above(stands, self.workspace)
            return lookup.standing(visible.slot_id, self.workspace) or visible
        node = lookup.find_node(self.tree, self.at.lower())
        if node is None:
            raise not_found(f"[{self.at}], where the line was given,")
        return node

    @property
    def own(self) -> list[Participant]:
        """Whose later work does not stand in the way of an undo."""
        return [self.actor.participant, *([self.agent] if self.agent is not None else [])]

    @property
    def world(self) -> Writer:
        """The locked tree. A command that writes it is registered with stream="tree"."""
        if self.writer is None:
            raise RuntimeError("this command is not registered as one that writes the tree")
        return self.writer

    def move(self, node: Node) -> None:
        """The workspace will stand at `node`."""
        self.moved_to = node

    def choose(self, node: Node) -> None:
        """The workspace will read `node` in its slot."""
        self.chosen[node.slot_id] = node


def touched(*items: Node | Tree) -> tuple[str, ...]:
    """The addresses of nodes and trees, for `Reply.items`."""
    return tuple(
        addresses.of_tree(item.pk) if isinstance(item, Tree) else addresses.of_node(item.pk)
        for item in items
    )
