"""The one entry: every command, whoever gives it, is read, checked, run and logged here. So are
the actions: commands of pages and API without a line, for groves, members, models, trees, links."""

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, get_type_hints, overload

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor, acting_as, demand, demand_role, get_actor
from loom.commands import node_writer, registry, step_records
from loom.commands.command_args import Args, ArgsT
from loom.commands.dry_runs import ReadsItsWritesError, reading_only, writes_withheld
from loom.commands.registry import Answer, Attempt, Command, Context, Reply, Request
from loom.commands.step_records import recorded, storable
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.arguments import demand_values
from loom.grammar.forms import write
from loom.grammar.lines import Line, read
from loom.grammar.refs import ParseError, refuse_controls
from loom.models import Grove, Participant, Step, Stream, Tree, Workspace
from loom.models.base import Given, Prepared
from loom.rules.errors import CommandError, not_found
from loom.rules.limits import WRITE, Role

# Actions, as they are registered.

Kind = Literal["grove", "tree"]

R = TypeVar("R")


@dataclass
class Change:
    """One action while it runs. `writer` is the locked stream of `item`; an action that makes
    its item calls `open` first. `author` is who the step names: the actor, or whoever became
    a member by the action. `inverse` is what undo does, and `message` what it was, in words."""

    now: datetime
    member: Actor | None
    item: Grove | Tree | None
    author: Participant | None = None
    inverse: list[dict[str, Any]] = field(default_factory=list)
    message: str = ""
    _writer: Writer | None = None

    @property
    def actor(self) -> Actor:
        """Who acts. Only actions with a role have one."""
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
        """Makes and locks the stream of an item that the action has made for `author`."""
        self.author = author
        streams.open_stream(item)
        return self.lock(item)


@dataclass(frozen=True)
class Action(Generic[ArgsT, R]):
    """A command without a line. `stream` is the kind of stream that it writes; `role` what a
    member needs, None where somebody becomes a member by it."""

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
    """Registers a function as an action; its second parameter's type is its Args. The name
    then refers to the action, so that nobody calls the function without its lock and step."""

    def register(run: Callable[[Change, ArgsT], R]) -> Action[ArgsT, R]:
        if name in _actions:
            raise ValueError(f"there are two actions {name!r}")
        args: type[ArgsT] = get_type_hints(run)["args"]
        made = Action(name, stream, role, args, run, inspect.getdoc(run) or "")
        _actions[name] = made
        return made

    return register


def actions() -> Mapping[str, Action[Any, Any]]:
    """Every action that was imported, by its name."""
    return dict(_actions)


# Commands.


VIEW_GROUPS = ("Look", "Move", "Keep")


def acting_for(member: Actor, agent: Participant, line: str) -> Actor:
    """The member acting as the agent, with what both may do; the step will name both.

    PERMISSION_DENIED without the right to write, and for a line that would change more than
    the agent's view. A line that cannot be read is left to whoever runs it.
    """
    demand(member, {WRITE}, "a line in an agent's workspace")
    try:
        said = read(line, registry.forms(), registry.aliases())
    except ParseError:
        return acting_as(member, agent)
    found = registry.find(said.verb, said.form)
    if found.group not in VIEW_GROUPS or found.world:
        raise CommandError(
            "PERMISSION_DENIED",
            f"Others cannot use {found.verb} in an agent's workspace, "
            "only commands that change its view.",
            hint="run the command in the tree as yourself",
        )
    return acting_as(member, agent)


BARE = Request("")


def execute_line(
    actor: Actor,
    tree: Tree,
    request: Request,
    workspace: Workspace | None = None,
    *,
    refusal: CommandError | None = None,
) -> Answer:
    """Runs one line in a tree for somebody. One transaction: rows, events and the step.
    A `refusal` that was decided before is recorded in its place.

    Raises CommandError, with `canonical` (where the line was read) and `step` (its number, None
    for a dry run) set on it; a refusal changes nothing but the log of steps.
    """
    own = node_writer.stored(workspace or access.workspace_of(actor.participant, tree))
    return streams.retry_while_busy(lambda: _logged(Attempt(actor, tree, own, request), refusal))


@overload
def execute(
    actor: Actor,
    stream: Tree,
    command: Callable[[Context, ArgsT], Reply],
    args: ArgsT,
    *,
    workspace: Workspace | None = None,
    request: Request = BARE,
) -> Answer: ...


@overload
def execute(
    actor: Actor | None, stream: Tree | Grove | None, command: Action[ArgsT, R], args: ArgsT
) -> R: ...


def execute(
    actor: Actor | None,
    stream: Tree | Grove | None,
    command: Callable[[Context, ArgsT], Reply] | Action[ArgsT, R],
    args: ArgsT,
    *,
    workspace: Workspace | None = None,
    request: Request = BARE,
) -> Answer | R:
    """Runs a registered command or action with its arguments: rows, events and the step in one
    transaction. `execute_line` is the same for a line that somebody typed.

    A command runs in a tree and writes the stream that it declares: of the tree, its grove, or
    the workspace; its step has the canonical line of the arguments. An action runs on the tree
    or grove whose stream it writes (None: it makes it), and returns what its function returns.
    Raises CommandError, also for arguments that no line could have; a refusal changes nothing
    but the log of steps.
    """
    if isinstance(command, Action):
        return run_action(actor, stream, command, args)
    assert actor is not None and isinstance(stream, Tree)
    line = line_of(registry.command_of(command), args)
    own = node_writer.stored(workspace or access.workspace_of(actor.participant, stream))
    said = replace(request, line=line.canonical)
    return streams.retry_while_busy(lambda: _logged(Attempt(actor, stream, own, said, line), None))


def line_of(command: Command, args: Args) -> Line:
    """The line that these arguments are. Raises CommandError for what its form does not allow."""
    values = {part.name: getattr(args, part.name) for part in command.form.parts}
    try:
        demand_values(command.form, values)
        canonical = write(command.verb, command.form, values)
        refuse_controls(canonical)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    number = registry.forms()[command.verb].index(command.form)
    return Line(command.verb, number, values, canonical=canonical)


def _logged(attempt: Attempt, refusal: CommandError | None) -> Answer:
    """Runs what was asked, and writes the step of a refusal."""
    request, own = attempt.request, attempt.workspace
    attempt.position = request.at or own.position.local_id
    try:
        return _run(attempt, refusal)
    except CommandError as refused:
        step = None if request.dry_run else step_records.refused(attempt, refused)
        refused.canonical = attempt.canonical  # type: ignore[attr-defined]
        refused.step = step  # type: ignore[attr-defined]
        raise


def _run(attempt: Attempt, refusal: CommandError | None) -> Answer:
    if refusal is not None:
        with contextlib.suppress(CommandError):
            attempt.line = _read(attempt.request.line)
        raise refusal
    attempt.line = attempt.line or _read(attempt.request.line)
    command = registry.find(attempt.line.verb, attempt.line.form)
    attempt.command = command
    access.demand(attempt.actor, command.permissions, command.verb)
    _demand_scope(attempt.actor, command)
    if command.world:  # what is said of documents in an archived tree is part of it too
        access.demand_writable(attempt.tree)
    if attempt.request.dry_run:
        return _dry(attempt, command)
    if command.stream or attempt.request.key:
        with transaction.atomic():
            return _under_lock(attempt, command)
    context = _context(attempt, None)
    reply = command.run(context, _args(command, attempt.line))
    with transaction.atomic():
        attempt.workspace = step_records.locked(attempt.workspace)
        return step_records.done(attempt, context, reply)


def _demand_scope(actor: Actor, command: Command) -> None:
    """Refuses everything but looking to an API key whose scope is read."""
    changes = bool(command.stream) or command.klass == "silent"
    if changes and actor.user.scope == "read":
        raise CommandError(
            "PERMISSION_DENIED",
            f"{command.verb} changes something, and this API key is read-only.",
            hint="use a key with the scope write",
        )


def _read(text: str) -> Line:
    try:
        return read(text, registry.forms(), registry.aliases())
    except ParseError as bad:
        raise CommandError(
            bad.code, bad.message, hint=bad.hint, status=413 if _is_size(bad) else None
        ) from None


def _is_size(bad: ParseError) -> bool:
    return bad.code == "LIMIT_EXCEEDED" and "KiB" in bad.message


def _args(command: Command, line: Line) -> Any:
    values: dict[str, Any] = dict(line.values)
    return command.args.model_construct(**values)


def _under_lock(attempt: Attempt, command: Command) -> Answer:
    """Lock, look for an earlier answer to the same key, run, write; all or nothing.

    The workspace is locked by every command, after the stream of the tree or grove where the
    command writes one. A participant has one workspace in a tree, so that its lock also orders
    requests with the same key.
    """
    request = attempt.request
    writer = _world_locked(attempt, command) if command.world else None
    attempt.workspace = step_records.locked(attempt.workspace)
    kept = step_records.find(attempt.actor, attempt.tree, request)
    if kept is not None:
        return Answer({**kept, "repeated": True}, running=bool(kept.get("running")))
    if writer is not None:
        writer.origin = writer.origin or step_records.next_step(attempt.workspace)
    context = _context(attempt, writer)
    assert attempt.line is not None
    reply = command.run(context, _args(command, attempt.line))
    if command.stream == "tree":
        Tree.objects.filter(pk=attempt.tree.pk).update(touched_at=context.now)
    if writer is not None:
        attempt.seqs = list(writer.seqs)
        writer.flush()
    answer = step_records.done(attempt, context, reply)
    step_records.keep(attempt.actor, attempt.tree, request, answer)
    return answer


def _world_locked(attempt: Attempt, command: Command) -> streams.Writer:
    """The locked stream of the tree or grove that the command writes."""
    origin = attempt.request.key or attempt.request.origin
    writer = streams.lock(attempt.written, actor=attempt.actor.participant.uid, origin=origin)
    if command.stream == "tree":
        # Decide on what is true under the lock: the tree may have been archived meanwhile.
        _refresh_tree(attempt.tree)
        access.demand_writable(attempt.tree)
    return writer


def _dry(attempt: Attempt, command: Command) -> Answer:
    """What the line would answer. Nothing is locked or written; a line that has to read what
    it wrote (an undo of several steps) is run under the lock and rolled back."""
    try:
        return _without_lock(attempt, command)
    except ReadsItsWritesError:
        with transaction.atomic():
            answer = _under_lock(attempt, command)
            transaction.set_rollback(True)
        return Answer({**answer.body, "step": None, "events": [], "generations": []})


def _without_lock(attempt: Attempt, command: Command) -> Answer:
    with reading_only():
        writer = streams.lock(attempt.written, actor=attempt.actor.participant.uid, is_dry=True)
        writer.origin = step_records.next_step(attempt.workspace)
        context = _context(attempt, writer)
        assert attempt.line is not None
        with writes_withheld():
            reply = command.run(context, _args(command, attempt.line))
        return step_records.would_answer(attempt, context, reply)


_STATE = Prepared(
    lambda: (
        Tree.objects.filter(pk=Given("pk"), erasing_at__isnull=True)
        .order_by()
        .values_list("archived_at", "title", "mode")
    )
)


def _refresh_tree(tree: Tree) -> None:
    found = _STATE.first(pk=tree.pk)
    if found is None:
        raise not_found("This tree")
    tree.archived_at, tree.title, tree.mode = found


def _context(attempt: Attempt, writer: streams.Writer | None) -> Context:
    return Context(
        actor=attempt.actor,
        tree=attempt.tree,
        workspace=attempt.workspace,
        at=attempt.request.at,
        now=timezone.now(),
        origin=attempt.request.origin,
        turn=attempt.request.turn,
        writer=writer,
    )


# Actions.


def run_action(
    actor: Actor | None, item: Grove | Tree | None, what: Action[ArgsT, R], args: ArgsT
) -> R:
    """Runs an action, for `loom.commands.execute.execute`: rows, events and the step in one
    transaction.

    The role is checked under the lock, so that two owners cannot take it from each other at
    once.
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
    """Writes the step of a refused action, after its transaction was rolled back; none of
    outsiders, and none where the item is being erased together with its log."""
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
    """A step of the stream itself: it has no workspace, and is numbered in the stream."""
    writer, author = change.writer, change.author
    assert author is not None
    own = Step.objects.filter(workspace=None, stream=writer.stream.name).order_by("-seq")
    Step.objects.create(
        stream=writer.stream.name,
        seq=(own.values_list("seq", flat=True).first() or 0) + 1,
        actor=author,
        canonical=what.name,
        arguments=recorded(args),
        events=writer.seqs,
        at=change.now,
        **fields,
    )
