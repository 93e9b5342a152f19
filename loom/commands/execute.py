"""The one door: every line, from whomever, is read, permitted, run and logged here."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands import growth, receipts, records, registry
from loom.commands.args import Args, ArgsT
from loom.commands.context import Context, Reply
from loom.commands.dry_run import ReadsItsWritesError, reading_only, writes_withheld
from loom.commands.registry import Command
from loom.commands.request import Answer, Attempt, Request
from loom.grammar.bad import Bad
from loom.grammar.lines import Line, read, write
from loom.grammar.refs import refuse_controls
from loom.grammar.values import demand_values
from loom.log import streams
from loom.models import Tree, Workspace
from loom.models.prepared import Given, Prepared
from loom.rules.refusals import Refused, not_found

__all__ = ["Answer", "Request", "execute", "run_command"]

BARE = Request("")


def execute(
    actor: Actor,
    tree: Tree,
    request: Request,
    workspace: Workspace | None = None,
    *,
    refusal: Refused | None = None,
) -> Answer:
    """Runs one line in a tree for somebody. One transaction: rows, events and the step.
    A `refusal` that was decided before is recorded in its place.

    Raises Refused, with `canonical` (where the line was read) and `step` (its number, None
    for a dry run) set on it; a refusal changes nothing but the log of steps.
    """
    own = workspace or growth.workspace_of(actor.participant, tree)
    return streams.patiently(lambda: _logged(Attempt(actor, tree, own, request), refusal))


def run_command(
    actor: Actor,
    tree: Tree,
    command: Callable[[Context, ArgsT], Reply],
    args: ArgsT,
    *,
    workspace: Workspace | None = None,
    request: Request = BARE,
) -> Answer:
    """Runs a registered function with its arguments, as `execute` runs a line: buttons, forms
    and programs need not write one. The step has the canonical line of the arguments.

    Raises Refused as `execute` does, and for arguments that no line could have.
    """
    line = line_of(registry.command_of(command), args)
    own = workspace or growth.workspace_of(actor.participant, tree)
    said = replace(request, line=line.canonical)
    return streams.patiently(lambda: _logged(Attempt(actor, tree, own, said, line), None))


def line_of(command: Command, args: Args) -> Line:
    """The line that these arguments are. Raises Refused for what its form does not allow."""
    values = {part.name: getattr(args, part.name) for part in command.form.parts}
    try:
        demand_values(command.form, values)
        canonical = write(command.verb, command.form, values)
        refuse_controls(canonical)
    except Bad as bad:
        raise Refused(bad.code, bad.message, hint=bad.hint) from None
    number = registry.forms()[command.verb].index(command.form)
    return Line(command.verb, number, values, canonical=canonical)


def _logged(attempt: Attempt, refusal: Refused | None) -> Answer:
    """Runs what was asked, and writes the step of a refusal."""
    request, own = attempt.request, attempt.workspace
    attempt.stood = request.at or own.position.local_id
    try:
        return _run(attempt, refusal)
    except Refused as refused:
        step = None if request.dry_run else records.refused(attempt, refused)
        refused.canonical = attempt.canonical  # type: ignore[attr-defined]
        refused.step = step  # type: ignore[attr-defined]
        raise


def _run(attempt: Attempt, refusal: Refused | None) -> Answer:
    if refusal is not None:
        with contextlib.suppress(Refused):
            attempt.line = _read(attempt.request.line)
        raise refusal
    attempt.line = attempt.line or _read(attempt.request.line)
    command = registry.find(attempt.line.verb, attempt.line.form)
    attempt.command = command
    access.demand(attempt.actor, command.letters, command.verb)
    _demand_scope(attempt.actor, command)
    if command.stream == "tree":
        access.demand_writable(attempt.tree)
    if attempt.request.dry_run:
        return _dry(attempt, command)
    if command.stream or attempt.request.key:
        with transaction.atomic():
            return _under_lock(attempt, command)
    context = _context(attempt, None)
    reply = command.run(context, _args(command, attempt.line))
    with transaction.atomic():
        attempt.workspace = records.locked(attempt.workspace)
        return records.done(attempt, context, reply)


def _demand_scope(actor: Actor, command: Command) -> None:
    """Refuses everything but looking to an API key whose scope is read."""
    changes = bool(command.stream) or command.klass == "silent"
    if changes and actor.user.scope == "read":
        raise Refused(
            "PERMISSION_DENIED",
            f"{command.verb} changes something, and this API key may only read.",
            hint="use a key with the scope write",
        )


def _read(text: str) -> Line:
    try:
        return read(text, registry.forms(), registry.aliases())
    except Bad as bad:
        raise Refused(
            bad.code, bad.message, hint=bad.hint, status=413 if _is_size(bad) else None
        ) from None


def _is_size(bad: Bad) -> bool:
    return bad.code == "LIMIT_EXCEEDED" and "KiB" in bad.message


def _args(command: Command, line: Line) -> Any:
    values: dict[str, Any] = dict(line.values)
    return command.args.model_construct(**values)


def _under_lock(attempt: Attempt, command: Command) -> Answer:
    """Lock, look for an earlier answer to the same key, run, write; all or nothing."""
    request = attempt.request
    origin = request.key or request.origin
    writer = streams.lock(attempt.written, actor=attempt.actor.participant.uid, origin=origin)
    if command.stream == "tree":
        # Decide on what is true under the lock: the tree may have been archived meanwhile.
        _see_anew(attempt.tree)
        access.demand_writable(attempt.tree)
    kept = receipts.find(attempt.actor, attempt.tree, request)
    if kept is not None:
        return Answer({**kept, "repeated": True}, running=bool(kept.get("running")))
    attempt.workspace = records.locked(attempt.workspace)
    writer.origin = writer.origin or records.next_step(attempt.workspace)
    context = _context(attempt, writer)
    assert attempt.line is not None
    reply = command.run(context, _args(command, attempt.line))
    if command.stream == "tree":
        Tree.objects.filter(pk=attempt.tree.pk).update(touched_at=context.now)
    attempt.seqs = list(writer.seqs)
    writer.flush()
    answer = records.done(attempt, context, reply)
    receipts.keep(attempt.actor, attempt.tree, request, answer.body)
    return answer


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
        writer.origin = records.next_step(attempt.workspace)
        context = _context(attempt, writer)
        assert attempt.line is not None
        with writes_withheld():
            reply = command.run(context, _args(command, attempt.line))
        return records.would_answer(attempt, context, reply)


_STATE = Prepared(
    lambda: (
        Tree.objects.filter(pk=Given("pk"), erasing_at__isnull=True)
        .order_by()
        .values_list("archived_at", "title", "mode")
    )
)


def _see_anew(tree: Tree) -> None:
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
