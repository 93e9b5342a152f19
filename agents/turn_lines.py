"""The lines of a round: each is guarded, run as the agent and its inviter may, and answered."""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from django.db import IntegrityError

from agents.agent_prompt import makes_window
from agents.context.rounds import Reply
from loom import access
from loom.access import Actor
from loom.commands import (
    generation_lifecycle,
    node_writer,
    registry,
    step_records,
    turn_lifecycle,
    web_search,
)
from loom.commands.continuing import outcome_of
from loom.commands.execute import Request, execute_line
from loom.events import streams
from loom.grammar.batches import Command
from loom.grammar.lines import read, shortened, without_name
from loom.grammar.tokens import ParseError
from loom.models import Event, Generation, Node, Step, Turn, Workspace
from loom.queries import lookup
from loom.queries.node_bodies import message_of
from loom.queries.windows import settings_of
from loom.queries.workspaces import budget_of, spent_of
from loom.rules import budgets
from loom.rules.budgets import Past, Said
from loom.rules.errors import CommandError
from loom.rules.windows import refs_named

MOST_EVENTS = 1_000
OURS = ("generation.", "turn.", "call.")  # events of the turn itself, which change no text


HALTED = CommandError(
    "LOOP",
    "This turn was halted because it repeated itself.",
    hint="write your answer now, without further lines",
)


@dataclass(frozen=True)
class Verdict:
    """Whether a line may run: why not, what to warn of, where the agent goes back to, and what
    it repeats."""

    refused: CommandError | None = None
    warning: str = ""
    goes_back_to: str = ""
    loop: str = ""


def guard(turn: Turn, actor: Actor, workspace: Workspace, said: Command) -> Verdict:
    """What is to be done with a line that was read."""
    assert said.line is not None
    if turn.finish and not budgets.may_still_run(said.line.verb):
        return Verdict(HALTED)
    spent = spent_of(turn, turn_lifecycle.now())
    over = budgets.refusal(budget_of(turn), spent, said.line.verb)
    if over is not None:
        return Verdict(over)
    if budgets.may_still_run(said.line.verb):
        return Verdict()
    return _looped(turn, workspace, said.line.canonical)


def _looped(turn: Turn, workspace: Workspace, canonical: str) -> Verdict:
    steps = list(workspace.steps.order_by("-seq")[: budgets.HISTORY])[::-1]
    if not steps:
        return Verdict()
    others = _others(turn, steps[0].at)
    past = [_past(one, others) for one in steps]
    now = Past(
        steps[-1].seq + 1,
        shortened(canonical),
        workspace.position.local_id,
        _version(others, turn_lifecycle.now()),
    )
    found = budgets.look(past, now)
    if found.deed in ("refuse", "halt"):
        found = replace(found, result=_result(steps, found.earlier))
        return Verdict(found.refusal, goes_back_to=found.position, loop=found.status)
    loop = found.status if found.deed == "warn" else ""
    return Verdict(warning=found.warning, loop=loop)


def _result(steps: Sequence[Step], seq: int) -> str:
    """The number under which the answer of a step was sent, such as `#14`; "" where it was sent
    by itself."""
    step = next((one for one in steps if one.seq == seq and one.outcome == "ok"), None)
    if step is None or not step.canonical:
        return ""
    try:
        said = read(step.canonical, registry.forms(), registry.aliases())
    except ParseError:  # its text is in the node that it made, and it opened no window
        return ""
    return f"#{seq}" if makes_window(said) else ""


def _past(step: Step, others: Sequence[datetime]) -> Past:
    changed = (
        step.outcome == "ok" and bool(step.events) and not step.canonical.startswith("→ think")
    )
    return Past(
        step.seq,
        shortened(step.canonical or step.line),
        step.position,
        _version(others, step.at),
        changed,
    )


def _others(turn: Turn, since: datetime) -> list[datetime]:
    """When others changed the tree or a document: in a changing world to look twice is no loop.
    Looks at the newest MOST_EVENTS of each at most, by their seq: instants have no index."""
    of_tree = _changes(f"tree:{turn.tree.uid}", turn, since)
    of_grove = _changes(f"grove:{turn.tree.grove.uid}", turn, since)
    kept = [at for at, kind in of_tree if not kind.startswith(OURS)]
    return sorted([*kept, *(at for at, kind in of_grove if kind.startswith("document."))])


def _changes(name: str, turn: Turn, since: datetime) -> list[tuple[datetime, str]]:
    """(when, kind) of the events of a stream by others than the agent of the turn."""
    rows = Event.objects.filter(stream=streams.stream_id(name)).order_by("-seq")
    newest = rows.values_list("at", "kind", "actor")[:MOST_EVENTS].iterator(chunk_size=50)
    recent = takewhile(lambda row: row[0] >= since, newest)
    return [(at, kind) for at, kind, actor in recent if actor != turn.participant.uid]


def _version(others: Sequence[datetime], at: datetime) -> tuple[tuple[str, str], ...]:
    return (("tree", str(bisect_right(others, at))),)


def open_named(turn: Turn) -> None:
    """Opens what the request of a turn names, where the setting `auto_open` says so, as far as the
    agent may see it and there is room. Does nothing where it was done before."""
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    if turn.input_node is None or not settings_of(workspace)["auto_open"]:
        return
    actor = access.acting_in(turn)
    for number, ref in enumerate(refs_named(turn.input_node.text), 1):
        place, line = f"0.{number}", f"→ open {ref}"
        if turn_lifecycle.step_at(turn, place) is not None:
            continue
        with suppress(CommandError):
            execute_line(actor, turn.tree, Request(line, dry_run=True), workspace)
            execute_line(actor, turn.tree, Request(line, turn=turn.uid, place=place), workspace)


def next_line(turn: Turn, said: Reply, left: int) -> bool:
    """Runs the next of the lines that are `left` of the round, or takes what a line was waiting
    for; stores it. False while it waits. Searches of the web that follow each other run at once."""
    replies = list(turn.replies)
    if turn.waits_for == [turn_lifecycle.SEARCHES]:
        if not (left > 0 and _searches(said.commands[len(replies)])):
            return _take_searches(turn, said)
    elif turn.waits_for:
        if Generation.objects.filter(
            uid__in=turn.waits_for, status__in=generation_lifecycle.OPEN_STATUSES
        ).exists():
            return False
        replies[-1] = {**replies[-1], "reply": _ended(turn.waits_for)}
        return turn_lifecycle.keep(turn, replies=replies, waits_for=[])
    record, waits_for = _said(turn, said, len(replies) + 1)
    return turn_lifecycle.keep(turn, replies=[*replies, record], waits_for=waits_for)


def _searches(said: Command) -> bool:
    return said.line is not None and said.line.verb == "search"


def _take_searches(turn: Turn, said: Reply) -> bool:
    """Takes the answers of the searches that the last lines ran. False while one is open."""
    if web_search.open_in(turn.uid):
        return False
    replies = list(turn.replies)
    for number, (command, record) in enumerate(zip(said.commands, replies, strict=False), 1):
        step = turn_lifecycle.step_at(turn, f"{turn.round}.{number}")
        if step is not None and (warning := record.pop("warning", None)) is not None:
            replies[number - 1] = _record(command, step, warning)
    return turn_lifecycle.keep(turn, replies=replies, waits_for=[])


def _ended(uids: list[str]) -> str:
    return outcome_of(uids)[1].text


def _said(turn: Turn, reply: Reply, number: int) -> tuple[dict[str, Any], list[str]]:
    """The reply to a line, and the generations it waits for. The reply to a line that ran
    before a worker was lost is taken from its step; it is not run again."""
    said = reply.commands[number - 1]
    place = f"{turn.round}.{number}"
    step = turn_lifecycle.step_at(turn, place)
    warning = ""
    if step is None:
        warning = _run(turn, said, place, _semantic(turn, reply))
        step = turn_lifecycle.step_at(turn, place)
    if step is None:
        raise turn_lifecycle.LostError
    warning = warning or said.note
    record = _record(said, step, warning)
    if _searches(said) and step.outcome == "ok":
        return {**record, "warning": warning}, [turn_lifecycle.SEARCHES]
    return record, _started(step)


def _semantic(turn: Turn, reply: Reply) -> str:
    """`semantic` where the prose of a round is that of earlier ones, else ""."""
    rounds = [Said(one["prose"], one["changed"]) for one in turn.rounds]
    return budgets.semantic([*rounds, Said(reply.prose)]).status.removeprefix("ok")


def _run(turn: Turn, said: Command, place: str, loop: str) -> str:
    """Runs a line, which may be part of a `loop`; its warning. Afterwards its step is there,
    whatever came of it.

    Raises CommandError where the person who asked for the turn is not a member any more:
    there is nobody to act for, and no step is written.
    """
    actor = access.acting_in(turn)
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    verdict = Verdict()
    try:
        if said.bad is None:
            verdict = guard(turn, actor, workspace, said)
        if verdict.goes_back_to:
            _go_back(turn, verdict.goes_back_to)
        loop = verdict.loop or loop
        request = Request(said.text.strip(), turn=turn.uid, place=place, loop=loop)
        execute_line(actor, turn.tree, request, workspace, refusal=_refusal(said, verdict))
    except CommandError:
        pass  # its step says so
    except IntegrityError:
        if turn_lifecycle.step_at(turn, place) is None:
            raise
    return verdict.warning


def _refusal(said: Command, verdict: Verdict) -> CommandError | None:
    if said.bad is not None:
        return CommandError(said.bad.code, said.bad.message, hint=said.bad.hint)
    return verdict.refused


def _go_back(turn: Turn, local_id: str) -> None:
    node = lookup.find_node(turn.tree, local_id)
    if node is not None:
        workspace = node_writer.workspace_of(turn.participant, turn.tree)
        step_records.set_position_now(workspace, node, actor=turn.participant)


def _started(step: Step) -> list[str]:
    """The generations that a line started."""
    ops = step.inverse or []
    return [uid for op in ops if op.get("op") == "generations" for uid in op["uids"]]


def _record(said: Command, step: Step, warning: str) -> dict[str, Any]:
    """What the row keeps of a line: `asks` for another round, `halts` the turn."""
    is_ok = step.outcome == "ok"
    reply = message_of(step) if is_ok else refusal_text(step, _where(said, step))
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
        "near": said.near,
        "asks": not is_ok or klass.startswith("look"),
        "changed": is_ok and bool(step.events) and klass != "silent",
        "made": _made(step) if is_ok else "",
        "halts": step.outcome == "LOOP" and step.hint.startswith("the turn was halted"),
    }


def _made(step: Step) -> str:
    """The local id of the first node that a line made; "" where it made none."""
    keys = [op["node"] for op in step.inverse or [] if op.get("op") == "made"]
    if not keys:
        return ""
    return Node.objects.values_list("local_id", flat=True).get(pk=keys[-1])


QUOTED = 80  # characters of a refused line


def _where(said: Command, step: Step) -> str:
    """`line 2: "tag zz99 #seen": `, of a line that was read; what could not be read says so."""
    if said.bad is not None:
        return ""
    line = without_name(step.canonical or step.line).removeprefix("→").strip().partition("\n")[0]
    quoted = line if len(line) <= QUOTED else f"{line[:QUOTED]}…"
    return f'line {step.turn_place.partition(".")[2]}: "{quoted}": '


def refusal_text(step: Step, where: str = "") -> str:
    """The `✗` text of a step that was refused, with the line that it was."""
    head = f"✗ {step.outcome}: {where}{step.message}"
    return f"{head}\n  hint: {step.hint}" if step.hint else head
