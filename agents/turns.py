"""Moves a turn from one stored state to the next until it waits or ends (docs/model.md §7)."""

import logging
from contextlib import suppress
from functools import lru_cache
from typing import Any

from agents.agent_prompt import demand_turn, language
from agents.context.rounds import Reply, asks_again, read_reply
from agents.context.subject_request import TooLong
from agents.orders import prepared_round, too_long
from agents.providers.failures import Broken
from agents.turn_lines import next_line, open_named
from loom import access
from loom.commands import generation_lifecycle, turn_lifecycle
from loom.grammar.batches import with_ids
from loom.models import Generation, Turn
from loom.models.base import new_uid
from loom.queries.workspaces import budget_of, made_by, spent_of, turns
from loom.rules import budgets
from loom.rules.budgets import Said
from loom.rules.errors import CommandError

log = logging.getLogger("heddle.turns")
STOPPED = "interrupted:stopped"
# A round whose lines run: it ended by itself, or where it could be no longer.
RUNS = ("complete", generation_lifecycle.CUT_OFF)


def run_turn(uid: str) -> None:
    """Moves a turn on as far as it goes now. Harmless where it has ended or is held."""
    while True:
        turn = turn_lifecycle.take(uid, new_uid())
        if turn is None:
            return
        try:
            while _advance(turn):
                turn = _again(turn)
        except turn_lifecycle.LostError:
            return
        turn_lifecycle.release(turn)
        # What ended just before was reported while the turn was held: look once more.
        if turn_lifecycle.is_waiting(turn):
            # Who asked it to stop before its round was stored found nothing to stop.
            if turn_lifecycle.is_stopping(turn):
                _stop_writing(turn)
            return
        if not _is_due(turn):
            return


def _again(turn: Turn) -> Turn:
    """The row as it is now, under the same lease: somebody may have asked it to stop."""
    found = turns().get(pk=turn.pk)
    if found.lease != turn.lease:
        raise turn_lifecycle.LostError
    return found


def _is_due(turn: Turn) -> bool:
    return turns().filter(pk=turn.pk, ended_at__isnull=True).exists()


def _advance(turn: Turn) -> bool:
    """One state onward; False where the turn waits or has ended."""
    if turn.stop_asked and turn.status != "finishing":
        return _stop(turn)
    match turn.status:
        case "queued" | "leased":
            with suppress(CommandError):  # who may not go on is refused with the first round
                open_named(turn)
            return turn_lifecycle.keep(turn, status="assembling", round=1)
        case "assembling":
            return _assemble(turn)
        case "generating":
            return _take_answer(turn)
        case "executing":
            return _execute(turn)
        case _:
            turn_lifecycle.finish(turn, text=prose(turn))
            return False


def _stop(turn: Turn) -> bool:
    """What still writes ends first: what it wrote is kept."""
    _stop_writing(turn)
    return not turn_lifecycle.is_generating(turn) and _finish(turn, STOPPED)


def _stop_writing(turn: Turn) -> None:
    for one in Generation.objects.filter(turn=turn, status__in=generation_lifecycle.OPEN_STATUSES):
        generation_lifecycle.ask_stop(one)


def _finish(turn: Turn, finish: str = "", error: dict[str, Any] | None = None) -> bool:
    return turn_lifecycle.keep(turn, status="finishing", finish=finish[:80], error=error)


def _fail(turn: Turn, refused: CommandError) -> bool:
    return _finish(turn, f"interrupted:{refused.code.lower()}", refused.body)


# -- rounds


def _assemble(turn: Turn) -> bool:
    try:
        actor = access.acting_in(turn)
        demand_turn(actor)
        request = prepared_round(turn, actor)
        turn_lifecycle.begin_round(turn, request=request, tokens=request["tokens"])
    except CommandError as refused:
        return _fail(turn, refused)
    except TooLong as long:
        return _fail(turn, too_long(long))
    except Broken as broken:
        return _finish(turn, f"interrupted:{broken.failure.kind}", broken.failure.error)
    return False


def _take_answer(turn: Turn) -> bool:
    """The round's answer, once it has ended: its lines are to be run, or the turn ends."""
    said = turn.generation
    if said is None:
        return turn_lifecycle.keep(turn, status="assembling")
    if said.status in generation_lifecycle.OPEN_STATUSES:
        return False
    tokens = turn.tokens + said.tokens_in + said.tokens_out
    if said.finish in RUNS:
        return turn_lifecycle.keep(turn, status="executing", replies=[], tokens=tokens)
    if (said.error or {}).get("reason") == "empty" and turn.rounds:
        return turn_lifecycle.keep(turn, status="finishing", tokens=tokens)
    finish = said.finish[:80]
    return turn_lifecycle.keep(
        turn, status="finishing", tokens=tokens, finish=finish, error=said.error
    )


def reply_of(said: Generation) -> Reply:
    """What a round said, read from its row alone: the same however often it is read."""
    return _read(said.text, said.finish == "complete")


@lru_cache(maxsize=8)
def _read(text: str, finished: bool) -> Reply:
    """Kept, since it is asked for once a line."""
    return read_reply(text, language(), finished=finished)


def _execute(turn: Turn) -> bool:
    assert turn.generation is not None
    said = reply_of(turn.generation)
    over = len(said.commands) - budgets.most_lines(budget_of(turn))
    is_halted = any(one["halts"] for one in turn.replies)
    left = len(said.commands) - max(over, 0) - len(turn.replies)
    if turn.waits_for or (left > 0 and not is_halted):
        try:
            return next_line(turn, said, left)
        except CommandError as refused:
            return _fail(turn, refused)
    asks = asks_again(turn.replies, [one["replies"] for one in turn.rounds])
    notes = [budgets.not_run(over, budget_of(turn))] if over > 0 else []
    if is_halted and left > 0:
        notes.append(f"({left:,} {'line' if left == 1 else 'lines'} after it were not run)")
    rounds = [*map(_old, turn.rounds), _round(turn, said, notes)]
    if is_halted or _repeats(rounds):
        return _halt(turn, rounds)
    if turn.finish or not asks:
        return turn_lifecycle.keep(turn, rounds=rounds, replies=[], status="finishing")
    return _next_round(turn, rounds)


def _old(kept: dict[str, Any]) -> dict[str, Any]:
    """A round that is no longer the last one: what was stated with it is in a later one."""
    return {key: value for key, value in kept.items() if key != "stated"}


def _round(turn: Turn, said: Reply, notes: list[str]) -> dict[str, Any]:
    """What the row of the turn keeps of a round: what the next request is made of. What is
    needed after the turn stays (`turn_lifecycle.end`)."""
    assert turn.generation is not None
    sent = turn.prepared or {}
    return {
        "generation": turn.generation.uid,
        "text": said.text.rstrip(),
        "length": len(said.text),
        "prose": with_ids(said.prose, made_by(turn.replies)),
        "replies": turn.replies,
        "dropped": said.dropped,
        "notes": notes,
        "changed": any(one["changed"] for one in turn.replies),
        "workspace": sent.get("workspace", ""),
        "stated": sent.get("stated", {}),
    }


def _halt(turn: Turn, rounds: list[dict[str, Any]]) -> bool:
    """One last round to conclude, with the results so far; after that, or where the budget
    leaves no time for it, the end."""
    turn.rounds = rounds
    spent = spent_of(turn, turn_lifecycle.now())
    if turn.is_concluding or budgets.is_late(budget_of(turn), spent):
        return turn_lifecycle.keep(
            turn, rounds=rounds, replies=[], status="finishing", finish=HALTED
        )
    rounds[-1]["notes"].append(f"! The turn was halted: it walks in circles. {LAST}")
    return _go_on(turn, rounds, is_concluding=True, finish=HALTED)


def _go_on(turn: Turn, rounds: list[dict[str, Any]], **fields: Any) -> bool:
    """The next round, with the results so far."""
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
    """Whether the agent says for the third time what it said; the second time it is warned."""
    verdict = budgets.semantic([Said(one["prose"], one["changed"]) for one in rounds])
    if verdict.deed == "warn":
        rounds[-1]["notes"].append(verdict.warning)
    return verdict.deed == "halt"


def _next_round(turn: Turn, rounds: list[dict[str, Any]]) -> bool:
    turn.rounds = rounds
    budget, spent = budget_of(turn), spent_of(turn, turn_lifecycle.now())
    what = budgets.next_round(budget, spent, concluding=turn.is_concluding)
    if what == "end":
        return turn_lifecycle.keep(turn, rounds=rounds, replies=[], status="finishing")
    if what == "conclude":
        over = budgets.what_is_over(budget, spent)
        rounds[-1]["notes"].append(f"! {over} {LAST}")
    return _go_on(turn, rounds, is_concluding=what == "conclude")


def prose(turn: Turn) -> str:
    """The answer: the prose of the last round that has any, which may be one that was cut off.
    What earlier rounds wrote stays with them."""
    parts = [one["prose"] for one in turn.rounds]
    last = turn.generation
    if last is not None and not any(one["generation"] == last.uid for one in turn.rounds):
        parts.append(reply_of(last).prose)
    return next((part for part in reversed(parts) if part.strip()), "")
