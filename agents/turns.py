"""The machine of a turn: moves it from one stored state to the next until it waits or ends."""

import logging
from functools import lru_cache
from typing import Any

from agents.agent_prompt import assembled, place_of
from agents.context.truncation import TooLong
from agents.output_grammar import language
from agents.reply import Reply, asks_again, read_reply
from agents.turn_lines import next_line
from loom import access
from loom.access import Actor
from loom.commands import generation_lifecycle, turn_lifecycle
from loom.models import Generation, Turn
from loom.models.base import new_uid
from loom.queries.turns import budget_of, spent_of
from loom.queries.turns import turns as rows
from loom.rules import budgets, loops
from loom.rules.errors import CommandError
from loom.rules.loops import Said
from loom.rules.permissions import GENERATE, LOOM


def demand_turn(actor: Actor) -> None:
    """Refuses PERMISSION_DENIED where an agent in a turn may not go on: it needs to be
    loom-aware, and whoever asked it the right to generate, which the agent needs not."""
    access.demand(actor, {LOOM}, "a turn")
    access.demand(access.get_actor(actor.user, actor.grove), {GENERATE}, "asking for a turn")


# The machine of a turn: moves it from one stored state to the next until it waits or ends.


log = logging.getLogger("heddle.turns")
STOPPED = "interrupted:stopped"


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
        # What ended just before was told while the turn was held: look once more.
        if turn_lifecycle.is_generating(turn):
            # Who asked it to stop before its round was stored found nothing to stop.
            if turn_lifecycle.is_stopping(turn):
                _stop_writing(turn)
            return
        if not _is_due(turn):
            return


def _again(turn: Turn) -> Turn:
    """The row as it is now, under the same lease: somebody may have asked it to stop."""
    found = rows().get(pk=turn.pk)
    if found.lease != turn.lease:
        raise turn_lifecycle.LostError
    return found


def _is_due(turn: Turn) -> bool:
    return rows().filter(pk=turn.pk, ended_at__isnull=True).exists()


def _advance(turn: Turn) -> bool:
    """One state onward; False where the turn waits or has ended."""
    if turn.stop_asked and turn.status != "finishing":
        return _stop(turn)
    match turn.status:
        case "queued" | "leased":
            return turn_lifecycle.keep(turn, status="assembling", round=1)
        case "assembling":
            return _assemble(turn)
        case "generating":
            return _hear(turn)
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
        turn_lifecycle.begin_round(turn, tokens=assembled(place_of(actor, turn)).tokens)
    except CommandError as refused:
        return _fail(turn, refused)
    except TooLong as long:
        return _fail(turn, CommandError("LIMIT_EXCEEDED", str(long), hint="ask at a shorter path"))
    return False


def _hear(turn: Turn) -> bool:
    """The round's answer, once it has ended: its lines are to be run, or the turn ends."""
    said = turn.generation
    if said is None:
        return turn_lifecycle.keep(turn, status="assembling")
    if said.status in generation_lifecycle.OPEN_STATUSES:
        return False
    tokens = turn.tokens + said.tokens_in + said.tokens_out
    if said.finish in ("complete", generation_lifecycle.CUT_OFF):
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
            return next_line(turn, said)
        except CommandError as refused:
            return _fail(turn, refused)
    told = turn.replies
    asks = asks_again(told, [one["told"] for one in turn.rounds])
    kept = {
        "generation": turn.generation.uid,
        "text": said.text.rstrip(),
        "prose": said.prose,
        "told": told,
        "dropped": said.dropped,
        "notes": [budgets.not_run(over, budget_of(turn))] if over > 0 else [],
        "changed": any(one["changed"] for one in told),
    }
    rounds = [*turn.rounds, kept]
    if is_halted or _repeats(rounds):
        return turn_lifecycle.keep(
            turn, rounds=rounds, replies=[], status="finishing", finish="interrupted:loop"
        )
    if not asks:
        return turn_lifecycle.keep(turn, rounds=rounds, replies=[], status="finishing")
    return _next_round(turn, rounds)


def _repeats(rounds: list[dict[str, Any]]) -> bool:
    """Whether the agent says for the third time what it said; the second time it is warned."""
    verdict = loops.semantic([Said(one["prose"], one["changed"]) for one in rounds])
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
        rounds[-1]["notes"].append(f"! {over} This is the last round: write your answer now.")
    return turn_lifecycle.keep(
        turn,
        rounds=rounds,
        replies=[],
        status="assembling",
        round=turn.round + 1,
        is_concluding=what == "conclude",
        generation=None,
    )


def prose(turn: Turn) -> str:
    """All prose of the turn: of the rounds that ended, and of one that was cut off."""
    parts = [one["prose"] for one in turn.rounds]
    last = turn.generation
    if last is not None and not any(one["generation"] == last.uid for one in turn.rounds):
        parts.append(reply_of(last).prose)
    text = "\n\n".join(part for part in parts if part)
    return text if text.strip() else ""
