"""A line while it runs: the request, the context of its command, the reply and the answer."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from loom.access import Actor, demand_no_sandbox, may_reach
from loom.engine import streams
from loom.engine.effects import Effect, Effects, ItemsRead
from loom.engine.models import Step
from loom.engine.streams import Writer
from loom.errors import not_found
from loom.language import ids
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import NodeRow

T = TypeVar("T")
Op = dict[str, Any]  # one operation of an inverse, see loom.engine.undo


# A line while it runs.


@dataclass(frozen=True)
class Request:
    """One line and how it was sent (docs/model.md §14.3): `at` is what `here` means, `key` makes a
    repeat harmless, `dry_run` writes nothing. `turn` (its id) and `place` say which line of which
    turn it is: only one step is ever written for a place, and everything that the line does is
    written with it. `loop` says what it repeats: exact, structural, semantic, or "" for nothing.
    Lines with the same `act` are undone together; `doing` says what that act is. `system_text` is
    what models that it asks are sent in place of the tree's instructions (None: those)."""

    line: str
    key: str = ""
    at: str = ""
    dry_run: bool = False
    origin: str = ""
    turn: str = ""
    place: str = ""
    loop: str = ""
    act: str = ""
    doing: str = ""
    system_text: str | None = None


@dataclass(frozen=True)
class Answer:
    """The answer of a line that ran; `body` is the JSON of docs/model.md §14.3, `step` its step,
    None in a dry run."""

    body: dict[str, Any]
    running: bool = False
    step: Step | None = None

    @property
    def reply(self) -> str:
        """The text a person or model reads."""
        return str(self.body["reply"])


Did = Mapping[str, Any]  # JSON


@dataclass(frozen=True)
class Reply:
    """What a command returns: `refs` are local ids in order, `inverse` is what undo would do,
    `items` the ids of the items touched, `led_to` those that the line led to, `generations` the
    uids of what is still running, `quotes` the nodes whose texts `text` may show; the step names
    them. `step` is the last step of a command that writes its steps itself. `did` says for programs
    what only the words of `text` tell a person, such as `{"saved_as": "branch"}`."""

    text: str
    refs: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    inverse: tuple[Op, ...] = ()
    items: tuple[int, ...] = ()
    led_to: tuple[int, ...] = ()
    link_type: str = ""
    running: bool = False
    quotes: tuple[Node | NodeRow, ...] = ()
    step: Step | None = None
    did: Did = field(default_factory=dict)


@dataclass
class Context:
    """One line while it runs. `writer` is the locked tree (None if the command only looks); `at`
    is the local id that `here` means, "" for the position of the workspace. `effects` are what it
    does besides writing that tree."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    at: str
    now: datetime
    origin: str
    turn: str = ""  # the id of the turn whose line it is
    system_text: str | None = None  # for models that it asks, in place of the tree's instructions
    writer: Writer | None = None
    effects: Effects = field(default_factory=Effects)
    _once: dict[Any, Any] = field(default_factory=dict)

    def add(self, effect: Effect) -> None:
        """Adds what the line does to what is stored with its step."""
        self.effects.add(effect)

    def note_read(self, *items: int) -> None:
        """Notes those of the items that belong to other trees."""
        far = tuple(item for item in items if ids.home_of(item) not in (0, self.tree.pk))
        if far:
            self.add(ItemsRead(far))

    def once(self, read: Callable[[Workspace], T]) -> T:
        """What a query returns of the workspace, which this line asks only once."""
        if read not in self._once:
            self._once[read] = read(self.workspace)
        value: T = self._once[read]
        return value

    @cached_property
    def here(self) -> Node:
        """What `here` means: `at`, otherwise the current version at the position of the workspace,
        or at the nearest visible node above; the root if the workspace is in a tree that the actor
        may no longer read."""
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
    def world(self) -> Writer:
        """The locked tree. A command that writes it is registered with stream="tree"."""
        if self.writer is None:
            raise RuntimeError("this command is not registered as one that writes the tree")
        return self.writer

    def append(self, item: int, kind: str, payload: dict[str, Any]) -> None:
        """Writes an event to the stream that an item belongs to. For a document that is the stream
        of the grove, which is locked for it if the line writes the tree. REJECTED in a sandbox."""
        is_here = ids.document_id(item) is None or self.world.stream.name[:6] == "grove:"
        if is_here:
            self.world.append(kind, payload)
            return
        demand_no_sandbox(self.tree)
        if not self.world.is_dry:
            with self.grove_stream() as writer:
                writer.append(kind, payload)

    @contextmanager
    def grove_stream(self) -> Iterator[Writer]:
        """The locked stream of the grove, for a line that writes it in addition to its tree.
        REJECTED in a sandbox."""
        demand_no_sandbox(self.tree)
        if self.world.stream.name[:6] == "grove:":
            yield self.world
            return
        actor, origin = self.actor.participant.uid, self.world.origin
        writer = streams.lock(self.tree.grove, actor=actor, origin=origin)
        yield writer
        writer.flush()
        self.world.on_step += writer.on_step
