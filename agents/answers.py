"""Brings the answers to questions back to the agents that asked: as windows of their workspaces,
and to a turn that waits as the reply to its line (docs/model.md §5.3)."""

from contextlib import suppress

from loom.access import Actor
from loom.engine.by_name import run_command
from loom.engine.context import Request
from loom.engine.jobs import enqueue
from loom.errors import CommandError, require
from loom.language.refs import quote
from loom.people.names import as_sent
from loom.trees.commands import node_writer
from loom.trees.models import Node
from loom.turns import access as turn_access
from loom.turns import turn_lifecycle
from loom.turns.asks import WAITS
from loom.turns.models import OPEN_TURN, Ask, Turn


def bring_answer(uid: str) -> None:
    """Opens the answer to a question in the workspace of the agent that asked, or resumes the turn
    that waits for it. Safe to repeat."""
    rows = Ask.objects.select_related("asker", "tree__grove", "answer", "asking")
    ask = rows.filter(uid=uid, ended_at__isnull=False, tree__erasing_at__isnull=True).first()
    if ask is None or ask.asking is None:
        return
    if f"{WAITS}{uid}" in ask.asking.waits_for:
        enqueue("agents.tasks.run_turn", [ask.asking.uid], queue="continue")
    elif ask.answer is not None:
        with suppress(CommandError):  # NOTIFICATIONS names it in any case
            _open(ask, ask.answer)


def brought(turn: Turn) -> str:
    """The reply to the line that has waited: the answer, which is opened, or that there is none."""
    uids = [name.removeprefix(WAITS) for name in turn.waits_for]
    rows = Ask.objects.select_related("asker", "asked", "answer", "node", "tree__grove", "asking")
    ask = rows.filter(uid__in=uids).first()
    if ask is None:
        return "! the question is gone"
    who = named(ask)
    if ask.answer is None:
        why = "ended its turn without an answer" if ask.ended_at else "has not answered in time"
        return f"! {who} {why} to [{ask.node.local_id}]"
    answered = f"✓ {who} answered [{ask.node.local_id}] in [{ask.answer.local_id}]"
    try:
        return f"{answered}\n  {_open(ask, ask.answer).removeprefix('✓ ')}"
    except CommandError as refused:
        return f"{answered}, which could not be opened: {refused.message}"


def named(ask: Ask) -> str:
    """`agent:"Marie"`, or the name of a person."""
    name = as_sent(ask.asked.name)
    return f"agent:{quote(ask.asked.name)}" if ask.asked.kind == "model" else name


def _open(ask: Ask, answer: Node) -> str:
    """Opens a window on the answer, once; returns the reply of that line."""
    turn = ask.asking if ask.asking is not None and ask.asking.status in OPEN_TURN else None
    workspace = node_writer.workspace_of(ask.asker, ask.tree)
    request = Request("")
    if turn is not None:
        place = f"{turn.round}.ask{ask.pk}"
        if (step := turn_lifecycle.step_at(turn, place)) is not None:
            return step.message
        request = Request("", turn=turn.uid, place=place)
    ref = {"ref": answer.local_id}
    return run_command(
        _acting(ask), ask.tree, "open", ref, workspace=workspace, request=request
    ).reply


def _acting(ask: Ask) -> Actor:
    """The asker, with the permissions of this moment. CommandError if the person it acts for is no
    longer a member."""
    return turn_access.acting_in(require(ask.asking, "the turn that asked"))
