"""The registry of commands: what each is, what a running one is given and returns, and the node
that a ref names."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_type_hints

from loom import access
from loom.access import Actor, may_reach
from loom.commands.command_args import Args, ArgsT, form_of
from loom.commands.named_items import LATER, no_node, node_shown, tree_named, unknown
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.forms import Form, syntax
from loom.grammar.lines import Line
from loom.grammar.refs import WORDS, Ref, print_ref
from loom.models import Document, Grove, Node, Participant, Step, Task, Tree, Window, Workspace
from loom.queries import lookup, places
from loom.queries.lookup import NodeRow
from loom.rules import node_values
from loom.rules.errors import CommandError, not_found
from loom.rules.limits import CROSS_TREE, Permission
from loom.rules.node_values import STORED_WHOLE, block_of, named, shortened

Class = Literal["look", "look ✓", "write", "silent"]
StreamKind = Literal["tree", "grove", "workspace"]
Group = Literal["Look", "Move", "Make", "Keep", "Mind", "Meta"]

Run = Callable[["Context", Any], "Reply"]


@dataclass(frozen=True)
class Command:
    """One form of one verb. `summary` is the function's docstring; `stream` is the kind of
    stream that it writes: its tree, the grove of its tree, or only the caller's workspace;
    None of a command that only looks."""

    verb: str
    group: Group
    klass: Class
    permissions: frozenset[Permission]
    stream: StreamKind | None
    args: type[Args]
    form: Form
    run: Run
    summary: str
    aliases: tuple[str, ...] = ()

    @property
    def world(self) -> bool:
        """Whether it changes what everybody sees: a tree or a grove."""
        return self.stream in ("tree", "grove")

    @property
    def syntax(self) -> str:
        """The form as help prints it."""
        return syntax(self.form)


_commands: dict[str, list[Command]] = {}
_aliases: dict[str, str] = {}


def command(
    verb: str,
    *,
    group: Group,
    klass: Class,
    permissions: Iterable[Permission],
    stream: StreamKind | None = None,
    aliases: tuple[str, ...] = (),
    is_first: bool = False,
) -> Callable[[Callable[["Context", ArgsT], "Reply"]], Callable[["Context", ArgsT], "Reply"]]:
    """Registers a function as one form of `verb`; its second parameter's type is its Args. The
    first form that reads a line counts: `is_first` puts it before those that are there."""

    def register(
        run: Callable[["Context", ArgsT], "Reply"],
    ) -> Callable[["Context", ArgsT], "Reply"]:
        args = get_type_hints(run)["args"]
        made = Command(
            verb=verb,
            group=group,
            klass=klass,
            permissions=frozenset(permissions),
            stream=stream,
            args=args,
            form=form_of(verb, args),
            run=run,
            summary=inspect.getdoc(run) or "",
            aliases=aliases,
        )
        several = _commands.setdefault(verb, [])
        several.insert(0 if is_first else len(several), made)
        _aliases.update(dict.fromkeys(aliases, verb))
        return run

    return register


def forms() -> dict[str, list[Form]]:
    """Every verb with its forms, in the order of registration."""
    return {verb: [one.form for one in many] for verb, many in _commands.items()}


def aliases() -> dict[str, str]:
    """Other words for a verb, such as `go` for `switch`."""
    return dict(_aliases)


def find(verb: str, form: int = 0) -> Command:
    """The command of a verb's form."""
    return _commands[verb][form]


def command_of(run: Callable[..., "Reply"]) -> Command:
    """The command that a function was registered as."""
    return next(one for one in every() if one.run is run)


def every() -> Iterable[Command]:
    """All commands, in the order of registration."""
    return (one for many in _commands.values() for one in many)


def listed() -> list[Command]:
    """All commands as people and models read them: those for documents after the common form of
    their verb, which the parser tries first."""
    first: dict[str, int] = {}
    for place, one in enumerate(every()):
        first.setdefault(one.verb, place)
    return sorted(every(), key=lambda one: (first[one.verb], is_for_documents(one)))


def is_for_documents(command: Command) -> bool:
    """Whether the first thing that a line names is a document."""
    refs = [part.refs for part in command.form.parts if part.kind == "ref"]
    return refs[:1] == [("document",)]


def verbs() -> list[str]:
    """All verbs, in the order of registration."""
    return list(_commands)


# What a running command is given, and what it returns.


@dataclass(frozen=True)
class Request:
    """One line and how it was sent (docs/model.md §14.3): `at` is what `here` means, `key` makes a
    repeat harmless, `dry_run` writes nothing. `turn` (its id) and `place` say which line of
    which turn it is: the step of a place is taken once, and with it all that the line does.
    `loop` says what it repeats there: exact, structural, semantic, or "" for nothing."""

    line: str
    key: str = ""
    at: str = ""
    dry_run: bool = False
    origin: str = ""
    turn: str = ""
    place: str = ""
    loop: str = ""


@dataclass(frozen=True)
class Answer:
    """What a line that ran answers; `body` is the JSON of docs/model.md §14.3, `step` its step;
    None in a dry run."""

    body: dict[str, Any]
    running: bool = False
    step: Step | None = None

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


Op = dict[str, Any]  # one operation of an inverse, see loom.commands.undo


@dataclass(frozen=True)
class Reply:
    """What a command answers. `refs` local ids in order, `inverse` what undo would do,
    `items` ids of the items touched, `generations` uids of what goes on running, `quotes` the
    nodes whose texts `text` may show: the step names them."""

    text: str
    refs: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    inverse: tuple[Op, ...] = ()
    items: tuple[int, ...] = ()
    link_type: str = ""
    running: bool = False
    quotes: tuple[Node | NodeRow, ...] = ()


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
    augments: dict[str, list[str]] | None = None  # what is loaded after this line
    agent: Participant | None = None  # whose turn is undone: what it wrote is no stranger's
    steps: list[Step] = field(default_factory=list)  # steps a command wrote itself
    windows: list[Window] = field(default_factory=list)  # that the line opened or changed
    shown: list[Window] | None = None  # the visible windows; None: not read yet
    asides: list[tuple[str, str]] = field(default_factory=list)  # what else it did, and why
    seen: dict[int, int] = field(default_factory=dict)  # document id → revision that it shows
    tasks: list[Task] = field(default_factory=list)  # that the line added or changed

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

    def append(self, item: int, kind: str, payload: dict[str, Any]) -> None:
        """Writes an event to the stream that an item belongs to: of a document that of the grove,
        which is locked for it where the line writes the tree."""
        is_here = node_values.document_id(item) is None or self.world.stream.name[:6] == "grove:"
        if is_here:
            self.world.append(kind, payload)
        elif not self.world.is_dry:
            with self.grove_stream() as writer:
                writer.append(kind, payload)

    @contextmanager
    def grove_stream(self) -> Iterator[Writer]:
        """The locked stream of the grove, for a line that writes it beside its tree."""
        if self.world.stream.name[:6] == "grove:":
            yield self.world
            return
        actor, origin = self.actor.participant.uid, self.world.origin
        writer = streams.lock(self.tree.grove, actor=actor, origin=origin)
        yield writer
        writer.flush()

    def move(self, node: Node) -> None:
        """The workspace will have its position at `node`."""
        self.moved_to = node

    def choose(self, node: Node) -> None:
        """The workspace will have `node` as the current version of its slot."""
        self.chosen[node.slot_id] = node


# From a Ref to the node it names, for the one who asks; or the refusal that says why not.


def touched(*items: Node | Tree | Document) -> tuple[int, ...]:
    """The ids of the items that nodes, trees and documents are, for `Reply.items`."""
    return tuple(map(item_of, items))


def item_of(one: Node | Tree | Document) -> int:
    """The id of the item that a node, a tree or a document is."""
    if isinstance(one, Document):
        return node_values.of_document(one.pk)
    return node_values.of_tree(one.pk) if isinstance(one, Tree) else node_values.of_node(one.pk)


def get_node(context: Context, ref: Ref | None, *, slices: bool = False) -> Node:
    """The node that `ref` names (None: here), in whatever tree the caller may reach."""
    if ref is None:
        return context.here
    if ref.slice is not None and not slices:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{print_ref(ref)} is a part of a node; this command takes whole nodes.",
            hint=f"use {ref.id or ref.kind}",
        )
    if ref.kind == "window":
        return node_shown(context, ref, slices=slices)
    if ref.kind in ("document", "task", "stash", "augment", "focus", *LATER):
        raise no_node(ref)
    if ref.kind == "branch" and ref.id in ("here", "parent", "root"):
        return get_node(context, replace(ref, kind=WORDS[ref.id], id=""))
    if ref.kind == "here":
        return context.here
    if ref.kind == "parent":
        return _parent_of(context)
    tree = tree_of(context, ref)
    if ref.kind == "root":
        return lookup.root_of(tree)
    if ref.kind in ("node", "branch"):
        return _named(context, tree, ref)
    raise CommandError(
        "INVALID_SYNTAX",
        f"{print_ref(ref)} is not a node.",
        hint="name a node, such as a7x2 or here",
    )


def get_own_node(context: Context, ref: Ref | None, *, slices: bool = False) -> Node:
    """The same, but in this tree only: a line writes to one tree."""
    node = get_node(context, ref, slices=slices)
    if node.tree_id != context.tree.pk:
        raise CommandError(
            "CROSS_TREE",
            f"[{node.local_id}] is in another tree; a command changes one tree only.",
            hint="run the command in that tree",
        )
    return node


def tree_of(context: Context, ref: Ref) -> Tree:
    """The tree a ref names or lies in; this one where it says none. Needs X for another."""
    uid, name = ref.tree_id, ref.tree_name
    if (not uid and not name) or uid == context.tree.uid:
        return context.tree
    if CROSS_TREE not in context.actor.permissions:
        raise CommandError(
            "CROSS_TREE", "This command names another tree.", hint="ask an owner for cross_tree"
        )
    if uid and access.trees_for(context.actor).filter(uid=uid).exists():
        return access.get_tree(context.actor.user, uid)[1]
    return tree_named(context.actor, name or uid)


def _named(context: Context, tree: Tree, ref: Ref) -> Node:
    node = lookup.find_node(tree, ref.id)
    if node is None:
        raise unknown(context, tree, ref)
    return places.newest_version(node) if ref.prime else node


def _parent_of(context: Context) -> Node:
    above = places.version_above(context.here, context.workspace)
    if above is None:
        raise not_found("A node above the root")
    return above
