"""The life of a turn's row: started by a person, moved by a worker, ended."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine import later, put_aside, receipts, streams
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret
from loom.engine.busy import NOT_REACHED
from loom.engine.execute import execute
from loom.engine.fields import new_uid
from loom.engine.jobs import enqueue
from loom.engine.models import Step
from loom.engine.streams import Writer
from loom.errors import CommandError, not_found
from loom.language.refs import label_named
from loom.money import spending
from loom.money.spending import CandidateRequest
from loom.participants import budgets as presets
from loom.people.models import Participant
from loom.permissions import GENERATE, LOOM
from loom.platform.prepared_queries import Given, PreparedQuery, lock_rows
from loom.text.shortening import named
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode, demand_text, demand_text_node, demand_visible
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.turns import asks, budgets, generation_lifecycle, stored_events
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.turns.queries import budget_of, spent_of, texts_made_by, turn_body, turns, wants_more
from loom.turns.queueing import queue
from loom.workspace import position
from loom.workspace.models import Window
from loom.workspace.queries import shown_windows
from loom.workspace.queries.shown_windows import state_of
from loom.workspace.window_lifetime import mentioned
from loom.workspace.window_rules import MOST_VISIBLE

# Starting and stopping turns. A worker runs them.


Form = Literal["continuation", "aside"]
STALLED = timedelta(seconds=120)  # a turn without progress for this long no longer holds its lease
MOST_WRITTEN = 20  # lines that are looked at for the last text
TIMED_OUT = "interrupted:no progress"
ASIDE = "turn"  # the kind of a turn whose end is put aside
log = logging.getLogger("heddle.turns")


class TurnStartArgs(Args):
    """A turn to start: the agent, the node (a local id, "": the caller's position), the words, how
    it ends, and the budget ("": the agent's own). A repeat with the same `key` starts no other. A
    program may send a text of its own in place of the tree's instructions, and settings."""

    participant: str
    node: str = ""
    input: str = ""
    form: Form = "continuation"
    budget: str = ""
    key: str = ""
    system_text: Annotated[str | None, Secret()] = None  # the turn has it
    settings: Annotated[dict[str, Any], Secret()] = {}


def start(actor: Actor, tree: Tree, wanted: TurnStartArgs) -> Turn:
    """A queued turn, with its lease taken and the caller's words stored as a node. Refuses callers
    who may not generate, an agent that is not loom-aware (REJECTED), and a slot that another turn
    holds (CONFLICT with its name).
    """
    return execute(actor, tree, _start, wanted)


@action("start_turn", stream="tree", role="reader")
def _start(change: RunningAction, args: TurnStartArgs) -> Turn:
    """Asks a loom-aware agent to act; needs loom_aware and loom_generate."""
    actor, tree = change.actor, change.tree
    access.demand(actor, {LOOM, GENERATE}, "a turn")
    agent = _agent(actor, args.participant)
    preset = args.budget or agent.budget
    presets.budget_of(preset)
    if args.input:
        demand_text(args.input, what="The input")
    tree.refresh_from_db(fields=["archived_at", "erasing_at"])
    access.demand_writable(tree)
    asked = args.model_dump_json(exclude={"key"})
    if started := receipts.find_made(actor, tree, args.key, asked):
        return turns().get(uid=started)
    point = _point(actor, tree, args.node)
    if args.form == "continuation":
        _demand_free(point)
    order = TurnOrder(
        agent=agent,
        invoked_by=actor.participant,
        point=point,
        form=args.form,
        preset=preset,
        scope=getattr(actor.user, "scope", "owner"),
        text=args.input,
        system_text=args.system_text,
        settings=args.settings,
    )
    turn = begin(change.writer, order)
    receipts.keep_made(actor, tree, args.key, asked, turn.uid)
    return turn


@dataclass(frozen=True)
class TurnOrder:
    """A turn to begin: whose it is, who started it, where, how it ends, and its budget. `text` is
    by `author` (None: who started it), and `asking` the turn in which an agent asked for it.
    `system_text` and `settings` are those of a program."""

    agent: Participant
    invoked_by: Participant
    point: Node
    form: Form
    preset: str
    scope: str = "owner"
    text: str = ""
    author: Participant | None = None
    asking: Turn | None = None
    system_text: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def begin(writer: Writer, order: TurnOrder) -> Turn:
    """A queued turn with its words stored; `writer` must have locked the tree."""
    is_aside = order.form == "aside"
    turn = Turn.objects.create(
        tree=order.point.tree,
        participant=order.agent,
        invoked_by=order.invoked_by,
        invoked_at=order.point,
        answers_below=order.point,
        form=order.form,
        scope=order.scope,
        status="queued" if is_aside else "leased",
        preset=order.preset,
        asking=order.asking,
        system_text=order.system_text,
        settings=dict(order.settings),
    )
    _write_input(writer, turn, order)
    if writer.is_dry:
        return turn
    workspace = node_writer.workspace_of(order.agent, turn.tree)
    position.set_position(workspace, turn.answers_below, actor=order.agent)
    turn = turn_again(turn.pk)
    writer.append("turn.started", {"turn": turn_body(turn)})
    Tree.objects.filter(pk=turn.tree_id).update(touched_at=timezone.now())
    enqueue("agents.tasks.run_turn", [turn.uid], queue="continue")
    return turn


def _agent(actor: Actor, uid: str) -> Participant:
    rows = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    agent = rows.filter(uid=uid).first()
    if agent is None:
        raise not_found("This participant")
    demand_aware(agent)
    return agent


def demand_aware(agent: Participant) -> None:
    """Refuses an agent that is not loom-aware with REJECTED."""
    if LOOM not in agent.permissions:
        raise CommandError(
            "REJECTED",
            f"{agent.name} is not loom-aware: it is sent text only.",
            hint=f"→ continue using agent:{label_named(agent.name)}",
        )


def _point(actor: Actor, tree: Tree, local_id: str) -> Node:
    if local_id:
        node = lookup.find_named(tree, local_id)
    else:
        view = node_writer.workspace_of(actor.participant, tree)
        here = lookup.visible_at_or_above(lookup.rows().get(pk=view.position_id), view)
        node = lookup.selected_version(here.slot_id, view) or here
    if node is None or node.tree_id != tree.pk:
        raise not_found(f"[{local_id}]" if local_id else "Your position here")
    demand_text_node(node, "answered")
    demand_visible(node)
    return node


_AT_SLOT = PreparedQuery(
    lambda: (
        turns()
        .filter(ended_at__isnull=True, form="continuation", invoked_at__slot=Given("slot"))
        .exclude(finish=TIMED_OUT)
    )
)


def _demand_free(point: Node) -> None:
    """Raises CONFLICT if a running turn was started at the same slot. A stalled turn will only
    store what it has, and blocks nothing."""
    for other in _AT_SLOT.all(slot=point.slot_id):
        if is_stalled(other):
            if other.status != "finishing":  # else its text waits to be stored
                time_out(other)
            continue
        raise CommandError(
            "CONFLICT",
            f"{other.participant.name} is working at [{point.local_id}] in a turn "
            f"started by {other.invoked_by.name}.",
            hint="wait until it ends, stop it, or start one at another node",
        )


def is_stalled(turn: Turn) -> bool:
    """Whether the turn made no progress for two minutes and does not wait for a model. The end of
    an answer is progress, too: one that took longer than two minutes has only just arrived."""
    asked = any(name == CALLS or name.startswith(asks.WAITS) for name in turn.waits_for)
    time = timedelta(milliseconds=budget_of(turn).milliseconds) if asked else timedelta()
    since = timezone.now() - STALLED - time
    if turn.moved_at > since:
        return False
    is_going = Q(status__in=generation_lifecycle.OPEN_STATUSES) | Q(ended_at__gt=since)
    return not Generation.objects.filter(is_going, turn=turn).exists()


def time_out(turn: Turn) -> None:
    """Makes a turn without progress finish with what it has, whichever worker holds it."""
    rows = Turn.objects.filter(pk=turn.pk, status__in=OPEN_TURN, moved_at=turn.moved_at)
    now = timezone.now()
    rows.update(status="finishing", finish=TIMED_OUT, lease="", leased_until=None, moved_at=now)
    turn.lease, turn.leased_until = "", None
    enqueue("agents.tasks.run_turn", [turn.uid], queue="continue")


def _write_input(writer: Writer, turn: Turn, order: TurnOrder) -> None:
    """Stores the words of the order: a node that the turn answers, or for an aside a note on its
    point; those of an agent are a question. In a buffer they are marked, because they are no
    part of the story."""
    if not order.text:
        return
    is_aside, author = order.form == "aside", order.author or order.invoked_by
    form = "question" if order.author is not None else "note"
    new = NewNode(
        order.text,
        kind="annotation" if is_aside else "text",
        form=form if is_aside else lookup.ASK if turn.tree.mode == "buffer" else "",
        parent=turn.invoked_at,
    )
    turn.input_node = node_writer.add_node(writer, turn.tree, author, new)
    if not is_aside:
        turn.answers_below = turn.input_node
    turn.save(update_fields=["input_node", "answers_below"])


def extend(actor: Actor, turn: Turn, steps: int, tokens: int = 0) -> None:
    """Grants a running turn more steps and tokens. For its inviter and owners."""
    execute(actor, turn.tree, _extend, TurnExtensionArgs(turn=turn.uid, steps=steps, tokens=tokens))


class TurnExtensionArgs(Args):
    """A turn by its uid, and the number of additional steps and tokens."""

    turn: str
    steps: int
    tokens: int


@action("extend_turn", stream="tree", role="reader")
def _extend(change: RunningAction, args: TurnExtensionArgs) -> None:
    """Grants a running turn more steps and tokens. For its inviter and owners."""
    actor = change.actor
    turn = Turn.objects.select_related("invoked_by").filter(tree=change.tree, uid=args.turn).first()
    if turn is None:
        raise not_found("This turn")
    if turn.invoked_by != actor.participant and not actor.is_owner:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only the person who started a turn and owners can extend it.",
            hint=f"ask {turn.invoked_by.name}",
        )
    rows = Turn.objects.filter(pk=turn.pk, status__in=OPEN_TURN)
    more = {
        "more_steps": F("more_steps") + args.steps,
        "more_tokens": F("more_tokens") + args.tokens,
    }
    if not rows.update(**more, extension=wants_more(turn)):
        raise CommandError("REJECTED", "This turn has ended.", hint="start another")


def ask_stop(turn: Turn) -> None:
    """Asks a turn to stop: what it has written is kept. Stops its running generations."""
    Turn.objects.filter(pk=turn.pk, status__in=OPEN_TURN).update(stop_asked=True)
    for generation in Generation.objects.filter(
        turn=turn, status__in=generation_lifecycle.OPEN_STATUSES
    ):
        generation_lifecycle.ask_stop(generation)
    stop_asked_by(turn)
    enqueue("agents.tasks.run_turn", [turn.uid], queue="continue")


def stop_asked_by(turn: Turn) -> None:
    """Stops the turns that a turn asked for: they use its budget."""
    for asked in Turn.objects.filter(asking=turn, status__in=OPEN_TURN):
        ask_stop(asked)


def end(
    writer: Writer,
    turn: Turn,
    status: str,
    *,
    finish: str = "",
    error: dict[str, Any] | None = None,
    node: Node | None = None,
) -> None:
    """Ends a turn and writes the event; everything until now counts as seen by its agent. `writer`
    must have locked the tree."""
    turn.status, turn.finish, turn.error, turn.node = status, finish, error, node
    turn.ended_at = turn.moved_at = timezone.now()
    turn.leased_until, turn.lease, turn.waits_for, turn.prepared = None, "", [], None
    text = "\n".join(
        [*(turn_round["prose"] for turn_round in turn.rounds), node.text if node else ""]
    )
    _keep_texts_once(turn)
    turn.save()
    seen = writer.append("turn.ended", {"turn": turn_body(turn)})
    asks.turn_ended(turn, node)
    if status != "done":
        stop_asked_by(turn)
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    position.set_checkpoint(workspace, seen, actor=turn.participant)
    hide_windows(workspace, text, actor=turn.participant)


def hide_windows(workspace: Workspace, text: str, *, actor: Participant) -> None:
    """Hides the windows that were visible for a turn that has ended, except those that its text
    (`text`) mentions. Needs a transaction in which the workspace is locked."""
    numbers = mentioned(text)
    rows = Window.objects.filter(workspace=workspace, is_closed=False)
    seen = list(rows.filter(is_visible=True, is_kept=False))
    if numbers:
        results = rows.filter(kind="result", is_visible=False, is_kept=False)
        seen += results.filter(number__in=numbers)[:MOST_VISIBLE]
    changed = []
    for window in seen:
        state = state_of(window).after_turn(is_mentioned=window.number in numbers)
        if state != state_of(window):
            window.is_visible, window.is_extended = state.is_visible, state.is_extended
            changed.append(window)
    if not changed:
        return
    Window.objects.bulk_update(changed, ["is_visible", "is_extended"])
    writer = streams.lock(workspace, actor=actor.uid)
    body = [shown_windows.window_brief(window) for window in changed]
    writer.append("window.changed", {"windows": body, "revision": workspace.revision})
    writer.flush()


KEPT_OF_ROUND = ("generation", "length", "dropped", "notes", "changed")


def _keep_texts_once(turn: Turn) -> None:
    """Removes from the rows of an ending turn the texts that its nodes and steps hold: its rounds
    keep their facts without their texts, and generations name the texts that became nodes."""
    texts = texts_made_by(turn)
    rounds = {turn_round["generation"]: turn_round for turn_round in turn.rounds}
    for generation in Generation.objects.filter(turn=turn, round__gt=0).exclude(text=""):
        kept = rounds.get(generation.uid, {})
        is_answer = turn.node is not None and generation.text.strip() == turn.node.text
        if kept and is_answer:
            kept["is_answer"] = True
            Generation.objects.filter(pk=generation.pk).update(text="")
        elif (text := _with_names(generation.text, texts)) != generation.text:
            if kept:
                kept["length"] -= len(generation.text) - len(text)
            Generation.objects.filter(pk=generation.pk).update(text=text)
    turn.rounds = [_ended_round(turn_round) for turn_round in turn.rounds]


def _ended_round(kept: dict[str, Any]) -> dict[str, Any]:
    replies = [
        {key: value for key, value in reply.items() if key != "reply"} for reply in kept["replies"]
    ]
    answers = {"is_answer": True} if kept.get("is_answer") else {}
    return {**{key: kept[key] for key in KEPT_OF_ROUND}, **answers, "replies": replies}


def _with_names(text: str, texts: Sequence[str]) -> str:
    for own_text in texts:
        text = text.replace(own_text, named(own_text))
    return text


# Storing a state renews the lease. A line that takes longer may be run by a second worker; only one
# step is ever stored for its place, so that only one of the two changes anything.
LEASE_S = 12


def take(uid: str, lease: str) -> Turn | None:
    """The turn, held under `lease`; None if it has ended or another worker holds it."""
    moment = timezone.now()
    with transaction.atomic():
        lock_rows(Turn, uid=uid)
        row = _OPEN.first(uid=uid)
        if row is None or (row.lease and row.leased_until and row.leased_until > moment):
            return None
        row.lease, row.leased_until = lease, moment + timedelta(seconds=LEASE_S)
        row.save(update_fields=["lease", "leased_until"])
    return row


def release(turn: Turn) -> None:
    """Gives the lease back."""
    Turn.objects.filter(pk=turn.pk, lease=turn.lease).update(lease="", leased_until=None)


def keep(turn: Turn, **changed: Any) -> bool:
    """Stores the state of a held turn and renews its lease. False if the lease was lost."""
    moment = timezone.now()
    held = Turn.objects.filter(pk=turn.pk, lease=turn.lease, status__in=OPEN_TURN)
    if not held.update(
        **changed, moved_at=moment, leased_until=moment + timedelta(seconds=LEASE_S)
    ):
        return False
    for name, value in changed.items():
        setattr(turn, name, value)
    return True


def begin_round(turn: Turn, *, request: dict[str, Any], tokens: int) -> Generation:
    """Queues the generation of the turn's round, stores the request that it will send, and sets
    the turn to generating. Raises CommandError LIMIT_EXCEEDED if the day's money is not enough to
    read `tokens`.
    """
    agent, payer = turn.participant, turn.invoked_by
    with transaction.atomic():
        writer = streams.lock(turn.tree, actor=agent.uid, origin=f"turn:{turn.uid}")
        day, (share,) = spending.reserve(payer, [CandidateRequest(agent, 1, None)], tokens)
        row = {
            "tree": turn.tree,
            "asked_by": payer,
            "batch": new_uid(),
            "point": turn.answers_below,
            "index": 1,
            "turn": turn,
            "round": turn.round,
        }
        (generation,) = queue(agent, payer, (day, share), [row])
        if not keep(turn, status="generating", generation=generation, prepared=request):
            raise LostError
        writer.append("generation.started", stored_events.started(generation))
        writer.flush()
    return generation


def replace_request(turn: Turn, request: dict[str, Any]) -> None:
    """Stores another request for the current round, because a text of the previous one may no
    longer be sent to models."""
    Turn.objects.filter(pk=turn.pk, status="generating").update(prepared=request)


def now() -> datetime:
    """The current time, for callers that may not read the clock."""
    return timezone.now()


_OPEN = PreparedQuery(
    lambda: turns().filter(uid=Given("uid"), status__in=OPEN_TURN, tree__erasing_at__isnull=True)
)


_AGAIN = PreparedQuery(lambda: turns().filter(pk=Given("pk")))  # else 2.7 ms for each state


def turn_again(pk: int) -> Turn:
    """The turn as its row is now. Raises DoesNotExist if it was deleted."""
    for turn in _AGAIN.all(pk=pk):
        return turn
    raise Turn.DoesNotExist


def _held(turn: Turn) -> Turn:
    """The turn as its row is now, locked."""
    lock_rows(Turn, pk=turn.pk)
    return turn_again(turn.pk)


class LostError(Exception):
    """Another worker holds the turn; what was started is rolled back."""


_STEP_AT = PreparedQuery(
    lambda: Step.objects.filter(turn_uid=Given("turn"), turn_place=Given("place")).order_by("pk")
)


def step_at(turn: Turn, place: str) -> Step | None:
    """The step of a line that already ran before a worker was lost; else None."""
    return _STEP_AT.first(turn=turn.uid, place=place)


Answering = Callable[[Turn], str]
_answering: list[Answering] = []


def reads_answer(answering: Answering) -> Answering:
    """Registers what reads the answer of a turn from the replies of its model."""
    _answering.append(answering)
    return answering


def answer_of(turn: Turn) -> str:
    """The answer of a turn, as far as it is written; "" for none."""
    return next((text for answering in _answering if (text := answering(turn))), "")


def finish(turn: Turn, *, text: str) -> None:
    """Ends a turn that is finishing: its text becomes a node below the node that it answers, or a
    note at the point of an aside; no text, no node."""
    with transaction.atomic():
        writer = streams.lock(turn.tree, actor=turn.participant.uid, origin=f"turn:{turn.uid}")
        row = _held(turn)
        if row.status != "finishing":
            return
        node = _answer(writer, row, text) if text else None
        _lead_inviter(row, node)
        end(writer, row, _status(row), finish=row.finish, error=row.error, node=node)
        writer.flush()


def _lead_inviter(turn: Turn, node: Node | None) -> None:
    """Moves whoever asked to what the turn wrote by command, else to its answer, if they still
    wait at the node that it answers: they find it there on every device."""
    landing = last_written(turn) or node
    if landing is None or turn.form == "aside":
        return
    waiting = Workspace.objects.filter(tree=turn.tree, participant=turn.invoked_by)
    row = waiting.filter(position__slot=turn.answers_below.slot_id).first()
    if row is not None:
        position.set_position(row, landing, actor=turn.participant)


def last_written(turn: Turn) -> Node | None:
    """The last text that a line of the turn wrote below the node that it answers."""
    lines = Step.objects.filter(turn_uid=turn.uid, outcome="ok", is_undone=False)
    lines = lines.filter(inverse__isnull=False).order_by("-id")
    for inverse in lines.values_list("inverse", flat=True)[:MOST_WRITTEN]:
        keys = [op["node"] for op in inverse or [] if op["op"] == "made"]
        rows = Node.objects.filter(pk__in=keys, kind="text", slot=F("pk"), pruned=False)
        for row in rows.order_by("-id"):
            if lookup.is_at_or_above(turn.answers_below.slot, row):
                return row
    return None


def _answer(writer: streams.Writer, turn: Turn, text: str) -> Node:
    is_aside = turn.form == "aside"
    below = turn.input_node if is_aside and turn.input_node else turn.answers_below
    call = _last_call(turn)
    new = NewNode(
        text,
        kind="annotation" if is_aside else "text",
        form="note" if is_aside else "",
        parent=lookup.rows().get(pk=below.pk),
        call_uid=call.call.uid if call and call.call else "",
        configuration=call.call.configuration if call and call.call else "",
        generation_uid=call.uid if call else "",
        finish=turn.finish or "complete",
    )
    return node_writer.add_node(writer, turn.tree, turn.participant, new)


def _last_call(turn: Turn) -> Generation | None:
    """The last round that produced text: the node names its call."""
    generations = Generation.objects.filter(turn=turn, round__gt=0, call__isnull=False)
    generations = generations.exclude(text="")
    return generations.select_related("call").order_by("-round", "-id").first()


class NotStoredError(Exception):
    """The end of a turn could not be stored. It is tried again once its lease is over, until it is
    put aside."""


def finish_or_put_aside(turn: Turn) -> None:
    """Ends a turn that is finishing, with its answer. An end that fails again and again is put
    aside with its reason, and the replies of the model keep its text. Raises NotStoredError for
    one that was not stored."""
    known, grove = put_aside.find(ASIDE, turn.uid), turn.tree.grove
    if known is not None or turn.finish == TIMED_OUT or is_stalled(turn):
        # Counted before it begins: an earlier try may have ended its process.
        is_stored = put_aside.attempt(
            ASIDE,
            turn.uid,
            lambda: finish(turn, text=answer_of(turn)),
            version=turn.round,
            grove=grove,
        )
        if not is_stored:
            raise NotStoredError
        return
    try:
        finish(turn, text=answer_of(turn))
    except NOT_REACHED:
        raise
    except Exception as error:
        log.warning("could not store the end of the turn %s", turn.uid, exc_info=True)
        put_aside.failed(ASIDE, turn.uid, error, version=turn.round, grove=grove)
        raise NotStoredError from error


@put_aside.when_dropped(ASIDE)
def give_up(uid: str) -> None:
    """Ends a turn whose end could not be stored, as failed and without an answer. The replies of
    its model keep the text."""
    turn = turns().filter(uid=uid, status="finishing").first()
    if turn is None:
        return
    message = "It could not be stored, and an operator gave it up."
    error = CommandError("UNAVAILABLE", message, hint="Try again.").body
    with transaction.atomic():
        writer = streams.lock(turn.tree, actor=turn.participant.uid, origin=f"turn:{turn.uid}")
        row = _held(turn)
        if row.status == "finishing":
            finish_kept = row.finish or generation_lifecycle.LOST
            end(writer, row, "failed", finish=finish_kept, error=error)
            writer.flush()


def _status(turn: Turn) -> str:
    if not turn.finish:
        return "done"
    if turn.finish == generation_lifecycle.STOPPED:
        return "stopped"
    if turn.finish == "interrupted:loop":
        return "halted"
    return "failed" if turn.error else "interrupted"


def waiting() -> Iterator[str]:
    """The running turns that no worker holds, or whose worker is gone, but for those that are put
    aside; for the sweeper. One without progress is asked to store what it has."""
    going = Q(status__in=OPEN_TURN, ended_at=None, tree__erasing_at=None)  # found by an index
    aside = put_aside.among(ASIDE, version="round")
    for turn in turns().filter(going).exclude(aside).order_by():
        if turn.status != "finishing" and is_stalled(turn):
            time_out(turn)
        is_held = turn.lease and turn.leased_until and turn.leased_until > timezone.now()
        if not is_held and (turn.stop_asked or not is_waiting(turn)):
            yield turn.uid


def is_stopping(turn: Turn) -> bool:
    """Whether somebody has asked the turn to stop."""
    return Turn.objects.filter(pk=turn.pk, stop_asked=True).exists()


# Values of `waits_for`: the answers of the last lines come later; so does that of the last line,
# which runs alone, and may wait for a person.
SEARCHES, CALLS = "searches", "calls"


def is_waiting(turn: Turn) -> bool:
    """Whether the turn waits for a model, for an answer that comes later, or, while it has time,
    for somebody's."""
    waits_later = SEARCHES in turn.waits_for or CALLS in turn.waits_for
    answers = waits_later and later.is_open_in(turn.uid)
    return answers or generation_lifecycle.is_generating(turn) or waits_for_answer(turn)


def waits_for_answer(turn: Turn) -> bool:
    """Whether the turn waits for the answer to a question, and its time is not over."""
    if turn.stop_asked or not asks.open_among(turn.waits_for):
        return False
    now = timezone.now()
    return not budgets.is_late(budget_of(turn), spent_of(turn, now))
