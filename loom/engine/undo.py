"""Undo and redo: steps that apply the inverse of earlier steps, one small operation at a time.

Each operation checks that everything still is as its step left it and that nobody else has built
on it (else CONFLICT), acts, and returns its own inverse, which redo applies.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, NamedTuple

from django.db import transaction
from django.db.models import F, QuerySet

from loom import access
from loom.documents import commands as documents
from loom.engine import registry
from loom.engine import steps as step_log
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.models import Step
from loom.engine.registry import command, describe_verb
from loom.engine.views import Moved, position_after
from loom.errors import CommandError, not_found, require
from loom.language.verbs import Verb
from loom.links.commands import links
from loom.links.models import Link
from loom.notes.commands import annotations, marks
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.permissions import LOOM, WRITE
from loom.trees.commands.node_writer import flag
from loom.trees.commands.view import in_one_line
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.turns.commands import continuing
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.turns.queries import turns


def apply(context: Context, ops: list[Op]) -> list[Op]:
    """Runs the operations in order; returns the list that reverses them."""
    reverse: list[Op] = []
    for op in ops:
        reverse = [*_APPLY[op["op"]](context, op), *reverse]
    return reverse


def _conflict(what: str, who: str) -> CommandError:
    return CommandError(
        "CONFLICT",
        f"{what} has since been changed or built on by {who}.",
        hint="look first; → undo step:n undoes another step",
    )


def _flag(context: Context, op: Op) -> list[Op]:
    node = lookup.rows().get(pk=op["node"])
    if getattr(node, op["flag"]) == op["value"]:
        raise _conflict(f"[{node.local_id}]", "somebody")
    if op["flag"] == "version_pruned" and op["value"]:
        _demand_another_version(node)
    return [flag(context, node, op["flag"], op["value"])]


def _demand_another_version(node: Node) -> None:
    """Refuses with CONFLICT if hiding this version would leave its slot without any."""
    others = Node.objects.filter(slot=node.slot_id, version_pruned=False).exclude(pk=node.pk)
    if not others.exists():
        raise CommandError(
            "CONFLICT",
            f"[{node.local_id}] is the last version left there.",
            hint=f"→ prune {node.local_id}",
        )


def _made(context: Context, op: Op) -> list[Op]:
    """Prunes a node that was made (a version on its own), or restores it."""
    node = lookup.rows().get(pk=op["node"])
    name = "pruned" if node.pk == node.slot_id else "version_pruned"
    if getattr(node, name) == op["pruned"]:
        raise _conflict(f"[{node.local_id}]", "somebody")
    if op["pruned"]:
        _demand_untouched(context, node)
        if name == "version_pruned":
            _demand_another_version(node)
    flag(context, node, name, op["pruned"])
    return [{**op, "pruned": not op["pruned"]}]


def _demand_untouched(context: Context, node: Node) -> None:
    """Refuses with CONFLICT if somebody else wrote below the node, or changed it."""
    others = lookup.rows().filter(tree=node.tree_id, id__gt=node.pk)
    others = others.exclude(author__in=context.own)
    built = others.filter(parent_hash=node.hash, parent_slot=node.slot_id)
    reworded = others.filter(slot=node.slot_id)
    for other in [*built[:50], *reworded[:50]]:
        if other.slot.pruned or other.version_pruned or _is_mine(context, other):
            continue
        raise _conflict(f"[{node.local_id}]", f"{other.author.name} ([{other.local_id}])")


def _is_mine(context: Context, node: Node) -> bool:
    """Whether a model wrote the node because the caller asked for it."""
    return (
        Generation.objects.filter(uid=node.generation_uid, asked_by__in=context.own).exists()
        if node.generation_uid
        else False
    )


def _mark(context: Context, op: Op) -> list[Op]:
    mark = Mark.objects.select_related("participant").get(pk=op["mark"])
    if (mark.removed_at is not None) == op["removed"]:
        raise _conflict(f"The {mark.kind} on {op['item']}", "somebody")
    return [marks.set_removed(context, mark, op["item"], op["removed"])]


def _link(context: Context, op: Op) -> list[Op]:
    link = Link.objects.select_related("by").get(pk=op["link"])
    if (link.removed_at is not None) == op["removed"]:
        raise _conflict("The link", "somebody")
    return [links.set_removed(context, link, op["ends"], op["removed"])]


def _resolve(context: Context, op: Op) -> list[Op]:
    node = lookup.rows().get(pk=op["node"])
    if (node.resolved_at is not None) == op["value"]:
        raise _conflict(f"[{node.local_id}]", "somebody")
    return [annotations.set_resolved(context, node, op["value"])]


def _generations(context: Context, op: Op) -> list[Op]:
    """Stops what still runs (its text is pruned when it ends), and prunes what has ended."""
    reverse: list[Op] = []
    # Locked in the order in which a worker locks those that begin: two orders would deadlock.
    rows = Generation.objects.select_for_update().filter(uid__in=op["uids"]).order_by("id")
    for row in reversed(rows):
        if row.status in continuing.ENDED:
            if row.node_id and not lookup.rows().get(pk=row.node_id).pruned:
                reverse = [
                    *_made(context, {"op": "made", "node": row.node_id, "pruned": True}),
                    *reverse,
                ]
            continue
        row.stop_asked, row.discard = True, True
        row.save(update_fields=["stop_asked", "discard"])
        reverse = [{"op": "stopped", "uid": row.uid}, *reverse]
    return reverse


def _stopped(context: Context, op: Op) -> list[Op]:
    """Redo of a stopped generation: restores the text it had by then."""
    row = Generation.objects.select_for_update().get(uid=op["uid"])
    row.discard = False
    row.save(update_fields=["discard"])
    if row.node_id and lookup.rows().get(pk=row.node_id).pruned:
        return _made(context, {"op": "made", "node": row.node_id, "pruned": False})
    return [{"op": "generations", "uids": [row.uid]}]


def _asked(_context: Context, op: Op) -> list[Op]:
    """Stops the turn that a question started; the question itself is pruned."""
    from loom.turns.turn_lifecycle import ask_stop  # it runs actions, which use this module

    turn = Turn.objects.filter(ask__uid=op["ask"], status__in=OPEN_TURN).first()
    if turn is not None:
        ask_stop(turn)
    return []


def _steer(context: Context, op: Op) -> list[Op]:
    """Restores what subjects are sent in addition to the path."""
    row = Tree.objects.get(pk=context.tree.pk)
    before = {name: getattr(row, name) for name in op["fields"]}
    if "now" in op and before != op["now"]:
        raise _conflict("What models are sent of this tree", "somebody")
    for name, value in op["fields"].items():
        setattr(row, name, value)
    row.save(update_fields=list(op["fields"]))
    context.world.append("tree.changed", {"tree": row.uid, **op["fields"]})
    return [{"op": "steer", "fields": before, "now": op["fields"]}]


def _document(context: Context, op: Op) -> list[Op]:
    return [documents.undo_write(context, op)]


_APPLY: dict[str, Any] = {
    "steer": _steer,
    "flag": _flag,
    "made": _made,
    "mark": _mark,
    "link": _link,
    "resolve": _resolve,
    "generations": _generations,
    "stopped": _stopped,
    "asked": _asked,
    "document": _document,
}


# `undo turn:ID`: undoes everything that an agent did in a turn, for its inviter or an owner.


class Undone(NamedTuple):
    """What an undo or redo has done, in words, and its step."""

    said: str
    step: Step


UndoOne = Callable[[Context, Step], Undone]


def undo_turn(context: Context, uid: str, undo_one: UndoOne) -> Reply:
    """Prunes the node of the turn, then undoes its lines, newest first; the first that fails ends
    it, and is reported."""
    turn = turns().filter(uid__iexact=uid, tree=context.tree).first()
    if turn is None:
        raise not_found(f"turn:{uid}")
    _demand_may(context, turn)
    context.agent = turn.participant
    undos: list[Callable[[], Undone]] = [partial(undo_one, context, one) for one in _steps(turn)]
    if _has_node(turn):
        undos.insert(0, partial(_undo_node, context, turn))
    if not undos:
        raise CommandError(
            "REJECTED", "Nothing in this turn is left to undo.", hint="→ undo undoes your own"
        )
    return each(context, undos, "undid")


def each(context: Context, undos: Iterable[Callable[[], Undone]], word: str) -> Reply:
    """Runs them one by one; the first failure ends it, and is reported. Raises it if it is the
    first."""
    lines: list[str] = []
    step: Step | None = None
    was_hidden = lookup.hidden_by(context.here) is not None
    for undo_next in undos:
        head, count = context.world.stream.head, len(context.effects)
        try:
            with transaction.atomic():
                said, step = undo_next()
        except CommandError as refused:
            context.world.rewind(head)
            context.effects.rewind(count)
            if not lines:
                raise
            lines.append(refused.reply)
            break
        lines.append(f"✓ {word} {said}")
    _leave_hidden(context, was_hidden=was_hidden)
    return Reply("\n".join(lines), step=step)


def _demand_may(context: Context, turn: Turn) -> None:
    if turn.status in OPEN_TURN:
        raise CommandError("REJECTED", "This turn is still running.", hint="stop it first")
    if turn.invoked_by != context.actor.participant and not context.actor.is_owner:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only the person who started a turn and owners can undo it.",
            hint=f"ask {turn.invoked_by.name}",
        )


def _has_node(turn: Turn) -> bool:
    return turn.node is not None and not turn.node.slot.pruned


def _steps(turn: Turn) -> list[Step]:
    rows = Step.objects.select_for_update().filter(turn_uid=turn.uid, outcome="ok")
    rows = rows.filter(inverse__isnull=False, undoes__isnull=True, is_undone=False)
    return list(rows.order_by("-id"))


def _undo_node(context: Context, turn: Turn) -> Undone:
    node = require(turn.node, "the node of the turn")
    before = len(context.world.seqs)
    op = {"op": "made", "node": node.pk, "pruned": True}
    line = f"→ undo turn:{turn.uid}"
    reverse = apply(context, [op])
    step = step_log.write_step(
        context,
        line=line,
        canonical=line,
        outcome="ok",
        stream=f"tree:{context.tree.uid}",
        events=context.world.seqs[before:],
        inverse=reverse,
    )
    return Undone(f"[{node.local_id}], the answer of {turn.participant.name}", step)


MAX = 20
ACTIONS = ("change_tree",)  # actions that can be undone, if their step has an inverse


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


describe_verb(
    Verb(
        "undo",
        past="undid",
        is_daily=True,
        is_destructive=True,
        asks_first=True,
        dropped=("change changes last my step steps times"),
        meant_by="revert rollback cancel",
    )
)


@command("undo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def undo(context: Context, args: Undo) -> Reply:
    """Undoes your last changes in this tree, newest first, each as a step of its own."""
    return each(context, [lambda: _undo_one(context, _last_undoable(context))] * args.n, "undid")


@command("undo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def undo_ref(context: Context, args: UndoRef) -> Reply:
    """Undoes one of your steps (owners: anybody's), or a whole turn that you started."""
    if args.ref.kind == "turn":
        return undo_turn(context, args.ref.id, _undo_one)
    steps = _steps_by(context, args.by) if args.by else _own_steps(context)
    step = steps.filter(seq=int(args.ref.id)).first()
    if step is None:
        raise not_found(f"step:{args.ref.id}", "your steps are listed under History")
    if step.inverse is None or step.undoes_id is not None:
        raise CommandError(
            "REJECTED",
            f"Step {step.seq} changed nothing that can be undone.",
            hint="→ undo undoes the last change",
        )
    if step.is_undone:
        raise CommandError("REJECTED", f"Step {step.seq} has already been undone.", hint="→ redo")
    was_hidden = lookup.hidden_by(context.here) is not None
    undone = _undo_one(context, step)
    _leave_hidden(context, was_hidden=was_hidden)
    return Reply(f"✓ undid {undone.said}", step=undone.step)


describe_verb(
    Verb(
        "redo",
        dropped=("change changes last my step steps times"),
    )
)


@command("redo", group="Make", klass="write", permissions={LOOM}, stream="tree")
def redo(context: Context, args: Redo) -> Reply:
    """Repeats what you undid last. A new change clears it."""
    return each(context, [lambda: _redo_one(context, _last_redoable(context))] * args.n, "redid")


def _leave_hidden(context: Context, *, was_hidden: bool) -> None:
    """Moves the caller up to what is visible, if they have hidden their own position by the undo.
    Not in a dry run, where nothing was hidden and the reply does not mention it."""
    if context.world.is_dry:
        return
    here = position_after(context.workspace, context)
    if not was_hidden:
        visible = lookup.visible_at_or_above(here, context.workspace)
        if visible.pk != here.pk:
            context.add(Moved(visible))


def _own_steps(context: Context) -> QuerySet[Step]:
    return Step.objects.select_for_update().filter(
        workspace=context.workspace, actor=context.actor.participant, outcome="ok"
    )


def _own_actions(context: Context) -> QuerySet[Step]:
    """The caller's actions on the tree that can be undone."""
    return Step.objects.select_for_update().filter(
        workspace=None,
        stream=f"tree:{context.tree.uid}",
        canonical__in=ACTIONS,
        actor=context.actor.participant,
        outcome="ok",
    )


def _last_change(context: Context, **wanted: bool) -> Step | None:
    """The caller's last step in the tree that can be undone: a line, or an action on the tree."""
    found = (
        rows.filter(inverse__isnull=False, undoes__isnull=True, **wanted).order_by("-seq").first()
        for rows in (_own_steps(context), _own_actions(context))
    )
    return max((one for one in found if one is not None), key=lambda one: one.pk, default=None)


def _steps_by(context: Context, name: str) -> QuerySet[Step]:
    """The steps of a participant of the grove in this tree; for owners, or for one's own steps."""
    grove = context.tree.grove
    named = Participant.objects.filter(grove=grove, name__iexact=name)
    who = named.order_by(F("archived_at").desc(nulls_first=True)).first()
    if who == context.actor.participant:
        return _own_steps(context)
    if not context.actor.is_owner:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only owners can undo other people's changes.",
            hint="→ undo undoes your own last change",
        )
    if who is None:
        raise not_found(f'by:"{name}"', "participants are listed under Participants")
    context.agent = who
    return Step.objects.select_for_update(of=("self",)).filter(
        workspace__tree=context.tree, workspace__participant=who, actor=who, outcome="ok"
    )


def _last_undoable(context: Context) -> Step:
    step = _last_change(context, is_undone=False)
    if step is None:
        raise CommandError(
            "REJECTED",
            "You have no changes left to undo in this tree.",
            hint="History shows what was done",
        )
    return step


def _last_redoable(context: Context) -> Step:
    last = _last_change(context)
    undone = _own_steps(context).filter(undoes__isnull=False, redone=False)
    step = undone.order_by("-seq").first()
    if step is not None and last is not None and step.pk < last.pk:
        step = None
    if step is None:
        raise CommandError("REJECTED", "There is nothing to redo.", hint="a new change clears redo")
    return step


def _demand_permission(context: Context, step: Step) -> None:
    """Undo requires the permission of what is undone."""
    if step.workspace_id is None:
        access.demand(context.actor, {WRITE}, "undoing this")
        return
    verb = step.canonical.removeprefix("→").split()[0]
    access.demand(context.actor, registry.find(verb).permissions, f"undoing {verb}")


def _undo_one(context: Context, step: Step) -> Undone:
    _demand_permission(context, step)
    before = len(context.world.seqs)
    reverse = apply(context, step.inverse or [])
    _lead_back(context, step)
    step.is_undone = True
    step.save(update_fields=["is_undone"])
    named = f"→ undo step:{step.seq}" if step.workspace_id else "→ undo"
    return Undone(_said(step), _write(context, named, before, inverse=reverse, undoes=step))


def _lead_back(context: Context, step: Step) -> None:
    """Moves whoever undoes a prune to where they were when it moved them above it, unless they
    went elsewhere since."""
    ops = [op for op in step.inverse or [] if op["op"] == "flag" and op["flag"] == "pruned"]
    if not ops or step.workspace_id != context.workspace.pk or context.world.is_dry:
        return
    slot = lookup.by_id(ops[0]["node"])
    was = lookup.find_node(context.tree, step.position)
    here = position_after(context.workspace, context)
    if was is None or ops[0]["value"] or here.slot_id != slot.parent_slot_id:
        return
    if lookup.is_at_or_above(slot, was):
        context.add(Moved(was))


def _said(step: Step) -> str:
    """What a step did: its line, or the message of its action."""
    return in_one_line(step.canonical) if step.workspace_id else step.message


def _redo_one(context: Context, undone: Step) -> Undone:
    original = Step.objects.get(pk=undone.undoes_id or 0)
    _demand_permission(context, original)
    before = len(context.world.seqs)
    again = apply(context, undone.inverse or [])
    undone.redone = True
    undone.save(update_fields=["redone"])
    original.is_undone, original.inverse = False, again
    original.save(update_fields=["is_undone", "inverse"])
    own = _write(context, "→ redo", before, inverse=None, undoes=None)
    return Undone(_said(original), own)


def _write(
    context: Context,
    canonical: str,
    before: int,
    *,
    inverse: list[dict[str, object]] | None,
    undoes: Step | None,
) -> Step:
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
