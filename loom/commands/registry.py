"""The registry of commands and actions, and the lookup of the node that a ref names. An action is
a command without a line: the pages and the API change groves, members, models, trees and links
with actions."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar, get_type_hints

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor, demand_role, get_actor
from loom.commands.context import (
    LATER,
    Args,
    ArgsT,
    Context,
    Reply,
    Request,
    form_of,
    no_node,
    node_shown,
    tree_named,
    unknown,
)
from loom.commands.node_writer import recorded, storable
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.forms import Form, syntax
from loom.grammar.lines import Line
from loom.grammar.refs import WORDS, Ref, print_ref
from loom.models import (
    Document,
    Grove,
    Node,
    Participant,
    Step,
    Stream,
    Tree,
    Workspace,
)
from loom.models.base import insert_row
from loom.queries import lookup, places
from loom.rules import node_values
from loom.rules.errors import CommandError, not_found
from loom.rules.limits import CROSS_TREE, Permission, Role
from loom.rules.node_values import STORED_WHOLE, block_of, named, shortened

Class = Literal["look", "look ✓", "write", "silent"]
StreamKind = Literal["tree", "grove", "workspace"]
Group = Literal["Look", "Move", "Make", "Keep", "Mind", "Meta"]

Run = Callable[["Context", Any], "Reply"]
Ahead = Callable[[Actor, Tree, Any], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class Command:
    """One form of one verb. `summary` is the function's docstring; `stream` is the kind of stream
    that it writes: its tree, the grove of its tree, or only the caller's workspace; None for a
    command that only looks. `ahead` does what is long before the stream is locked."""

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
    ahead: Ahead | None = None

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
    ahead: Ahead | None = None,
) -> Callable[[Callable[["Context", ArgsT], "Reply"]], Callable[["Context", ArgsT], "Reply"]]:
    """Registers a function as one form of `verb`; the type of its second parameter is its Args.
    The first form that can read a line is used: `is_first` puts this one before those already
    registered."""

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
            ahead=ahead,
        )
        several = _commands.setdefault(verb, [])
        several.insert(0 if is_first else len(several), made)
        forms.cache_clear()
        _aliases.update(dict.fromkeys(aliases, verb))
        return run

    return register


@cache
def forms() -> Mapping[str, Sequence[Form]]:
    """Every verb with its forms, in the order of registration. Cached: every line is parsed with
    it."""
    return {verb: tuple(one.form for one in many) for verb, many in _commands.items()}


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
    """All commands in the order of help: the forms for documents come after the common form of
    their verb, although the parser tries them first."""
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
    far: dict[int, None] = field(default_factory=dict)  # as in Context

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


# From a Ref to the node that it names for the caller, or a refusal with the reason.


def touched(*items: Node | Tree | Document) -> tuple[int, ...]:
    """The ids of the items of nodes, trees and documents, for `Reply.items`."""
    return tuple(map(item_of, items))


def item_of(one: Node | Tree | Document) -> int:
    """The id of the item of a node, tree or document."""
    if isinstance(one, Document):
        return node_values.of_document(one.pk)
    return node_values.of_tree(one.pk) if isinstance(one, Tree) else node_values.of_node(one.pk)


def get_node(context: Context, ref: Ref | None, *, slices: bool = False) -> Node:
    """The node that `ref` names (None: here), in any tree that the caller may reach."""
    node = _node_of(context, ref, slices=slices)
    context.note_read(node_values.of_node(node.pk))
    return node


def _node_of(context: Context, ref: Ref | None, *, slices: bool) -> Node:
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
    """The same, but only in this tree: a line writes to one tree."""
    node = get_node(context, ref, slices=slices)
    if node.tree_id != context.tree.pk:
        raise CommandError(
            "CROSS_TREE",
            f"[{node.local_id}] is in another tree; a command changes one tree only.",
            hint="run the command in that tree",
        )
    return node


def tree_of(context: Context, ref: Ref) -> Tree:
    """The tree that a ref names or is in; this tree if it names none. Another one requires X."""
    uid, name = ref.tree_id, ref.tree_name
    if (not uid and not name) or uid == context.tree.uid:
        return context.tree
    if CROSS_TREE not in context.actor.permissions:
        raise CommandError(
            "CROSS_TREE", "This command names another tree.", hint="ask an owner for cross_tree"
        )
    if uid and access.trees_for(context.actor).filter(uid=uid).exists():
        tree = access.get_tree(context.actor.user, uid)[1]
    else:
        tree = tree_named(context.actor, name or uid)
    context.note_read(node_values.of_tree(tree.pk))
    return tree


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


# Actions.

Kind = Literal["grove", "tree"]

R = TypeVar("R")


@dataclass
class Change:
    """One action while it runs. `writer` is the locked stream of `item`; an action that makes its
    item calls `open` first. The step names `author`: the actor, or the person whom the action made
    a member. `inverse` is what undo does, and `message` says in words what was done."""

    now: datetime
    member: Actor | None
    item: Grove | Tree | None
    author: Participant | None = None
    inverse: list[dict[str, Any]] = field(default_factory=list)
    message: str = ""
    _writer: Writer | None = None

    @property
    def actor(self) -> Actor:
        """The actor. Only actions with a role have one."""
        if self.member is None:
            raise RuntimeError("this action is registered without a role, so nobody acts in it")
        return self.member

    @property
    def grove(self) -> Grove:
        """The grove that is changed."""
        assert isinstance(self.item, Grove)
        return self.item

    @property
    def tree(self) -> Tree:
        """The tree that is changed."""
        assert isinstance(self.item, Tree)
        return self.item

    @property
    def writer(self) -> Writer:
        """The locked stream of the item."""
        if self._writer is None:
            raise RuntimeError("this action has to open the stream of what it makes")
        return self._writer

    def lock(self, item: Grove | Tree) -> Writer:
        """Locks the item's stream, which the action writes."""
        self.item = item
        self._writer = streams.lock(item, actor=self.author.uid if self.author else "")
        return self._writer

    def open(self, item: Grove | Tree, author: Participant) -> Writer:
        """Creates and locks the stream of an item that the action has made for `author`."""
        self.author = author
        streams.open_stream(item)
        return self.lock(item)


@dataclass(frozen=True)
class Action(Generic[ArgsT, R]):
    """A command without a line. `stream` is the kind of stream that it writes; `role` is the role
    that a member needs, None for actions by which somebody becomes a member."""

    name: str
    stream: Kind
    role: Role | None
    args: type[ArgsT]
    run: Callable[[Change, ArgsT], R]
    summary: str


_actions: dict[str, Action[Any, Any]] = {}


def action(
    name: str, *, stream: Kind, role: Role | None
) -> Callable[[Callable[[Change, ArgsT], R]], Action[ArgsT, R]]:
    """Registers a function as an action; the type of its second parameter is its Args. The name
    then refers to the action, so that the function cannot be called without its lock and step."""

    def register(run: Callable[[Change, ArgsT], R]) -> Action[ArgsT, R]:
        if name in _actions:
            raise ValueError(f"there are two actions {name!r}")
        args: type[ArgsT] = get_type_hints(run)["args"]
        made = Action(name, stream, role, args, run, inspect.getdoc(run) or "")
        _actions[name] = made
        return made

    return register


def actions() -> Mapping[str, Action[Any, Any]]:
    """Every imported action, by name."""
    return dict(_actions)


def run_action(
    actor: Actor | None, item: Grove | Tree | None, what: Action[ArgsT, R], args: ArgsT
) -> R:
    """Runs an action for `loom.commands.execute.execute`: rows, events and the step in one
    transaction. The role is checked under the lock, so that two owners cannot take it from each
    other at once.
    """
    try:
        with transaction.atomic():
            change = Change(timezone.now(), actor, item, actor.participant if actor else None)
            if item is not None:
                change.lock(item)
            change.member = _allowed(actor, what)
            value = what.run(change, args)
            done = {"message": change.message, "inverse": change.inverse or None}
            _write_step(change, what, args, outcome="ok", **done)
            change.writer.flush()
            return value
    except CommandError as refused:
        if actor is not None and item is not None:
            _refused(actor, item, what, args, refused)
        raise


def _allowed(actor: Actor | None, what: Action[Any, Any]) -> Actor | None:
    if what.role is None or actor is None:
        if what.role is not None:
            raise RuntimeError(f"{what.name} is for members")
        return actor
    now = get_actor(actor.user, actor.grove)
    demand_role(now, what.role)
    return now


def _refused(
    actor: Actor, item: Grove | Tree, what: Action[Any, Any], args: Args, refused: CommandError
) -> None:
    """Writes the step of a refused action, after its transaction was rolled back. No step is
    written for outsiders, nor if the item is being erased together with its log."""
    with transaction.atomic(), contextlib.suppress(CommandError):
        get_actor(actor.user, actor.grove)
        if not Stream.objects.filter(name=streams.name_of(item), erasing=False).exists():
            return
        change = Change(timezone.now(), actor, item, actor.participant)
        change.lock(item)
        message, hint = storable(refused.message), storable(refused.hint)
        _write_step(change, what, args, outcome=refused.code, message=message, hint=hint)
        change.writer.flush()


def _write_step(change: Change, what: Action[Any, Any], args: Args, **fields: Any) -> None:
    """Writes a step of the stream itself: it has no workspace, and the stream numbers it."""
    writer, author = change.writer, change.author
    assert author is not None
    own = Step.objects.filter(workspace=None, stream=writer.stream.name).order_by("-seq")
    step = Step(
        stream=writer.stream.name,
        seq=(own.values_list("seq", flat=True).first() or 0) + 1,
        actor=author,
        canonical=what.name,
        arguments=recorded(args),
        events=writer.seqs,
        at=change.now,
        **fields,
    )
    insert_row(step)
