"""The one entry point: every command is parsed, checked, run and logged here, whoever sends it."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

from django.db import transaction
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine import busy, credentials, effects, receipts, registry, steps, streams, views
from loom.engine.actions import Action, R, run_action
from loom.engine.arguments import Args, ArgsT
from loom.engine.attempt import Attempt
from loom.engine.context import Answer, Context, Reply, Request
from loom.engine.dry_runs import ReadsItsWritesError, reading_only, writes_withheld
from loom.engine.models import Step
from loom.engine.registry import Command
from loom.engine.shown_texts import about_text_shown
from loom.engine.steps import numbered_step
from loom.engine.storing import Storing
from loom.errors import CommandError, not_found, require
from loom.language.arguments import demand_values
from loom.language.forms import write
from loom.language.lines import Line, read
from loom.language.refs import LineTooLongError, ParseError, refuse_controls
from loom.people.models import Grove, User
from loom.permissions import SCOPE_REMEDY
from loom.platform.inserts import update_row
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.quotations import take_out_quotations
from loom.text.shortening import block_of
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup

BARE = Request("")


def execute_line(
    actor: Actor,
    tree: Tree,
    request: Request,
    workspace: Workspace | None = None,
    *,
    refusal: CommandError | None = None,
) -> Answer:
    """Runs one line in a tree. Rows, events and the step are written in one transaction. If a
    `refusal` was already decided, it is recorded instead.

    Raises CommandError, with `canonical` (if the line could be parsed) and `step` (its number,
    None for a dry run) set on it; a refusal changes nothing but the log of steps.
    """
    actor = access.at_tree(access.in_tree(actor, tree), tree)
    own = views.stored(workspace or access.workspace_of(actor.participant, tree))
    return busy.retry_while_busy(lambda: _logged(Attempt(actor, tree, own, request), refusal))


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
    actor: Actor | User | None, stream: Tree | Grove | None, command: Action[ArgsT, R], args: ArgsT
) -> R: ...


def execute(
    actor: Actor | User | None,
    stream: Tree | Grove | None,
    command: Callable[[Context, ArgsT], Reply] | Action[ArgsT, R],
    args: ArgsT,
    *,
    workspace: Workspace | None = None,
    request: Request = BARE,
) -> Answer | R:
    """Runs a registered command or action with its arguments. Rows, events and the step are
    written in one transaction. `execute_line` does the same for a typed line.

    A command runs in a tree and writes the stream that it declares (of the tree, its grove, or the
    workspace); its step stores the canonical line of the arguments. An action runs on the tree or
    grove whose stream it writes (None: it creates it), and returns what its function returns.

    Raises CommandError, also for arguments that no line could have; a refusal changes nothing but
    the log of steps.
    """
    if isinstance(command, Action):
        return run_action(actor, stream, command, args)
    if not isinstance(actor, Actor) or not isinstance(stream, Tree):
        raise TypeError("a command runs in a tree, for somebody")
    actor = access.in_tree(actor, stream)
    line = line_of(registry.command_of(command), args)
    actor = access.at_tree(actor, stream)
    own = views.stored(workspace or access.workspace_of(actor.participant, stream))
    written = replace(request, line=line.canonical)
    return busy.retry_while_busy(lambda: _logged(Attempt(actor, stream, own, written, line), None))


def line_of(command: Command, args: Args) -> Line:
    """The line for these arguments. Raises CommandError if its form does not allow them."""
    values = {part.name: getattr(args, part.name) for part in command.form.parts}
    try:
        demand_values(command.form, values)
        canonical = write(command.verb, command.form, values)
        refuse_controls(canonical)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    number = registry.forms()[command.verb].index(command.form)
    shows = command.form.makes_window
    return Line(command.verb, number, values, canonical=canonical, makes_window=shows)


def _logged(attempt: Attempt, refusal: CommandError | None) -> Answer:
    """Runs the command, and writes the step if it is refused."""
    request, own = attempt.request, attempt.workspace
    attempt.position = request.at or own.position.local_id
    try:
        return _run(attempt, refusal)
    except CommandError as refused:
        step = None if request.dry_run else _write_refused(attempt, refused)
        refused.canonical = attempt.canonical
        refused.step = step
        raise


def _run(attempt: Attempt, refusal: CommandError | None) -> Answer:
    if refusal is not None:
        with contextlib.suppress(CommandError):
            attempt.line = _read(attempt.request.line)
        raise refusal
    line = attempt.line or _read(attempt.request.line)
    attempt.line = about_text_shown(line, lambda: _context(attempt, None))
    command = registry.find(attempt.line.verb, attempt.line.form)
    attempt.command = command
    try:
        _demand_permissions(attempt.actor, command)
    except CommandError as refused:
        instead = command.facts.instead
        if instead is not None:
            refused.hint = f"{instead(attempt.line.values)} {refused.hint}"
        raise
    _demand_scope(attempt.actor, command)
    if command.world:  # documents can't be changed from an archived tree either
        access.demand_writable(attempt.tree)
    if command.stream == "grove":
        access.demand_no_sandbox(attempt.tree)
    if attempt.request.dry_run:
        return _dry(attempt, command)
    if command.stream or attempt.request.key:
        with _ahead(attempt, command), transaction.atomic():
            return _under_lock(attempt, command)
    context = _context(attempt, None)
    reply = command.run(context, _args(command, attempt.line))
    with transaction.atomic():
        attempt.workspace = views.locked(attempt.workspace)
        return done(attempt, context, reply)


def _ahead(attempt: Attempt, command: Command) -> contextlib.AbstractContextManager[None]:
    """What the command does before its stream is locked."""
    if command.ahead is None or attempt.line is None:
        return contextlib.nullcontext()
    return command.ahead(attempt.actor, attempt.tree, _args(command, attempt.line))


def _demand_permissions(actor: Actor, command: Command) -> None:
    of_grove = command.stream == "grove"
    access.demand(
        actor, command.permissions, command.verb, annotates=command.annotates, of_grove=of_grove
    )


def _demand_scope(actor: Actor, command: Command) -> None:
    """Refuses everything but look commands if the scope of the API key is read."""
    changes = bool(command.stream) or command.klass == "silent"
    if changes and actor.user.scope == "read":
        raise CommandError(
            "PERMISSION_DENIED",
            f"{command.verb} changes something, and this API key is read-only.",
            hint=SCOPE_REMEDY,
        )


def _read(text: str) -> Line:
    try:
        return read(text, registry.language())
    except ParseError as bad:
        raise CommandError(
            bad.code, bad.message, hint=bad.hint, is_size=isinstance(bad, LineTooLongError)
        ) from None


def _args(command: Command, line: Line) -> Any:
    values: dict[str, Any] = dict(line.values)
    return command.args.model_construct(**values)


def _under_lock(attempt: Attempt, command: Command) -> Answer:
    """Locks, looks for a stored answer to the same key, runs and writes; all or nothing.

    Every command locks the workspace, after the stream of the tree or grove if it writes one. A
    participant has one workspace in a tree, so its lock also orders requests with the same key.
    """
    request = attempt.request
    writer = _world_locked(attempt, command) if command.world else None
    attempt.workspace = views.locked(attempt.workspace)
    kept = receipts.find(attempt.actor, attempt.tree, request)
    if kept is not None:
        return Answer({**kept, "repeated": True}, running=bool(kept.get("running")))
    if writer is not None:
        writer.origin = writer.origin or steps.next_step(attempt.workspace)
    context = _context(attempt, writer)
    reply = command.run(context, _args(command, require(attempt.line, "the line")))
    if command.stream == "tree":
        Tree.objects.filter(pk=attempt.tree.pk).update(touched_at=context.now)
    if writer is not None:
        attempt.seqs = list(writer.seqs)
        writer.flush()
    answer = done(attempt, context, reply)
    receipts.keep(attempt.actor, attempt.tree, request, answer)
    return answer


def _world_locked(attempt: Attempt, command: Command) -> streams.Writer:
    """The locked stream of the tree or grove that the command writes."""
    origin = attempt.request.key or attempt.request.origin
    writer = streams.lock(attempt.written, actor=attempt.actor.participant.uid, origin=origin)
    # Decide under the lock: while it was waited for, the role or permissions may have been changed
    # and the tree archived, from which no document is changed either.
    attempt.actor = access.get_actor_now(attempt.actor)
    if attempt.request.turn:
        credentials.demand_valid(attempt.request.turn)
    _demand_permissions(attempt.actor, command)
    _refresh_tree(attempt.tree)
    access.demand_writable(attempt.tree)
    return writer


def _dry(attempt: Attempt, command: Command) -> Answer:
    """What the line would answer. Nothing is locked or written. A line that has to read its own
    writes (an undo of several steps) runs under the lock and is rolled back."""
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
        writer.origin = steps.next_step(attempt.workspace)
        context = _context(attempt, writer)
        args = _args(command, require(attempt.line, "the line"))
        with writes_withheld():
            reply = command.run(context, args)
        return would_answer(attempt, context, reply)


_STATE = PreparedQuery(
    lambda: (
        Tree.objects.filter(pk=Given("pk"), erasing_at__isnull=True)
        .order_by()
        .values_list("archived_at", "title", "mode")
    )
)


def _refresh_tree(tree: Tree) -> None:
    state = _STATE.first(pk=tree.pk)
    if state is None:
        raise not_found("This tree")
    tree.archived_at, tree.title, tree.mode = state


def _context(attempt: Attempt, writer: streams.Writer | None) -> Context:
    context = Context(
        actor=attempt.actor,
        tree=attempt.tree,
        workspace=attempt.workspace,
        at=attempt.request.at,
        now=timezone.now(),
        origin=attempt.request.origin,
        turn=attempt.request.turn,
        system_text=attempt.request.system_text,
        writer=writer,
    )
    attempt.effects = context.effects
    return context


# The step of a line, and what it changes in the view.


def done(attempt: Attempt, context: Context, reply: Reply) -> Answer:
    """Stores the step and the effects of a line that ran; returns its answer. Needs a
    transaction."""
    workspace = attempt.workspace
    attempt.is_held = _is_held(attempt, context)
    is_visible = views.is_led(workspace, context)
    position = views.position_after(workspace, context)
    if position.pk != workspace.position_id:
        context.add(views.Moved(position))  # a line that was given at another node leads there
    message, quoted = take_out_quotations(
        reply.text, [(quote.id, quote.text) for quote in reply.quotes]
    )
    if reply.step is not None:
        last = reply.step
        last.message, last.quoted = message, quoted or None
        last.turn_place = attempt.request.place
        update_row(last, "message", "quoted", "turn_place")
    else:
        last = _step(
            attempt,
            workspace,
            outcome="ok",
            message=message,
            quoted=quoted or None,
            items=tuple(dict.fromkeys((*reply.items, *context.effects.items_read))),
            led_to=reply.led_to,
            link_type=reply.link_type,
            inverse=list(reply.inverse) or None,
        )
    if context.writer is not None:
        context.writer.written_by(last)
    effects.store_all(Storing(attempt, context, workspace, last))
    if not is_visible:
        position = lookup.visible_at_or_above(position, workspace)
    _write_line_event(attempt, workspace, last.seq)
    return replace(_answer(attempt, reply, position, step=last.seq), step=last)


def would_answer(attempt: Attempt, context: Context, reply: Reply) -> Answer:
    """The answer of a line in a dry run: like `done`, but nothing is written."""
    workspace = attempt.workspace
    position = views.position_after(workspace, context)
    if not views.is_led(workspace, context):
        pruned = {hidden.slot: hidden.value for hidden in context.effects.of(views.Hidden)}
        position = lookup.visible_at_or_above(position, workspace, pruned)
    attempt.seqs = []
    return _answer(attempt, replace(reply, generations=()), position, step=None)


def _answer(attempt: Attempt, reply: Reply, position: Node, *, step: int | None) -> Answer:
    body = {
        "ok": True,
        "reply": reply.text,
        "canonical": attempt.canonical,
        "step": step,
        "stream": attempt.stream,
        "events": attempt.seqs,
        "refs": list(reply.refs),
        "generations": list(reply.generations),
        "position": lookup.node_ref(position, attempt.tree.pk),
    }
    if reply.did:
        body["did"] = dict(reply.did)
    return Answer(body, running=reply.running)


def _is_held(attempt: Attempt, context: Context) -> bool:
    """Whether a node made by the line stores its content: then the log only names it. Content that
    is stored nowhere else, such as a thought or a refused text, stays in the step."""
    if attempt.line is None or context.writer is None:
        return False
    block = block_of(attempt.line.canonical)
    texts = [node.text for node in context.writer.nodes]
    return any(block in text for text in (*texts, *context.writer.texts))


def _write_refused(attempt: Attempt, why: CommandError) -> int:
    """Writes the step of a refused line, after its transaction was rolled back; returns its
    number."""
    with transaction.atomic():
        workspace = views.locked(attempt.workspace)
        fields = {"message": why.message, "hint": why.hint, "items": attempt.effects.items_read}
        step = _step(attempt, workspace, outcome=why.code, **fields)
        _write_line_event(attempt, workspace, step.seq)
        return step.seq


def _step(attempt: Attempt, workspace: Workspace, **fields: Any) -> Step:
    return numbered_step(
        workspace,
        by=attempt.actor,
        turn_uid=attempt.request.turn,
        position=attempt.position[:8],
        turn_place=attempt.request.place,
        loop=attempt.request.loop or None,
        act=attempt.request.act,
        doing=attempt.request.doing,
        line=attempt.as_given,
        canonical=attempt.canonical,
        because=attempt.line.because if attempt.line else "",
        stream=attempt.stream if attempt.seqs else "",
        events=attempt.seqs,
        **fields,
    )


def _write_line_event(attempt: Attempt, workspace: Workspace, seq: int) -> None:
    """Writes the event that a line of a turn was answered; a step changes no tree."""
    if attempt.request.turn:
        values = {"step": seq, "turn": attempt.request.turn}
        views.write_view_event(attempt, workspace, "view.changed", values)
