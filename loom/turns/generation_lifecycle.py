"""The life of a generation's row: queued, taken, growing, sealed, ended."""

import gzip
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine import busy, put_aside, streams, views
from loom.engine.jobs import enqueue
from loom.errors import CommandError, require
from loom.language import ids
from loom.money import spending
from loom.permissions import LOOM
from loom.platform.inserts import insert_row, update_row
from loom.platform.prepared_queries import Given, PreparedQuery, lock_rows
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.turns import access as turn_access
from loom.turns import stored_events
from loom.turns.call_spans import add_call
from loom.turns.lanes import READ
from loom.turns.models import OPEN_TURN, SUMMARY, Call, Generation, Turn
from loom.turns.queries import nodes_of_call
from loom.workspace.provider_results import ProviderUse, keep_uses

OPEN_STATUSES = ("queued", "running")


_NAMED = PreparedQuery(lambda: Generation.objects.select_related("tree").filter(uid=Given("uid")))
_ENDING = PreparedQuery(
    lambda: Generation.objects.select_related(
        "tree__grove", "participant", "payer__grove", "point__author", "call", "node", "turn"
    ).filter(pk=Given("pk"))
)


_WRITING = PreparedQuery(
    lambda: Generation.objects.filter(turn=Given("turn"), status__in=OPEN_STATUSES).values_list(
        "pk"
    )[:1]
)


def is_generating(turn: Turn) -> bool:
    """Whether a turn waits for a model: for its own round, or for a line's generations."""
    return _WRITING.first(turn=turn.pk) is not None


LOST = "interrupted:worker lost"
STOPPED = "interrupted:stopped"
# The finish of a round that its provider paused while tools of its own ran: the next one goes on.
PAUSED = "paused"
CUT_OFF = "length"  # the finish of an answer that reached its maximum: kept, a node like others


@dataclass(frozen=True)
class Received:
    """The response of a provider: the body bytes (transfer coding removed), status, headers and
    usage as received, when the request was sent and when the first text arrived. `exact`: these
    are the provider's own bytes."""

    body: bytes
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    exact: bool = True
    started_at: datetime | None = None
    first_at: datetime | None = None


def take(generation_uid: str, *, lease: str, seconds: int) -> Generation | None:
    """The generation, now running under `lease` for `seconds`; None if it has ended, another
    worker holds it, or its tree is being erased."""
    now = timezone.now()
    named = Generation.objects.filter(uid=generation_uid, tree__erasing_at__isnull=True)
    with transaction.atomic():
        lock_rows(Generation, uid=generation_uid)
        row = named.select_related(*READ).filter(status__in=OPEN_STATUSES).first()
        if row is None or not _is_free(row, now):
            return None
        row.status, row.lease, row.tries = "running", lease, row.tries + 1
        row.leased_until = now + timedelta(seconds=seconds)
        named.update(status="running", lease=lease, tries=row.tries, leased_until=row.leased_until)
    return row


def _is_free(row: Generation, now: datetime) -> bool:
    return row.status == "queued" or (row.leased_until is not None and row.leased_until < now)


def begin_calls(beginnings: Sequence[tuple[Call, Sequence[Generation]]]) -> None:
    """Stores calls while their requests are sent, and links their generations to them, all in one
    transaction."""
    with busy.not_yet_on_disk():
        for call, generations in beginnings:
            insert_row(call)
            for generation in generations:
                generation.call, generation.note = call, call.note[:200]
                update_row(generation, "call", "note")


@dataclass(frozen=True)
class Grown:
    """A running generation with its lease, and its text so far."""

    uid: str
    lease: str
    text: str
    chunk: int


_GROWS = "UPDATE turns_generation SET text = %s, chunk = %s, leased_until = %s WHERE id = %s"


def progress(grown: Sequence[Grown], *, seconds: int) -> list[str]:
    """Stores texts so far and extends their leases, in one transaction. Returns for each "go",
    "stop" if somebody asked to stop, or "lost" if another worker has the lease. Waits for no row
    that is being changed: it is not written, and its answer is "go"."""
    until = connection.ops.adapt_datetimefield_value(timezone.now() + timedelta(seconds=seconds))
    with transaction.atomic():
        rows = Generation.objects.filter(uid__in=[text.uid for text in grown]).order_by("pk")
        free = rows.select_for_update(skip_locked=True, no_key=True)
        found = {
            row[0]: row for row in free.values_list("uid", "pk", "lease", "status", "stop_asked")
        }
        answers, changes = [], []
        for text in grown:
            _, pk, lease, status, stop_asked = found.get(text.uid, ("", 0, text.lease, "", False))
            if pk and (lease, status) == (text.lease, "running"):
                changes.append((text.text, text.chunk, until, pk))
                answers.append("stop" if stop_asked else "go")
            else:
                answers.append("lost" if pk else "")
        with connection.cursor() as cursor:
            cursor.executemany(_GROWS, changes)
        if "" in answers:
            there = set(rows.values_list("uid", flat=True))
            answers = [
                answer or ("go" if text.uid in there else "lost")
                for text, answer in zip(grown, answers, strict=True)
            ]
    return answers


def put_back(generation_uid: str, *, lease: str) -> None:
    """Gives up a lease and the text that came under it: another worker begins again at once."""
    rows = Generation.objects.filter(uid=generation_uid, lease=lease, status="running")
    rows.update(text="", chunk=0, leased_until=timezone.now())


def set_note(generation_uid: str, *, lease: str, note: str) -> None:
    """Stores why no text has arrived yet, shown beside the generation; the next call replaces
    it."""
    rows = Generation.objects.filter(uid=generation_uid, lease=lease, status="running")
    rows.update(note=note[:200])


# An answer that comes beside the queue, such as to another program. It has no lane and no lease, so
# that no worker takes it; what it costs is counted where it is asked for.


def begin_beside(call: Call, point: Node) -> Generation:
    """Stores that an answer comes below `point`, so that it is shown while it does. Nobody of the
    grove has asked for it here: it is not among what a person asks again, or stops by taking
    another one. Its caller ends it with `end_beside`. Needs a transaction."""
    writer = streams.lock(call.tree, actor=call.participant.uid)
    row = Generation.objects.create(
        tree=call.tree,
        call=call,
        participant=call.participant,
        asked_by=call.participant,
        batch=call.uid,
        point=point,
        index=1,
        status="running",
        tries=1,
    )
    writer.append("generation.started", stored_events.started(row))
    writer.flush()
    return row


def progress_beside(call: Call, text: str, chunk: int) -> bool:
    """Stores the text so far; returns whether somebody asked to stop."""
    rows = Generation.objects.filter(call=call, ended_at__isnull=True)
    rows.update(text=text, chunk=chunk)
    return rows.filter(stop_asked=True).exists()


def end_beside(writer: streams.Writer, call: Call, node: Node | None, *, finish: str) -> None:
    """Ends the answer of `begin_beside`, as the node that its text has become, under the lock of
    its tree. Ending it again changes nothing."""
    row = Generation.objects.select_related("turn").filter(call=call, ended_at__isnull=True).first()
    if row is None:
        return
    _end(row, node, text="", chunk=row.chunk, finish=finish)
    writer.append("generation.ended", stored_events.ended(row))


_SEALED = (
    *("response", "sha256", "bytes", "status", "headers", "usage"),
    *("started_at", "first_at", "sealed_at"),
)


def seal(call: Call, received: Received, nodes: list[Node] | None = None) -> None:
    """Stores the answer's bytes with their SHA-256, and writes `call.sealed` with its nodes."""
    with transaction.atomic():
        writer = streams.lock(call.tree, actor=call.participant.uid)
        lock_rows(Call, pk=call.pk)
        row = Call.objects.defer("request").get(pk=call.pk)
        row.tree, row.participant = call.tree, call.participant
        if row.sealed_at is not None:
            return
        row.response = gzip.compress(received.body, mtime=0)
        row.sha256 = hashlib.sha256(received.body).hexdigest()
        row.bytes = "exact" if received.exact else "reassembled"
        row.status, row.headers, row.usage = received.status, received.headers, received.usage
        # The row is written while the request runs, and may be stored after the first text arrived.
        row.started_at = received.started_at or row.started_at
        row.first_at, row.sealed_at = received.first_at, timezone.now()
        update_row(row, *_SEALED)  # not the request, which would be packed again
        spending.share_out(row, received.usage)
        written = nodes or nodes_of_call(row)
        names = [node.local_id for node in written]
        writer.append("call.sealed", stored_events.sealed(call, names))
        writer.flush()
        transaction.on_commit(partial(add_call, row))


def end_generation(
    generation_uid: str,
    *,
    lease: str,
    text: str,
    chunk: int,
    finish: str,
    error: dict[str, Any] | None = None,
    usage: dict[str, Any] | None = None,
    wrote: int = 0,
    note: str = "",
    uses: Sequence[ProviderUse] = (),
) -> Node | None:
    """Ends a generation: its text becomes a node below its point (no text: no node). `finish` is
    "complete", "length" or "interrupted:reason". One transaction; a second call, or one whose lease
    was lost, changes nothing and returns the existing node. `wrote`: the tokens that arrived, for a
    provider that counts none; `note`: how its text differs from the answer; `uses`: what the
    provider did with tools of its own, which become results of the agent if it is a round.
    """
    with transaction.atomic():
        generation = _NAMED.first(uid=generation_uid)
        if generation is None or generation.tree.erasing_at is not None:
            return None
        writer = streams.lock(generation.tree, actor=generation.participant.uid)
        # A worker may be taking it at this moment: `begin` locks the lane, not the tree.
        lock_rows(Generation, pk=generation.pk)
        # Its tree is locked, so it is still there.
        row = require(_ENDING.first(pk=generation.pk), "the generation")
        if row.status not in OPEN_STATUSES or (row.lease and row.lease != lease):
            return row.node
        is_candidate = not row.round  # the rounds of a turn make one node together, at its end
        is_whole = finish == "complete" or (finish == CUT_OFF and is_candidate)
        of_node = "complete" if is_whole else finish
        node = _node_of(writer, row, text, of_node) if text and is_candidate else None
        row.error, row.usage = error, usage or {}
        row.note = " · ".join(words for words in (row.note, note) if words)[:200]
        _keep_uses(row, uses)  # locks the workspace, which is locked before money
        spending.settle(row, text, wrote, is_whole=is_whole)
        _end(row, node, text=text, chunk=chunk, finish=finish)
        if row.round == SUMMARY:
            _count_for_turn(row)
            _summarised(writer, row)
        elif row.round in _ENDINGS:
            _ENDINGS[row.round](writer, row)
        else:
            writer.append("generation.ended", stored_events.ended(row))
        writer.flush()
        if row.turn is not None:  # the last one to end resumes the turn
            enqueue("agents.tasks.run_turn", [row.turn.uid], queue="continue")
        if row.wakes:
            for wake in _wakers:
                wake(row.wakes)
    return node


def _keep_uses(row: Generation, uses: Sequence[ProviderUse]) -> None:
    """Makes results of what the provider did in a round of a turn. Nothing if the turn has ended,
    the agent may no longer act, or has nobody to act for: the call has it all."""
    if row.turn is None or row.turn.status not in OPEN_TURN or row.round < 1 or not uses:
        return
    with suppress(CommandError):
        actor = turn_access.acting_in(row.turn)
        access.demand(actor, {LOOM}, "a result")
        workspace = node_writer.workspace_of(row.turn.participant, row.turn.tree)
        workspace = views.locked(views.stored(workspace))
        keep_uses(actor, workspace, uses, turn=row.turn.uid, round_=row.round)


@put_aside.when_dropped("generation")
def give_up(generation_uid: str) -> None:
    """Ends a generation that no sweep could end, as failed. It becomes no node, but its row keeps
    the text."""
    row = Generation.objects.filter(uid=generation_uid, ended_at__isnull=True).first()
    if row is None:
        return
    message = "It could not be stored, and an operator gave it up."
    error = CommandError("UNAVAILABLE", message, hint="Try again.").body
    end_generation(row.uid, lease=row.lease, text="", chunk=row.chunk, finish=LOST, error=error)
    Generation.objects.filter(pk=row.pk).update(text=row.text)


_wakers: list[Callable[[str], None]] = []


def when_ended(wake: Callable[[str], None]) -> Callable[[str], None]:
    """Registers what is called, within the transaction in which a generation ends, with the id
    that its `wakes` holds."""
    _wakers.append(wake)
    return wake


Ending = Callable[[streams.Writer, Generation], None]
_ENDINGS: dict[int, Ending] = {}
# (the question, the text that it is about), read now for the person who asked.
Asking = Callable[[Actor, Generation], tuple[str, str]]
_ASKINGS: dict[int, Asking] = {}
_INSTRUCTIONS: dict[int, str] = {}


def asks(round_: int, instructions: str) -> Callable[[Asking], Asking]:
    """Registers what a generation with this `round` asks about a text, in place of continuing
    one, and the instructions that say how it is answered."""

    def register(asking: Asking) -> Asking:
        _ASKINGS[round_], _INSTRUCTIONS[round_] = asking, instructions
        return asking

    return register


def instructions_of(round_: int) -> str | None:
    """How a generation with this `round` is to answer; None if it continues a text."""
    return _INSTRUCTIONS.get(round_)


def question_of(asker: Actor, row: Generation) -> tuple[str, str]:
    """(the question, the text) that a generation asks about. CommandError if one of them is gone,
    or left out of what models are sent."""
    return _ASKINGS[row.round](asker, row)


def ends_as(round_: int) -> Callable[[Ending], Ending]:
    """Registers what a generation with this `round` ends as, in place of a node: called with the
    locked stream of its tree and the ended row."""

    def register(ending: Ending) -> Ending:
        _ENDINGS[round_] = ending
        return ending

    return register


def _count_for_turn(row: Generation) -> None:
    """Adds what a summary used to the turn that needed it."""
    if row.for_turn:
        used = row.tokens_in + row.tokens_out
        Turn.objects.filter(uid=row.for_turn).update(summary_tokens=F("summary_tokens") + used)


MOST_OF_A_SUMMARY = 1_000  # characters


def _summarised(writer: streams.Writer, row: Generation) -> None:
    """Stores a complete summary: in its node, in the tree if the node is the root, or in the
    text of the grove that it is about."""
    text = " ".join(row.text.split())[:MOST_OF_A_SUMMARY]
    if row.status != "done" or not text:
        return
    call = row.call.uid if row.call else None
    if row.about is not None:
        uid = grove_texts().keep_summary(row.about, row.settings["revision"], text)
        writer.append("node.summarised", {"document": uid, "call": call})
        return
    if row.point.parent_slot_id is None:
        Tree.objects.filter(pk=row.tree_id).update(summary=text)
        writer.append("tree.changed", {"tree": row.tree.uid, "summary": text})
        return
    Node.objects.filter(pk=row.point_id).update(summary=text)
    writer.append("node.summarised", {"node": row.point.local_id, "call": call})


def _node_of(writer: streams.Writer, row: Generation, text: str, finish: str) -> Node:
    point = lookup.rows().get(pk=row.point_id)
    new = NewNode(
        text,
        parent=point,
        call_uid=row.call.uid if row.call else "",
        configuration=row.call.configuration if row.call else "",
        generation_uid=row.uid,
        finish=finish,
        place=ids.place_asked(row.after, row.pk),
    )
    node = node_writer.add_node(writer, row.tree, row.participant, new)
    Tree.objects.filter(pk=row.tree_id).update(touched_at=timezone.now())
    if row.discard:  # its `continue` was undone while it ran
        Node.objects.filter(pk=node.pk).update(pruned=True)
        node.pruned = True
        node_writer.set_size(writer, node)
        writer.append(
            "node.flagged",
            {"node": node.local_id, "slot": node.local_id, "flag": "pruned", "value": True},
        )
    return node


# What ending a generation changes of its row, money included (money.settle).
_ENDED = (
    *("node", "chunk", "text", "finish", "status", "ended_at", "leased_until"),
    *("error", "usage", "note", "tokens_in", "tokens_out", "tokens_cached", "reserved", "spent"),
)


def _end(
    row: Generation,
    node: Node | None,
    *,
    text: str,
    chunk: int,
    finish: str,
) -> None:
    row.node, row.chunk = node, chunk
    row.text = text if node is None else ""  # the node holds it
    row.finish = finish
    row.status = _status(finish, row.error)
    row.ended_at = timezone.now()
    row.leased_until = None
    update_row(row, *_ENDED)


def _status(finish: str, error: dict[str, Any] | None) -> str:
    if finish in ("complete", CUT_OFF, PAUSED):
        return "done"
    if finish == STOPPED:
        return "stopped"
    return "failed" if error else "interrupted"


def ask_stop(generation: Generation) -> None:
    """Asks a generation to stop; the text so far becomes a node. One that has not begun ends
    immediately, or once the transaction does: its event may not come between those of a stream
    that are being written."""
    Generation.objects.filter(pk=generation.pk, status__in=OPEN_STATUSES).update(stop_asked=True)
    generation.refresh_from_db()
    if generation.status == "queued":
        transaction.on_commit(partial(end_unbegun, generation.uid))


def end_unbegun(generation_uid: str) -> None:
    """Ends a generation that was asked to stop before it began."""
    end_generation(generation_uid, lease="", text="", chunk=0, finish=STOPPED)
