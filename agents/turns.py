"""Moves a turn from one stored state to the next until it waits or ends (docs/model.md §7): rounds
are started and their answers taken; each line is checked, run with the permissions that agent and
inviter share, and answered."""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from django.db import IntegrityError

from agents.agent_prompt import demand_turn
from agents.answers import brought
from agents.context.agent_request import asks_again
from agents.context.subject_request import PromptTooLong
from agents.context.values import RoundReply
from agents.generation_requests import prepared_round
from agents.prose import reply_of
from agents.providers.values import BrokenConnection
from agents.refusals import (
    ELSEWHERE,
    REPEATED,
    LineVerdict,
    refusal_text,
    result_of,
    too_long,
    where_of,
)
from loom.access import Actor
from loom.embedding.embedders import embedded
from loom.engine import later, registry, streams
from loom.engine.answers import message_of
from loom.engine.by_name import run_command
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.fields import new_uid
from loom.engine.models import Event, Step
from loom.errors import CommandError, require
from loom.language.batches import with_ids, with_made
from loom.language.lines import ParsedCommand, makes_window
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.shortening import shortened, without_name
from loom.text.tokens import count
from loom.trees.commands import node_writer
from loom.trees.models import Node, Workspace
from loom.trees.queries import lookup
from loom.turns import access as turn_access
from loom.turns import asks, budgets, generation_lifecycle, loops, turn_lifecycle
from loom.turns.commands.continuing import outcome_of
from loom.turns.generation_lifecycle import STOPPED
from loom.turns.loops import LoopVerdict, Past, RoundProse
from loom.turns.models import Generation, Turn
from loom.turns.queries import budget_of, made_by, spent_of, turns
from loom.workspace import position
from loom.workspace.provider_results import uses_in
from loom.workspace.queries import shown_windows
from loom.workspace.queries.windows import settings_of
from loom.workspace.window_rules import refs_named

# The finishes of a round whose lines run: it ended on its own, reached its maximum, or its
# provider paused.
RUNS = ("complete", generation_lifecycle.CUT_OFF, generation_lifecycle.PAUSED)


def run_turn(uid: str) -> None:
    """Moves a turn as far as possible now. Does nothing if it has ended or another worker holds
    it."""
    while True:
        turn = turn_lifecycle.take(uid, new_uid())
        if turn is None:
            return
        try:
            while _advance(turn):
                turn = _again(turn)
        except (turn_lifecycle.LostError, turn_lifecycle.NotStoredError):
            return  # the next try comes when the lease is over
        turn_lifecycle.release(turn)
        # Something may have ended while the turn was held: check once more.
        if turn_lifecycle.is_waiting(turn):
            # A stop that was requested before the round was stored found nothing to stop.
            if turn_lifecycle.is_stopping(turn):
                _stop_writing(turn)
            return
        if not _is_due(turn):
            return


def _again(turn: Turn) -> Turn:
    """The current row, under the same lease: somebody may have asked the turn to stop."""
    turn_row = turn_lifecycle.turn_again(turn.pk)
    if turn_row.lease != turn.lease:
        raise turn_lifecycle.LostError
    return turn_row


def _is_due(turn: Turn) -> bool:
    return turns().filter(pk=turn.pk, ended_at__isnull=True).exists()


def _advance(turn: Turn) -> bool:
    """Moves one state further; False if the turn waits or has ended."""
    if turn.stop_asked and turn.status != "finishing":
        return _stop(turn)
    match turn.status:
        case "queued" | "leased":
            with suppress(CommandError):  # missing permissions are refused with the first round
                open_named(turn)
            return turn_lifecycle.keep(turn, status="assembling", round=1)
        case "assembling":
            return _assemble(turn)
        case "generating":
            return _take_answer(turn)
        case "executing":
            return _execute(turn)
        case _:
            turn_lifecycle.finish_or_put_aside(turn)
            return False


def _stop(turn: Turn) -> bool:
    """Ends running generations first: their text is kept."""
    _stop_writing(turn)
    return not generation_lifecycle.is_generating(turn) and _finish(turn, STOPPED)


def _stop_writing(turn: Turn) -> None:
    for generation in Generation.objects.filter(
        turn=turn, status__in=generation_lifecycle.OPEN_STATUSES
    ):
        generation_lifecycle.ask_stop(generation)


def _finish(turn: Turn, finish: str = "", error: dict[str, Any] | None = None) -> bool:
    return turn_lifecycle.keep(turn, status="finishing", finish=finish[:80], error=error)


def _fail(turn: Turn, refused: CommandError) -> bool:
    return _finish(turn, f"interrupted:{refused.code.lower()}", refused.body)


def _assemble(turn: Turn) -> bool:
    try:
        actor = turn_access.acting_in(turn)
        demand_turn(actor)
        request = prepared_round(turn, actor)
        turn_lifecycle.begin_round(turn, request=request, tokens=request["tokens"])
    except CommandError as refused:
        return _fail(turn, refused)
    except PromptTooLong as long:
        return _fail(turn, too_long(long, turn.participant))
    except BrokenConnection as broken:
        return _finish(turn, f"interrupted:{broken.failure.kind}", broken.failure.error)
    return False


def _take_answer(turn: Turn) -> bool:
    """Takes the round's answer once it has ended: its lines are run next, or the turn ends."""
    generation = turn.generation
    if generation is None:
        return turn_lifecycle.keep(turn, status="assembling")
    if generation.status in generation_lifecycle.OPEN_STATUSES:
        return False
    sent = turn.prepared or {}
    read = budgets.cost(generation.tokens_in, sent.get("kept", 0), sent.get("tokens", 0))
    tokens = turn.tokens + read + generation.tokens_out
    if generation.finish in RUNS:
        return turn_lifecycle.keep(turn, status="executing", replies=[], tokens=tokens)
    if (generation.error or {}).get("reason") == "empty" and turn.rounds:
        return turn_lifecycle.keep(turn, status="finishing", tokens=tokens)
    finish = generation.finish[:80]
    return turn_lifecycle.keep(
        turn, status="finishing", tokens=tokens, finish=finish, error=generation.error
    )


def _execute(turn: Turn) -> bool:
    reply = reply_of(require(turn.generation, "the generation of the round"))
    over = len(reply.commands) - budgets.most_lines(budget_of(turn))
    is_halted = any(reply["halts"] for reply in turn.replies)
    left = len(reply.commands) - max(over, 0) - len(turn.replies)
    if turn.waits_for or (left > 0 and not is_halted):
        try:
            return next_line(turn, reply, left)
        except CommandError as refused:
            return _fail(turn, refused)
    is_paused = require(turn.generation, "the round").finish == generation_lifecycle.PAUSED
    earlier = [past_round["replies"] for past_round in turn.rounds]
    asks = is_paused or asks_again(turn.replies, earlier)
    notes = [PAUSED_HERE] if is_paused else []
    notes += [budgets.not_run(over, budget_of(turn))] if over > 0 else []
    if is_halted and left > 0:
        notes.append(f"({left:,} {'line' if left == 1 else 'lines'} after it were not run)")
    rounds = [*map(_old, turn.rounds), _round(turn, reply, notes)]
    if is_halted or _repeats(rounds):
        return _halt(turn, rounds)
    if turn.finish or not asks:
        return turn_lifecycle.keep(turn, rounds=rounds, replies=[], status="finishing")
    return _next_round(turn, rounds)


def _old(kept: dict[str, Any]) -> dict[str, Any]:
    """A round that is no longer the last one, without the state that was sent with it."""
    return {key: value for key, value in kept.items() if key != "stated"}


def _round(turn: Turn, reply: RoundReply, notes: list[str]) -> dict[str, Any]:
    """What the row of the turn stores about a round, from which the next request is made. Only
    what is needed after the turn is kept then (`turn_lifecycle.end`)."""
    generation = require(turn.generation, "the generation of the round")
    sent = turn.prepared or {}
    return {
        "generation": generation.uid,
        "text": reply.text.rstrip(),
        "length": len(reply.text),
        "prose": with_ids(reply.prose, made_by(turn.replies)),
        "replies": turn.replies,
        "tools": [_tool_reply(step) for step in uses_in(turn.uid, generation.round)],
        "dropped": reply.dropped,
        "notes": notes,
        "paused": generation.finish == generation_lifecycle.PAUSED,
        "changed": any(reply["changed"] for reply in turn.replies),
        "workspace": sent.get("workspace", ""),
        "stated": sent.get("stated", {}),
    }


def _tool_reply(step: Step) -> dict[str, Any]:
    """A result of a tool that the provider ran, as a round stores those of lines."""
    return {"line": step.canonical, "reply": step.message, "number": step.seq}


PAUSED_HERE = "(the provider paused here, between its own tools; go on with what they returned)"


def _halt(turn: Turn, rounds: list[dict[str, Any]]) -> bool:
    """Starts one last round to conclude, with the results so far; or ends the turn if its budget
    has no time left."""
    turn.rounds = rounds
    spent = spent_of(turn, turn_lifecycle.now())
    if turn.is_concluding or budgets.is_late(budget_of(turn), spent):
        return turn_lifecycle.keep(
            turn, rounds=rounds, replies=[], status="finishing", finish=HALTED
        )
    rounds[-1]["notes"].append(f"! The turn was halted: it walks in circles. {LAST}")
    return _go_on(turn, rounds, is_concluding=True, finish=HALTED)


def _go_on(turn: Turn, rounds: list[dict[str, Any]], **fields: Any) -> bool:
    """Starts the next round, with the results so far."""
    return turn_lifecycle.keep(
        turn,
        rounds=rounds,
        replies=[],
        status="assembling",
        round=turn.round + 1,
        generation=None,
        **fields,
    )


HALTED = "interrupted:loop"
LAST = "This is the last round: write your answer now."


def _repeats(rounds: list[dict[str, Any]]) -> bool:
    """Whether the agent repeats its prose for the third time; the second time it gets a warning."""
    prose = [RoundProse(past_round["prose"], past_round["changed"]) for past_round in rounds]
    verdict = loops.semantic(prose, _nearness([past.text for past in prose]))
    if verdict.decision == "warn":
        rounds[-1]["notes"].append(verdict.warning)
    return verdict.decision == "halt"


def _nearness(texts: list[str]) -> list[float]:
    """How near in meaning each text is to the last one, by the embedded embedder; empty without
    one. No endpoint is asked: a turn does not wait for it."""
    embedder = embedded()
    if embedder is None or len(texts) < 2:
        return []
    vectors = embedder.vectors(texts)
    near: list[float] = (vectors @ vectors[-1]).tolist()
    return near


def _next_round(turn: Turn, rounds: list[dict[str, Any]]) -> bool:
    turn.rounds = rounds
    budget, spent = budget_of(turn), spent_of(turn, turn_lifecycle.now())
    ahead = _ahead(turn, rounds[-1])
    what = budgets.next_round(budget, spent, concluding=turn.is_concluding, ahead=ahead)
    over = budgets.part_over(budget, replace(spent, depth=0)) or "tokens"
    if what == "end":
        # Without an answer, what ended the turn must be said by the turn itself.
        finish = "" if rounds[-1]["prose"] else f"interrupted:{over}"
        return turn_lifecycle.keep(
            turn, rounds=rounds, replies=[], status="finishing", finish=finish
        )
    if what == "conclude":
        why = budgets.what_is_over(budget, replace(spent, depth=0))
        rest = max(budget.tokens - spent.tokens, 0)
        why = why or f"Another round needs about {ahead:,} tokens, and {rest:,} are left."
        rounds[-1]["notes"].append(f"! {why} {LAST}")
    return _go_on(turn, rounds, is_concluding=what == "conclude")


def _ahead(turn: Turn, done: dict[str, Any]) -> int:
    """About how many tokens of the budget the next round will use: its request begins with that of
    the round that is done, followed by what was said and answered."""
    sent = (turn.prepared or {}).get("tokens", 0)
    answers = (*done["tools"], *done["replies"])
    tokens = count(done["text"]) + sum(count(answer["reply"]) for answer in answers)
    return budgets.cost(sent + tokens, sent, sent + tokens)


# The guard of a line: budgets and loops.


MOST_EVENTS = 1_000
OURS = ("generation.", "turn.", "call.")  # events of the turn itself, which change no text


def guard(
    turn: Turn, actor: Actor, workspace: Workspace, command: ParsedCommand, *, view: str = ""
) -> LineVerdict:
    """Decides whether a parsed line may run. `view`: what the agent has in view."""
    line = require(command.line, "the line")
    outlives = registry.find(line.verb).facts.outlives_budget
    if turn.finish and not outlives:
        return LineVerdict(REPEATED)
    spent = spent_of(turn, turn_lifecycle.now())
    over = budgets.refusal(budget_of(turn), spent, outlives_budget=outlives)
    if over is not None:
        return LineVerdict(over)
    if outlives:
        return LineVerdict()
    if registry.find(line.verb, line.form).stream == "tree" and _has_led_elsewhere(turn):
        return LineVerdict(ELSEWHERE)
    return _looped(turn, workspace, line.canonical, view)


def _has_led_elsewhere(turn: Turn) -> bool:
    """Whether a line of this turn made a place that what was written next was meant for."""
    rounds = [*(past_round["replies"] for past_round in turn.rounds), turn.replies]
    return any(reply.get("elsewhere") for replies in rounds for reply in replies)


_LAST = PreparedQuery(
    lambda: Step.objects.filter(workspace=Given("of"), turn_uid=Given("turn")).order_by("-id")[
        : loops.HISTORY
    ]
)


def _looped(turn: Turn, workspace: Workspace, canonical: str, view: str) -> LineVerdict:
    """Whether a line repeats what was done in this turn. Earlier turns do not count: a person who
    asks again wants it done again."""
    steps = _LAST.all(of=workspace.pk, turn=turn.uid)[::-1]
    if not steps:
        return LineVerdict()
    others = _others(turn, steps[0].at)
    now = Past(
        steps[-1].seq + 1,
        shortened(canonical),
        workspace.position.local_id,
        (*_version(others, turn_lifecycle.now()), ("view", view)),
    )
    look_back = _look_back(turn, steps, others, now, view)
    if look_back.decision in ("refuse", "halt"):
        look_back = replace(look_back, result=result_of(steps, look_back.earlier))
        return LineVerdict(
            look_back.refusal, goes_back_to=look_back.position, loop=look_back.status
        )
    loop = look_back.status if look_back.decision == "warn" else ""
    return LineVerdict(warning=look_back.warning, loop=loop)


def _look_back(
    turn: Turn, steps: Sequence[Step], others: Sequence[datetime], now: Past, view: str
) -> LoopVerdict:
    """The decision about `now` after these steps, with `view` before it."""
    views = _views(turn)
    seen = [views.get(step.turn_place, "") for step in steps]
    after = [*seen[1:], view]
    past = [
        _past(step, others, was, is_) for step, was, is_ in zip(steps, seen, after, strict=True)
    ]
    return loops.look(past, now)


def _halts(turn: Turn, step: Step, view: str) -> bool:
    """Whether a line that was not run ends the turn, by the steps before it: a worker that takes
    the turn over knows no more. What is refused changes nothing that is in view."""
    if step.outcome != "LOOP" or turn.finish:
        return False
    latest = _LAST.all(of=require(step.workspace_id, "the workspace"), turn=turn.uid)[::-1]
    steps = [earlier for earlier in latest if earlier.seq < step.seq]
    if not steps:
        return False
    if not view:
        workspace = node_writer.workspace_of(turn.participant, turn.tree)
        view = shown_windows.view_state(workspace, turn.uid)
    others = _others(turn, steps[0].at)
    return _look_back(turn, steps, others, _past(step, others, view, view), view).decision == "halt"


def _views(turn: Turn) -> dict[str, str]:
    """What the agent had in view before each line of the turn, by the place of the line."""
    rounds = [*(past_round["replies"] for past_round in turn.rounds), turn.replies]
    return {
        f"{number}.{place}": answer.get("view", "")
        for number, replies in enumerate(rounds, 1)
        for place, answer in enumerate(replies, 1)
    }


def _past(step: Step, others: Sequence[datetime], view: str, after: str) -> Past:
    is_ok = step.outcome == "ok"
    changed = is_ok and bool(step.events) and not registry.is_silent(step.canonical)
    return Past(
        step.seq,
        shortened(step.canonical or step.line),
        step.position,
        (*_version(others, step.at), ("view", view or f"before step {step.seq}")),
        changed,
        moved=is_ok and view != after,
        failed=not is_ok and step.outcome != "LOOP",
    )


def _others(turn: Turn, since: datetime) -> list[datetime]:
    """When others changed the tree or a document: looking twice is not a loop if something has
    changed. Considers at most the newest MOST_EVENTS of each, by seq, because times have no index.
    """
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


# The lines of a round.


def open_named(turn: Turn) -> None:
    """Opens what the request of a turn names if the setting `auto_open` is on, as far as the agent
    may see it and there is room. Does nothing if it was done before."""
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    if turn.input_node is None or not settings_of(workspace)["auto_open"]:
        return
    actor = turn_access.acting_in(turn)
    for number, ref in enumerate(refs_named(turn.input_node.text), 1):
        place, named = f"0.{number}", {"ref": ref}
        if turn_lifecycle.step_at(turn, place) is not None:
            continue
        with suppress(CommandError):
            for asked in (Request("", dry_run=True), Request("", turn=turn.uid, place=place)):
                run_command(actor, turn.tree, "open", named, workspace=workspace, request=asked)


def next_line(turn: Turn, reply: RoundReply, left: int) -> bool:
    """Runs the next of the lines that are `left` of the round, or takes the result that a line was
    waiting for; stores it. False while it waits. Consecutive web searches run at the same time."""
    replies = list(turn.replies)
    if turn.waits_for == [turn_lifecycle.CALLS]:
        return _take_answers(turn, reply)
    if turn.waits_for == [turn_lifecycle.SEARCHES]:
        if not (left > 0 and _comes_later(reply.commands[len(replies)]) == turn.waits_for):
            return _take_answers(turn, reply)
    elif any(reason.startswith(asks.WAITS) for reason in turn.waits_for):
        if turn_lifecycle.waits_for_answer(turn):
            return False
        replies[-1] = {**replies[-1], "reply": brought(turn)}
        return turn_lifecycle.keep(turn, replies=replies, waits_for=[])
    elif turn.waits_for:
        if Generation.objects.filter(
            uid__in=turn.waits_for, status__in=generation_lifecycle.OPEN_STATUSES
        ).exists():
            return False
        replies[-1] = {**replies[-1], "reply": _ended(turn.waits_for)}
        return turn_lifecycle.keep(turn, replies=replies, waits_for=[])
    record, waits_for = _line_reply(turn, reply, len(replies) + 1)
    return turn_lifecycle.keep(turn, replies=[*replies, record], waits_for=waits_for)


def _comes_later(command: ParsedCommand) -> list[str]:
    """What a turn waits for after a line whose answer comes later; nothing after any other."""
    facts = registry.find(command.line.verb).facts if command.line is not None else None
    if facts is None or not facts.answers_later:
        return []
    return [turn_lifecycle.CALLS if facts.runs_alone else turn_lifecycle.SEARCHES]


def _take_answers(turn: Turn, reply: RoundReply) -> bool:
    """Takes the answers of the last lines that came later. False while one is open."""
    if later.is_open_in(turn.uid):
        return False
    replies = list(turn.replies)
    for number, (command, record) in enumerate(zip(reply.commands, replies, strict=False), 1):
        step = turn_lifecycle.step_at(turn, f"{turn.round}.{number}")
        if step is not None and (warning := record.pop("warning", None)) is not None:
            replies[number - 1] = {**record, **_record(command, step, warning)}
    return turn_lifecycle.keep(turn, replies=replies, waits_for=[])


def _ended(uids: list[str]) -> str:
    return outcome_of(uids)[1].text


def _line_reply(turn: Turn, reply: RoundReply, number: int) -> tuple[dict[str, Any], list[str]]:
    """The reply to a line, and the generations it waits for. If the line already ran before a
    worker was lost, its reply is read from its step; it does not run again."""
    ids = made_by(turn.replies)
    command = with_made(reply.commands[number - 1], ids, registry.language())
    place = f"{turn.round}.{number}"
    step = turn_lifecycle.step_at(turn, place)
    warning = view = ""
    if step is None:
        view = shown_windows.view_state(
            node_writer.workspace_of(turn.participant, turn.tree), turn.uid
        )
        warning = _run(turn, command, place, _semantic(turn, reply), view=view)
        step = turn_lifecycle.step_at(turn, place)
    if step is None:
        raise turn_lifecycle.LostError
    warning = warning or command.note
    record = {
        **_record(command, step, warning),
        "view": view,
        "halts": _halts(turn, step, view),
    }
    waits = _comes_later(command)
    if waits and step.outcome == "ok":
        return {**record, "warning": warning}, waits
    return record, _started(step)


def _semantic(turn: Turn, reply: RoundReply) -> str:
    """`semantic` if the prose of a round repeats that of earlier ones, else ""."""
    rounds = [RoundProse(past_round["prose"], past_round["changed"]) for past_round in turn.rounds]
    return loops.semantic([*rounds, RoundProse(reply.prose)]).status.removeprefix("ok")


def _run(turn: Turn, command: ParsedCommand, place: str, loop: str, *, view: str) -> str:
    """Runs a line, which may be part of a `loop`; returns its warning. Afterwards its step exists,
    whatever its outcome. Raises CommandError if the inviter is no longer a member: there is nobody
    to act for, and no step is written.
    """
    actor = turn_access.acting_in(turn)
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    verdict = LineVerdict()
    try:
        if command.bad is None:
            verdict = guard(turn, actor, workspace, command, view=view)
        if verdict.goes_back_to:
            _go_back(turn, verdict.goes_back_to)
        loop = verdict.loop or loop
        request = Request(command.text.strip(), turn=turn.uid, place=place, loop=loop)
        execute_line(actor, turn.tree, request, workspace, refusal=_refusal(command, verdict))
    except CommandError:
        pass  # the step has the refusal
    except IntegrityError:
        if turn_lifecycle.step_at(turn, place) is None:
            raise
    return verdict.warning


def _refusal(command: ParsedCommand, verdict: LineVerdict) -> CommandError | None:
    """Why a line is refused before it runs; None if it may."""
    if command.bad is not None:
        return CommandError(command.bad.code, command.bad.message, hint=command.bad.hint)
    return verdict.refused


def _go_back(turn: Turn, local_id: str) -> None:
    node = lookup.find_node(turn.tree, local_id)
    if node is not None:
        workspace = node_writer.workspace_of(turn.participant, turn.tree)
        position.set_position_now(workspace, node, actor=turn.participant)


def _started(step: Step) -> list[str]:
    """What a line waits for: the generations that it started, or the answer to its question."""
    ops = step.inverse or []
    waits = [asks.WAITS + op["ask"] for op in ops if op.get("op") == "asked" and op["waits"]]
    return waits or [uid for op in ops if op.get("op") == "generations" for uid in op["uids"]]


def _record(command: ParsedCommand, step: Step, warning: str) -> dict[str, Any]:
    """What the row stores about a line; `asks` for another round."""
    is_ok = step.outcome == "ok"
    reply = message_of(step) if is_ok else refusal_text(step, where_of(command, step))
    is_look = makes_window(command.line)
    verb = registry.find(command.line.verb, command.line.form) if command.line else None
    klass = verb.klass if verb else ""
    leads_elsewhere = verb is not None and verb.facts.leads_elsewhere
    if klass == "silent" and is_ok:
        reply = ""
    if warning:
        reply = f"{reply}\n{warning}" if reply else warning
    return {
        "line": without_name(step.canonical or step.line).partition("\n")[0],
        "reply": reply,
        "number": step.seq if is_look and is_ok else 0,
        "near": command.near,
        "asks": not is_ok or klass.startswith("look"),
        "changed": is_ok and bool(step.events) and klass != "silent",
        "made": _made_node(step) if is_ok else "",
        **({"elsewhere": True} if is_ok and leads_elsewhere else {}),
    }


def _made_node(step: Step) -> str:
    """The local id of the first node that a line made; "" if it made none."""
    keys = [op["node"] for op in step.inverse or [] if op.get("op") == "made"]
    if not keys:
        return ""
    return Node.objects.values_list("local_id", flat=True).get(pk=keys[-1])
