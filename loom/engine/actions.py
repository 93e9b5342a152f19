"""Actions: commands without a line, with which pages and API change groves, members, models,
trees and documents."""

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, get_type_hints

from django.db import transaction
from django.utils import timezone

from loom.access import Actor, demand_role, get_actor, get_actor_in
from loom.engine import busy, streams
from loom.engine.arguments import Args, ArgsT
from loom.engine.models import Step, Stream
from loom.engine.recorded_arguments import recorded, storable
from loom.engine.streams import Writer
from loom.errors import CommandError, require
from loom.people.models import Grove, Participant, User
from loom.permissions import Role
from loom.platform.inserts import insert_row
from loom.trees.models import Tree

# Actions.

Kind = Literal["grove", "tree"]

R = TypeVar("R")


@dataclass
class RunningAction:
    """One action while it runs. `user` is who acts in one without a role. `writer` is the locked
    stream of `item`; an action that makes its item calls `open` first. The step names `author`: the
    actor, or the person whom the action made a member. `inverse` is what undo does, and `message`
    says in words what was done."""

    now: datetime
    member: Actor | None
    item: Grove | Tree | None
    author: Participant | None = None
    inverse: list[dict[str, Any]] = field(default_factory=list)
    message: str = ""
    user: User | None = None
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
        if not isinstance(self.item, Grove):
            raise TypeError("this action changes no grove")
        return self.item

    @property
    def tree(self) -> Tree:
        """The tree that is changed."""
        if not isinstance(self.item, Tree):
            raise TypeError("this action changes no tree")
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
    run: Callable[[RunningAction, ArgsT], R]
    summary: str


_actions: dict[str, Action[Any, Any]] = {}


def action(
    name: str, *, stream: Kind, role: Role | None
) -> Callable[[Callable[[RunningAction, ArgsT], R]], Action[ArgsT, R]]:
    """Registers a function as an action; the type of its second parameter is its Args. The name
    then refers to the action, so that the function cannot be called without its lock and step."""

    def register(run: Callable[[RunningAction, ArgsT], R]) -> Action[ArgsT, R]:
        if name in _actions:
            raise ValueError(f"there are two actions {name!r}")
        args: type[ArgsT] = get_type_hints(run)["args"]
        registered = Action(name, stream, role, args, run, inspect.getdoc(run) or "")
        _actions[name] = registered
        return registered

    return register


def actions() -> Mapping[str, Action[Any, Any]]:
    """Every imported action, by name."""
    return dict(_actions)


def run_action(
    who: Actor | User | None, item: Grove | Tree | None, what: Action[ArgsT, R], args: ArgsT
) -> R:
    """Runs an action for `loom.engine.execute.execute`: rows, events and the step in one
    transaction, again if the database was busy. The role is checked under the lock, so that two
    owners cannot take it from each other at once. In an action without a role somebody may act who
    is a user only.
    """
    before = {} if item is None else dict(vars(item))

    def run() -> R:
        if item is not None:
            vars(item).update(before)  # what a try has set that was rolled back
        return _try_action(who, item, what, args)

    return busy.retry_while_busy(run)


def _try_action(
    who: Actor | User | None, item: Grove | Tree | None, what: Action[ArgsT, R], args: ArgsT
) -> R:
    actor, user = (None, who) if isinstance(who, User) else (who, None)
    try:
        with transaction.atomic():
            change = RunningAction(
                timezone.now(), actor, item, actor.participant if actor else None
            )
            change.user = user
            if item is not None:
                change.lock(item)
            change.member = _allowed(actor, item, what)
            value = what.run(change, args)
            done = {"message": change.message, "inverse": change.inverse or None}
            _write_step(change, what, args, outcome="ok", **done)
            change.writer.flush()
            return value
    except CommandError as refused:
        if actor is not None and item is not None:
            _refused(actor, item, what, args, refused)
        raise


def _allowed(
    actor: Actor | None, item: Grove | Tree | None, what: Action[Any, Any]
) -> Actor | None:
    if what.role is None or actor is None:
        if what.role is not None:
            raise RuntimeError(f"{what.name} is for members")
        return actor
    now = _now(actor, item)
    demand_role(now, what.role)
    return now


def _now(actor: Actor, item: Grove | Tree | None) -> Actor:
    """The person with the role of this moment: in the tree that is changed, or in the grove."""
    if isinstance(item, Tree):
        return get_actor_in(actor.user, item.pk)
    return get_actor(actor.user, actor.grove)


def _refused(
    actor: Actor, item: Grove | Tree, what: Action[Any, Any], args: Args, refused: CommandError
) -> None:
    """Writes the step of a refused action, after its transaction was rolled back. No step is
    written for outsiders, nor if the item is being erased together with its log."""
    with transaction.atomic(), contextlib.suppress(CommandError):
        _now(actor, item)
        if not Stream.objects.filter(name=streams.name_of(item), erasing=False).exists():
            return
        change = RunningAction(timezone.now(), actor, item, actor.participant)
        change.lock(item)
        message, hint = storable(refused.message), storable(refused.hint)
        _write_step(change, what, args, outcome=refused.code, message=message, hint=hint)
        change.writer.flush()


def _write_step(change: RunningAction, what: Action[Any, Any], args: Args, **fields: Any) -> None:
    """Writes a step of the stream itself: it has no workspace, and the stream numbers it."""
    writer, author = change.writer, require(change.author, "who acts")
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
    writer.written_by(step)
