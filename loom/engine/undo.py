"""Undo and redo: steps that apply the inverse of earlier steps, one small operation at a time.

A feature registers each of its operations with `undoes`. It checks that everything still is as
its step left it and that nobody else has built on it (else CONFLICT), acts, and returns its own
inverse, which redo applies.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, NamedTuple

from django.db.models import CharField, F, Func, Q, QuerySet

from loom import access
from loom.engine import registry
from loom.engine import steps as step_log
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Did, Op, Reply
from loom.engine.models import Step
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError, not_found
from loom.language.refs import label_named
from loom.language.verbs import Verb
from loom.people.models import Participant
from loom.permissions import LOOM, WRITE
from loom.text.shortening import in_one_line

Own = Sequence[Participant]  # whose later work does not prevent an undo
Undoer = Callable[[Context, Op, Own], list[Op]]
OfRef = Callable[[Context, str], Reply]
RedoOfRef = Callable[[Context, str], "list[Undone]"]
Watch = Callable[[Context], Callable[[], None]]
AfterStep = Callable[[Context, Step], None]
Tell = Callable[[Step], Did]

_undoers: dict[str, Undoer] = {}
_refs: dict[str, OfRef] = {}
_redo_refs: dict[str, RedoOfRef] = {}
_watches: list[Watch] = []
_after: list[AfterStep] = []
_tells: dict[str, Tell] = {}


def undoes(op: str) -> Callable[[Undoer], Undoer]:
    """Registers what applies the operations of a name (`op["op"]`)."""

    def register(run: Undoer) -> Undoer:
        if op in _undoers:
            raise ValueError(f"there are two operations {op!r}")
        _undoers[op] = run
        return run

    return register


def undoes_ref(kind: str) -> Callable[[OfRef], OfRef]:
    """Registers what `undo REF` does for refs of a kind other than steps, given their id."""

    def register(run: OfRef) -> OfRef:
        _refs[kind] = run
        return run

    return register


def redoes_ref(kind: str) -> Callable[[RedoOfRef], RedoOfRef]:
    """Registers what `redo REF` does for refs of a kind, given their id, and `redo` if they were
    undone last."""

    def register(run: RedoOfRef) -> RedoOfRef:
        _redo_refs[kind] = run
        return run

    return register


def around_undo(watch: Watch) -> Watch:
    """Registers what looks at the view before a command undoes something, and returns what is done
    afterwards."""
    _watches.append(watch)
    return watch


def tells_undone(verb: str) -> Callable[[Tell], Tell]:
    """Registers what programs are told besides the verb when a step of it is undone or redone."""

    def register(tell: Tell) -> Tell:
        _tells[verb] = tell
        return tell

    return register


def after_undo_of_step(run: AfterStep) -> AfterStep:
    """Registers what follows when the operations of a step were applied backwards."""
    _after.append(run)
    return run


def apply(context: Context, ops: Iterable[Op], own: Own) -> list[Op]:
    """Runs the operations in order; returns the list that reverses them."""
    reverse: list[Op] = []
    for op in ops:
        reverse = [*_undoers[op["op"]](context, op, own), *reverse]
    return reverse


def conflict(what: str, who: str = "somebody") -> CommandError:
    """Why something cannot be undone any more."""
    return CommandError(
        "CONFLICT",
        f"{what} has since been changed or built on by {who}.",
        hint="look first; → undo step:n undoes another step",
    )


class Undone(NamedTuple):
    """What an undo or redo has done, in words, and its step; `parts` for programs: `{verb}` or
    `{action}` of each step, with the words of its `act`, or the `turn` of somebody, `by`."""

    said: str
    step: Step
    parts: tuple[Did, ...] = ()


def undo_each(context: Context, undos: Iterable[Callable[[], Undone]], word: str) -> Reply:
    """Runs them one by one; the first failure ends it, and is reported. Raises it if it is the
    first."""
    lines: list[str] = []
    parts: list[Did] = []
    step: Step | None = None
    after = [watch(context) for watch in _watches]
    for undo_next in undos:
        count, workspace = len(context.effects), dict(vars(context.workspace))
        try:
            with context.world.savepoint():
                text, step, done = undo_next()
        except CommandError as refused:
            vars(context.workspace).update(workspace)  # such as the number of its steps
            context.effects.rewind(count)
            if not lines:
                raise
            lines.append(refused.reply)
            break
        lines.append(f"✓ {word} {text}")
        parts.extend(done)
    for run in after:
        run()
    return Reply("\n".join(lines), step=step, did={"undone": parts})


MAX = 20
_UNDO = "→ undo"  # how the canonical lines of the steps of an undo begin
_REDO = "→ redo"  # the canonical line of the step of a redo

# An undo is no change of its own. What it reverses need not be a step: nobody's line wrote the
# answer of a turn.
IS_UNDO = Q(undoes__isnull=False) | Q(canonical__startswith=_UNDO)
UNDOABLE = ~IS_UNDO & Q(inverse__isnull=False, is_undone=False)
# 0.1.0 said by `is_undone` that the node of a turn was redone.
NOT_REDONE = Q(inverse__isnull=False, redone=False, is_undone=False)


def is_undo(step: Step) -> bool:
    """Whether a step undid something."""
    return step.undoes_id is not None or step.canonical.startswith(_UNDO)


class Undo(Args):
    """How many of your last steps."""

    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MAX)] = 1


class UndoRef(Args):
    """One step, of yours or of a named participant; or a turn."""

    ref: Annotated[RefField, Written("ref", refs=("step", "turn"))]
    by: Annotated[str, Written("option", key="by", value="quoted")] = ""


class Redo(Args):
    """How many undone steps."""

    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MAX)] = 1


class RedoRef(Args):
    """A turn that was undone."""

    ref: Annotated[RefField, Written("ref", refs=("turn",))]


describe_verb(
    Verb(
        "undo",
        past="undid",
        taught="undo [n:1] — your last changes",
        is_destructive=True,
        asks_first=True,
        in_pipes=False,
        dropped=("change changes last my step steps times"),
        hints=((r"undo (?:that|this|it)[.!]?", lambda _: iter(("undo",))),),
        meant_by="revert rollback cancel",
    )
)


@command("undo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def undo(context: Context, args: Undo) -> Reply:
    """Undoes your last changes in this tree, newest first, each as a step of its own."""
    own = [context.actor.participant]
    return undo_each(
        context, [lambda: _undo_one(context, _last_undoable(context), own)] * args.n, "undid"
    )


@command("undo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def undo_ref(context: Context, args: UndoRef) -> Reply:
    """Undoes one of your steps (owners: anybody's), or a whole turn that you started."""
    if args.ref.kind != "step":
        return _refs[args.ref.kind](context, args.ref.id)
    who = _named(context, args.by) if args.by else context.actor.participant
    own = [context.actor.participant, who]
    step = _steps_of(context, who).filter(seq=int(args.ref.id)).first()
    if step is None:
        raise not_found(f"step:{args.ref.id}", "your steps are listed under History")
    if step.inverse is None or is_undo(step):
        raise CommandError(
            "REJECTED",
            f"Step {step.seq} changed nothing that can be undone.",
            hint="→ undo undoes the last change",
        )
    if step.is_undone:
        raise CommandError("REJECTED", f"Step {step.seq} has already been undone.", hint="→ redo")
    after = [watch(context) for watch in _watches]
    undone = _undo_one(context, step, own)
    for run in after:
        run()
    return Reply(f"✓ undid {undone.said}", step=undone.step, did={"undone": undone.parts})


describe_verb(
    Verb(
        "redo",
        in_pipes=False,
        dropped=("change changes last my step steps times"),
    )
)


@command("redo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def redo(context: Context, args: Redo) -> Reply:
    """Repeats what you undid last. A new change clears it."""
    own = [context.actor.participant]
    return undo_each(
        context, [lambda: _redo_one(context, _last_redoable(context), own)] * args.n, "redid"
    )


@command("redo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def redo_ref(context: Context, args: RedoRef) -> Reply:
    """Repeats a whole turn that was undone, for whoever started it and for owners."""
    redone = _redo_refs[args.ref.kind](context, args.ref.id)
    parts = [part for each in redone for part in each.parts]
    said = "\n".join(f"✓ redid {each.said}" for each in redone)
    return Reply(said, step=redone[-1].step, did={"undone": parts})


def _own_steps(context: Context) -> QuerySet[Step]:
    return Step.objects.select_for_update().filter(
        workspace=context.workspace, actor=context.actor.participant, outcome="ok"
    )


def _own_actions(context: Context) -> QuerySet[Step]:
    """The caller's actions on the tree."""
    return Step.objects.select_for_update().filter(
        workspace=None,
        stream=f"tree:{context.tree.uid}",
        actor=context.actor.participant,
        outcome="ok",
    )


def _last_change(context: Context) -> Step | None:
    """The caller's last step in the tree that can be undone: a line, or an action on the tree."""
    steps = (
        rows.filter(UNDOABLE).order_by("-seq").first()
        for rows in (_own_steps(context), _own_actions(context))
    )
    return max((step for step in steps if step is not None), key=lambda step: step.pk, default=None)


def _last_clearing_redo(context: Context) -> Step | None:
    """The caller's last change in the tree, also one that cannot be undone, that was no undo or
    redo: a line or an action on the tree. Only steps that changed the tree or its grove name a
    stream; what looking keeps there, such as the result of a check, is no change."""
    no_change = Q(stream="") | Q(canonical__startswith=_REDO)
    for verb in registry.looking():
        no_change |= Q(canonical__startswith=f"→ {verb} ")
    steps = (
        rows.filter(~IS_UNDO).order_by("-seq").first()
        for rows in (
            _own_steps(context).filter(Q(inverse__isnull=False) | ~no_change),
            _own_actions(context),
        )
    )
    return max((step for step in steps if step is not None), key=lambda step: step.pk, default=None)


def _named(context: Context, name: str) -> Participant:
    """The participant of the grove whose steps are undone: for owners, or oneself."""
    named = Participant.objects.filter(grove=context.tree.grove, name__iexact=name)
    who = named.order_by(F("archived_at").desc(nulls_first=True)).first()
    if who != context.actor.participant and not context.actor.is_owner:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only owners can undo other people's changes.",
            hint="→ undo undoes your own last change",
        )
    if who is None:
        raise not_found(f"by:{label_named(name)}", "participants are listed under Participants")
    return who


def _steps_of(context: Context, who: Participant) -> QuerySet[Step]:
    """The steps of a participant in this tree."""
    if who == context.actor.participant:
        return _own_steps(context)
    return Step.objects.select_for_update(of=("self",)).filter(
        workspace__tree=context.tree, workspace__participant=who, actor=who, outcome="ok"
    )


def _last_undoable(context: Context) -> Step:
    step = _last_change(context)
    if step is None:
        raise CommandError(
            "REJECTED",
            "You have no changes left to undo in this tree.",
            hint="History shows what was done",
        )
    return step


def _last_redoable(context: Context) -> Step:
    last = _last_clearing_redo(context)
    undone = _own_steps(context).filter(IS_UNDO, NOT_REDONE)
    if last is not None and last.workspace_id is not None:  # a change clears it: only later ones
        undone = undone.filter(seq__gt=last.seq)
    step = undone.order_by("-seq").first()
    if step is None or (last is not None and step.pk < last.pk):
        raise CommandError("REJECTED", "There is nothing to redo.", hint="a new change clears redo")
    return step


def _demand_permission(context: Context, step: Step) -> None:
    """Undo requires the permission of what is undone, as the form of its line has it."""
    if step.workspace_id is None:
        access.demand(context.actor, {WRITE}, "undoing this")
        return
    command = registry.command_of_step(step.canonical)
    access.demand(
        context.actor,
        command.permissions,
        f"undoing {command.verb}",
        annotates=command.annotates and step.actor_id == context.actor.participant.pk,
        of_grove=command.stream == "grove",
    )


# As SQL and not as a value: SQLite finds the steps of an act by an index with this condition.
_NO_ACT = Func(template="''", output_field=CharField())


def _undo_one(context: Context, step: Step, own: Own) -> Undone:
    """Undoes a step, and with it the others of its act, newest first: all of them or none."""
    if not step.act:
        return undo_step(context, step, own)
    others = Step.objects.select_for_update().filter(
        ~Q(act=_NO_ACT), UNDOABLE, workspace=step.workspace, act=step.act, outcome="ok"
    )
    return _of_act(step, [undo_step(context, other, own) for other in others.order_by("-id")])


def _of_act(step: Step, undone: list[Undone]) -> Undone:
    """What an act did, in the words of whoever did it, and its lines; and the last step."""
    lines = "\n  ".join(part.said for part in undone)
    parts = tuple({**part, "act": step.doing} for each in undone for part in each.parts)
    return Undone(f"“{step.doing}”\n  {lines}" if step.doing else lines, undone[-1].step, parts)


def undo_step(context: Context, step: Step, own: Own, *, of_ref: str = "") -> Undone:
    """Undoes one step, as a step of its own; `of_ref`: as a part of undoing that."""
    _demand_permission(context, step)
    before = len(context.world.seqs)
    reverse = apply(context, step.inverse or [], own)
    for run in _after:
        run(context, step)
    step.is_undone = True
    step.save(update_fields=["is_undone"])
    ref = of_ref or (f"step:{step.seq}" if step.workspace_id else "")
    named = f"{_UNDO} {ref}".rstrip()
    undoing = write(context, named, before, inverse=reverse, undoes=step)
    return Undone(_line_or_message(step), undoing, (_part(step),))


def _part(step: Step) -> Did:
    """What a step did, for programs."""
    if not step.workspace_id:
        return {"action": step.canonical}
    verb = registry.verb_of_step(step.canonical)
    tell = _tells.get(verb)
    return {"verb": verb, **tell(step)} if tell is not None else {"verb": verb}


def _line_or_message(step: Step) -> str:
    """What a step did: its line, or the message of its action."""
    return in_one_line(step.canonical) if step.workspace_id else step.message


def _redo_one(context: Context, undone: Step, own: Own) -> Undone:
    """Redoes a step, and with it the others of its act or turn, in their order: all of them or
    none."""
    kind, _, of_ref = undone.canonical.removeprefix(f"{_UNDO} ").partition(":")
    if kind in _redo_refs:
        redone = _redo_refs[kind](context, of_ref)
        said = "\n✓ redid ".join(each.said for each in redone)
        return Undone(said, redone[-1].step, tuple(part for each in redone for part in each.parts))
    original = Step.objects.get(pk=undone.undoes_id or 0)
    if not original.act:
        return redo_step(context, undone, original, own)
    others = Step.objects.select_for_update(of=("self",)).select_related("undoes")
    others = others.filter(workspace=undone.workspace, undoes__act=original.act, redone=False)
    again = others.filter(undoes__workspace=original.workspace, undoes__is_undone=True)
    redone = [
        redo_step(context, step, step.undoes, own)
        for step in again.order_by("undoes__seq")
        if step.undoes is not None
    ]
    return _of_act(original, redone)


def redo_step(context: Context, undone: Step, original: Step, own: Own) -> Undone:
    """Redoes one step, given the step that undid it."""
    _demand_permission(context, original)
    before = len(context.world.seqs)
    again = apply(context, undone.inverse or [], own)
    undone.redone = True
    undone.save(update_fields=["redone"])
    original.is_undone, original.inverse = False, again
    original.save(update_fields=["is_undone", "inverse"])
    step = write(context, _REDO, before, inverse=None, undoes=None)
    return Undone(_line_or_message(original), step, (_part(original),))


def write(
    context: Context,
    canonical: str,
    before: int,
    *,
    inverse: list[Op] | None,
    undoes: Step | None,
) -> Step:
    """Writes the step of an undo or redo. `before`: how many events the line had written."""
    return step_log.write_step(
        context,
        line=canonical,
        canonical=canonical,
        outcome="ok",
        stream=f"tree:{context.tree.uid}",
        events=context.world.seqs[before:],
        inverse=inverse,
        undoes=undoes,
    )
