"""Turns run to their end as a worker would run them, one state after the other."""

from agents import runs
from agents.providers.transport import the_loop
from agents.turns import run_turn
from loom.access import Actor
from loom.engine.models import Step
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns import turn_lifecycle
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.turns.queries import lines_of

MOST = 400  # states of a turn: more mean that it does not end


def asked(actor: Actor, tree: Tree, agent: Participant, **wanted: str) -> Turn:
    """A turn that was asked for."""
    return turn_lifecycle.start(
        actor, tree, turn_lifecycle.TurnStartArgs(participant=agent.uid, **wanted)
    )


def run_lane(lane: str) -> None:
    """Runs what waits in a lane to its end, as the worker does when it is handed over."""
    the_loop().run(runs.begin(lane))


def run_queued(turn: Turn) -> None:
    """Runs all that a turn has queued to its end."""
    queued = Generation.objects.filter(turn=turn, status="queued")
    for lane in queued.order_by("lane").values_list("lane", flat=True).distinct():
        run_lane(lane)


def went(turn: Turn) -> Turn:
    """Runs a turn, and what it waits for, to its end; its row afterwards."""
    for _ in range(MOST):
        run_turn(turn.uid)
        run_queued(turn)
        current = turn_lifecycle.turn_again(turn.pk)
        if current.status not in OPEN_TURN:
            return current
    raise AssertionError("the turn did not end")


def outcomes(turn: Turn) -> list[tuple[str, str]]:
    """(canonical or given line, outcome) of the turn's lines."""
    return [(line.canonical or line.line, line.outcome) for line in lines_of(turn)]


def step(turn: Turn, place: str) -> Step:
    """The step of one line."""
    return Step.objects.get(turn_uid=turn.uid, turn_place=place)
