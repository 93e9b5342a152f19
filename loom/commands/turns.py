"""Turns: asking an agent to act, and asking it to stop. A worker runs them.

A turn that will end in a node takes the lease on the slot it was asked at: its own open row
is the lease, and the tree's lock lets one at a time look for it.
"""

from datetime import timedelta
from typing import Any, Literal

from django.db.models import F
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands import growth, landing, viewing
from loom.commands.actions import Change, action, run_action
from loom.commands.args import Args
from loom.commands.growth import NewNode, demand_text
from loom.commands.guards import demand_text_node, demand_visible
from loom.log.jobs import enqueue
from loom.log.streams import Writer
from loom.models import Generation, Node, Participant, Tree, Turn
from loom.models.turns import OPEN_TURN
from loom.queries import lookup
from loom.queries.turns import turn_body, turns
from loom.rules import budgets
from loom.rules.permissions import NAMES
from loom.rules.refusals import Refused, not_found

Form = Literal["continuation", "aside"]
STILL = timedelta(seconds=120)  # a turn that makes no progress for so long holds nothing
TIMED_OUT = "interrupted:no progress"


class Wanted(Args):
    """Whom to ask for a turn, at which node (a local id, "": where the asker stands), with
    which words, to end in what, within which budget ("": the agent's own)."""

    participant: str
    node: str = ""
    input: str = ""
    form: Form = "continuation"
    budget: str = ""


def start(actor: Actor, tree: Tree, wanted: Wanted) -> Turn:
    """A turn that is now queued, its lease taken and the asker's words written.

    Refuses who may not generate, an agent that is not loom-aware (REJECTED), and a slot
    that another turn holds (CONFLICT with its name).
    """
    started: Turn = run_action(actor, tree, _start, wanted)
    return started


@action("start_turn", stream="tree", role="reader")
def _start(change: Change, args: Wanted) -> Turn:
    """Asks a loom-aware agent to act; needs loom_aware and loom_generate."""
    actor, tree = change.actor, change.tree
    access.demand(actor, frozenset("AG"), "a turn")  # type: ignore[arg-type]
    agent = _agent(actor, args.participant)
    preset = args.budget or agent.budget
    budgets.budget_of(preset)
    if args.input:
        demand_text(args.input, what="The input")
    tree.refresh_from_db(fields=["archived_at", "erasing_at"])
    access.demand_writable(tree)
    point = _point(actor, tree, args.node)
    if args.form == "continuation":
        _demand_free(point)
    turn = Turn.objects.create(
        tree=tree,
        participant=agent,
        invoked_by=actor.participant,
        invoked_at=point,
        stands_at=point,
        form=args.form,
        status="leased" if args.form == "continuation" else "queued",
        preset=preset,
    )
    _write_input(change.writer, turn, args.input)
    viewing.stand(growth.workspace_of(agent, tree), turn.stands_at, actor=agent)
    turn = turns().get(pk=turn.pk)
    change.writer.append("turn.started", {"turn": turn_body(turn)})
    Tree.objects.filter(pk=tree.pk).update(touched_at=change.now)
    enqueue("agents.tasks.run_turn", [turn.uid], queue="continue")
    return turn


def _agent(actor: Actor, uid: str) -> Participant:
    rows = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    agent = rows.filter(uid=uid).first()
    if agent is None:
        raise not_found("This participant")
    if NAMES["A"] not in agent.permissions:
        raise Refused(
            "REJECTED",
            f"{agent.name} is not loom-aware: it is sent text only.",
            hint=f'→ continue using agent:"{agent.name}"',
        )
    return agent


def _point(actor: Actor, tree: Tree, local_id: str) -> Node:
    if local_id:
        node = lookup.find_node(tree, local_id.lower())
    else:
        view = growth.workspace_of(actor.participant, tree)
        here = lookup.visible_at_or_above(lookup.rows().get(pk=view.position_id), view)
        node = lookup.standing(here.slot_id, view) or here
    if node is None or node.tree_id != tree.pk:
        raise not_found(f"[{local_id}]" if local_id else "Your position here")
    demand_text_node(node, "answered")
    demand_visible(node)
    return node


def _demand_free(point: Node) -> None:
    """Refuses CONFLICT where a turn that goes on was asked at the same slot. One that makes
    no progress any more only writes down what it has, and holds nothing."""
    rows = turns().filter(tree=point.tree_id, ended_at__isnull=True, form="continuation")
    for other in rows.filter(invoked_at__slot=point.slot_id).exclude(finish=TIMED_OUT):
        if is_still(other):
            time_out(other)
            continue
        raise Refused(
            "CONFLICT",
            f"{other.participant.name} is at work at [{point.local_id}], asked by "
            f"{other.invoked_by.name}.",
            hint="wait until it has ended, stop it, or ask at another node",
        )


def is_still(turn: Turn) -> bool:
    """Whether the turn made no progress for two minutes and waits for no model."""
    if timezone.now() - turn.moved_at < STILL:
        return False
    return not Generation.objects.filter(turn=turn, status__in=landing.OPEN).exists()


def time_out(turn: Turn) -> None:
    """Lets a turn without progress finish with what it has, whoever held it."""
    rows = Turn.objects.filter(pk=turn.pk, status__in=OPEN_TURN, moved_at=turn.moved_at)
    now = timezone.now()
    rows.update(status="finishing", finish=TIMED_OUT, lease="", leased_until=None, moved_at=now)
    turn.lease, turn.leased_until = "", None
    enqueue("agents.tasks.run_turn", [turn.uid], queue="continue")


def _write_input(writer: Writer, turn: Turn, text: str) -> None:
    """The asker's words: a node that the turn then stands on, of an aside a note on its point."""
    if not text:
        return
    is_aside = turn.form == "aside"
    new = NewNode(
        text,
        kind="annotation" if is_aside else "text",
        form="note" if is_aside else "",
        parent=turn.invoked_at,
    )
    turn.input_node = growth.add_node(writer, turn.tree, turn.invoked_by, new)
    if not is_aside:
        turn.stands_at = turn.input_node
    turn.save(update_fields=["input_node", "stands_at"])


def extend(actor: Actor, turn: Turn, steps: int) -> None:
    """Grants a turn that goes on more steps; its inviter and owners may."""
    run_action(actor, turn.tree, _extend, Extension(turn=turn, steps=steps))


class Extension(Args):
    """A turn, and how many steps more it gets."""

    turn: Turn
    steps: int


@action("extend_turn", stream="tree", role="reader")
def _extend(change: Change, args: Extension) -> None:
    """Grants a turn that goes on more steps; its inviter and owners may."""
    actor, turn = change.actor, args.turn
    if turn.invoked_by != actor.participant and not actor.is_owner:
        raise Refused(
            "PERMISSION_DENIED",
            "Only who asked for a turn and owners may give it more steps.",
            hint=f"ask {turn.invoked_by.name}",
        )
    rows = Turn.objects.filter(pk=turn.pk, status__in=OPEN_TURN)
    if not rows.update(more_steps=F("more_steps") + args.steps, extension=None):
        raise Refused("REJECTED", "This turn has ended.", hint="ask for another")


def ask_stop(turn: Turn) -> None:
    """Asks a turn to stop: what it has written is kept. Its running generations are stopped."""
    Turn.objects.filter(pk=turn.pk, status__in=OPEN_TURN).update(stop_asked=True)
    for one in Generation.objects.filter(turn=turn, status__in=landing.OPEN):
        landing.ask_stop(one)
    enqueue("agents.tasks.run_turn", [turn.uid], queue="continue")


def end(
    writer: Writer,
    turn: Turn,
    status: str,
    *,
    finish: str = "",
    error: dict[str, Any] | None = None,
    node: Node | None = None,
) -> None:
    """Ends a turn, and tells so; its agent has seen what came until then. The tree must be
    locked by `writer`."""
    turn.status, turn.finish, turn.error, turn.node = status, finish, error, node
    turn.ended_at = turn.moved_at = timezone.now()
    turn.leased_until, turn.lease, turn.waits_for = None, "", []
    turn.save()
    seen = writer.append("turn.ended", {"turn": turn_body(turn)})
    viewing.see(growth.workspace_of(turn.participant, turn.tree), seen, actor=turn.participant)
