"""The lines of a round: each is guarded, run as the agent and its inviter may, and told."""

from typing import Any

from django.db import IntegrityError

from agents.guard import Verdict, guard
from agents.language import makes_window
from agents.reply import Reply
from loom import access
from loom.commands import growth, landing, registry, turning, viewing
from loom.commands.continuing import outcome_of
from loom.commands.execute import Request, execute
from loom.grammar.batches import Command
from loom.grammar.writing import without_name
from loom.models import Generation, Step, Turn
from loom.queries import lookup
from loom.rules.refusals import Refused


def next_line(turn: Turn, said: Reply) -> bool:
    """Runs the next line of the round, or hears what a line was waiting for; stores it.
    False while it waits."""
    replies = list(turn.replies)
    if turn.waits_for:
        if Generation.objects.filter(uid__in=turn.waits_for, status__in=landing.OPEN).exists():
            return False
        replies[-1] = {**replies[-1], "reply": _ended(turn.waits_for)}
        return turning.keep(turn, replies=replies, waits_for=[])
    told, waits_for = _said(turn, said.commands[len(replies)], len(replies) + 1)
    return turning.keep(turn, replies=[*replies, told], waits_for=waits_for)


def _ended(uids: list[str]) -> str:
    return outcome_of(uids)[1].text


def _said(turn: Turn, said: Command, number: int) -> tuple[dict[str, Any], list[str]]:
    """What is told of a line, and the generations it waits for. A line that ran before a
    worker was lost is told from its step, and not run again."""
    place = f"{turn.round}.{number}"
    step = turning.step_at(turn, place)
    warning = ""
    if step is None:
        warning = _run(turn, said, place)
        step = turning.step_at(turn, place)
    if step is None:
        raise turning.LostError
    waits_for = _started(step)
    return _told(said, step, warning), waits_for


def _run(turn: Turn, said: Command, place: str) -> str:
    """Runs a line; its warning. Afterwards its step is there, whatever came of it.

    Raises Refused where who asked for the turn is no member any more: nobody is left to act
    for, and no step is written.
    """
    actor = access.acting_in(turn)
    workspace = growth.workspace_of(turn.participant, turn.tree)
    request = Request(said.text.strip(), turn=turn.uid, place=place)
    verdict = Verdict()
    try:
        if said.bad is None:
            verdict = guard(turn, actor, workspace, said)
        if verdict.goes_back_to:
            _go_back(turn, verdict.goes_back_to)
        execute(actor, turn.tree, request, workspace, refusal=_refusal(said, verdict))
    except Refused:
        pass  # its step says so
    except IntegrityError:
        if turning.step_at(turn, place) is None:
            raise
    return verdict.warning


def _refusal(said: Command, verdict: Verdict) -> Refused | None:
    if said.bad is not None:
        return Refused(said.bad.code, said.bad.message, hint=said.bad.hint)
    return verdict.refused


def _go_back(turn: Turn, local_id: str) -> None:
    node = lookup.find_node(turn.tree, local_id)
    if node is not None:
        workspace = growth.workspace_of(turn.participant, turn.tree)
        viewing.stand_now(workspace, node, actor=turn.participant)


def _started(step: Step) -> list[str]:
    """The generations that a line started."""
    ops = step.inverse or []
    return [uid for op in ops if op.get("op") == "generations" for uid in op["uids"]]


def _told(said: Command, step: Step, warning: str) -> dict[str, Any]:
    """What the row keeps of a line: `asks` for another round, `halts` the turn."""
    is_ok = step.outcome == "ok"
    reply = step.message if is_ok else refusal_text(step)
    is_look = said.line is not None and makes_window(said.line)
    klass = registry.find(said.line.verb, said.line.form).klass if said.line else ""
    if klass == "silent" and is_ok:
        reply = ""
    if warning:
        reply = f"{reply}\n{warning}" if reply else warning
    return {
        "line": without_name(step.canonical or step.line).partition("\n")[0],
        "reply": reply,
        "number": step.seq if is_look and is_ok else 0,
        "asks": not is_ok or klass.startswith("look"),
        "changed": is_ok and bool(step.events) and klass != "silent",
        "halts": step.outcome == "LOOP" and step.hint.startswith("the turn was halted"),
    }


def refusal_text(step: Step) -> str:
    """The `✗` text of a step that was refused."""
    head = f"✗ {step.outcome}: {step.message}"
    return f"{head}\n  hint: {step.hint}" if step.hint else head
