"""The one entry: every command, whoever gives it, is read, checked, run and logged here."""

import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, islice
from typing import Any, TypeVar, overload

from django.db import connection, transaction
from django.utils import timezone

from loom import access
from loom.access import Actor, acting_as, demand
from loom.commands import node_writer, registry, step_records
from loom.commands.context import Answer, Attempt, Context, Reply, Request
from loom.commands.registry import Action, Args, ArgsT, Command, run_action
from loom.events import streams
from loom.grammar.forms import demand_values
from loom.grammar.lines import Line, read, write
from loom.grammar.refs import refuse_controls
from loom.grammar.tokens import ParseError
from loom.models import Grove, Participant, Tree, Workspace
from loom.models.base import Given, Prepared
from loom.rules.errors import CommandError, not_found
from loom.rules.permissions import WRITE

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


# A transaction in which nothing is locked and nothing written, for saying what would happen.


_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_TABLE = re.compile(r'\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+"?(\w+)"?', re.I)
_RETURNED = re.compile(r"\bRETURNING\s+(.+)$", re.IGNORECASE | re.DOTALL)
_LOCKS = re.compile(r"\s+FOR (NO KEY )?UPDATE( OF [\w\", ]+)?( NOWAIT| SKIP LOCKED)?\s*$", re.I)
_READ = re.compile(r'(?:FROM|JOIN)\s+"?(loom_\w+)"?', re.IGNORECASE)


class ReadsItsWritesError(Exception):
    """A command read a table that it had written to, which a dry run does not show it."""


@contextmanager
def reading_only() -> Iterator[None]:
    """A transaction in which the database refuses to write; on SQLite it takes no lock."""
    with _deferred(), transaction.atomic(), _read_only():
        yield


@contextmanager
def writes_withheld() -> Iterator[None]:
    """Within the block writes are not sent, and rows that are selected for update not locked.

    Raises ReadsItsWritesError where the block reads rows of a kind that it wrote before: what
    it would decide is not what a real run would decide.
    """
    with connection.execute_wrapper(_Withheld()):
        yield


@contextmanager
def _deferred() -> Iterator[None]:
    """SQLite: transactions begin without the lock for writing."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    sqlite: Any = connection
    sqlite.ensure_connection()
    mode, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
    try:
        yield
    finally:
        sqlite.transaction_mode = mode


@contextmanager
def _read_only() -> Iterator[None]:
    """The database refuses to write."""
    raw: Any = connection.connection
    if connection.vendor != "sqlite":
        raw.execute("SET LOCAL transaction_read_only = on")
        yield
        return
    raw.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:  # not by a cursor of Django's, which runs nothing once a rollback is due
        raw.execute("PRAGMA query_only = OFF")


class _Withheld:
    """Wraps each statement: writes are answered here, and locks are left out."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._inserted: set[str] = set()
        self._keys = count(2**62)  # of rows that are never stored; no real one comes near

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if _WRITES.match(sql):
            if many:
                raise NotImplementedError("executemany in a dry run")
            return self._answered(execute, sql, params, context)
        touched = self._written.intersection(_READ.findall(sql))
        if touched:
            raise ReadsItsWritesError(", ".join(sorted(touched)))
        return execute(_LOCKS.sub("", sql), params, many, context)

    def _answered(self, execute: Callable[..., Any], sql: str, params: Any, context: Any) -> Any:
        """What the database would answer: an INSERT the keys of its rows, an UPDATE or a DELETE
        how many rows it changes."""
        found = _TABLE.match(sql)
        assert found is not None
        table = found[1]
        self._written.add(table)
        if sql.lstrip()[:6].upper() == "INSERT":
            self._inserted.add(table)
            returned = _RETURNED.search(sql)
            columns = len(returned[1].split(",")) if returned else 1
            rows = sql.count("(%s")
            keys = (str(next(self._keys)) for _ in range(columns * rows))
            made = ", ".join(f"({', '.join(islice(keys, columns))})" for _ in range(rows))
            answer = execute(f"VALUES {made}", None, False, context)
        elif table in self._inserted:  # a row of this block may be meant, which nobody finds
            rows, answer = 1, None
        else:
            head, where, tail = sql.partition(" WHERE ")
            sql = f'SELECT COUNT(*) FROM "{table}"{where}{tail}'  # noqa: S608 (Django's own SQL)
            answer = execute(sql, tuple(params or ())[head.count("%s") :], False, context)
            rows = context["cursor"].fetchone()[0]
        # A driver gives no number of rows for what was only read.
        context["cursor"].rowcount = rows
        return answer


__all__ = ["Answer", "Request", "execute", "execute_line"]

R = TypeVar("R")
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
