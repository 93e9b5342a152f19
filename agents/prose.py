"""The prose of a turn's rounds."""

from functools import lru_cache

from agents.agent_prompt import (
    language,
)
from agents.context.values import (
    RoundReply,
)
from agents.providers.attempt import read_reply
from loom.turns.models import Generation, Turn
from loom.turns.turn_lifecycle import reads_answer

# The prose of a turn's rounds.


def reply_of(generation: Generation) -> RoundReply:
    """The parsed reply of a round, read from its row alone: always the same result."""
    return _read(generation.text, generation.finish == "complete")


@lru_cache(maxsize=8)
def _read(text: str, finished: bool) -> RoundReply:
    """Cached, because it is needed once for every line."""
    return read_reply(text, language(), finished=finished)


@reads_answer
def prose(turn: Turn) -> str:
    """The answer: the prose of the last round that has any, even if it was cut off, behind that of
    the rounds just before it in which its provider paused. The prose of earlier rounds stays with
    them."""
    parts = [(turn_round["prose"], turn_round.get("paused", False)) for turn_round in turn.rounds]
    last = turn.generation
    if last is not None and not any(
        turn_round["generation"] == last.uid for turn_round in turn.rounds
    ):
        parts.append((reply_of(last).prose, False))
    answers = [""]
    goes_on = False
    for part, is_paused in parts:
        if goes_on:
            answers[-1] = "\n\n".join(filter(None, (answers[-1].rstrip(), part.strip())))
        else:
            answers.append(part)
        goes_on = is_paused
    return next((answer for answer in reversed(answers) if answer.strip()), "")
