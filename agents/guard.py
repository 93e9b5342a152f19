"""What stands before each line of a turn: its budget, and whether the agent walks in circles."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from agents.language import makes_window
from loom.access import Actor
from loom.commands import registry, turning
from loom.grammar.bad import Bad
from loom.grammar.batches import Command
from loom.grammar.lines import read
from loom.grammar.writing import shortened
from loom.log import streams
from loom.models import Event, Step, Turn, Workspace
from loom.queries.turns import budget_of, spent_of
from loom.rules import budgets, loops
from loom.rules.loops import Past
from loom.rules.refusals import Refused

MOST_EVENTS = 1_000
OURS = ("generation.", "turn.", "call.")  # events of the turn itself, which change no text


@dataclass(frozen=True)
class Verdict:
    """Whether a line may run: why not, what to warn of, and where the agent goes back to."""

    refused: Refused | None = None
    warning: str = ""
    goes_back_to: str = ""


def guard(turn: Turn, actor: Actor, workspace: Workspace, said: Command) -> Verdict:
    """What is to be done with a line that was read."""
    assert said.line is not None
    spent = spent_of(turn, turning.now())
    over = budgets.refusal(budget_of(turn), spent, said.line.verb)
    if over is not None:
        return Verdict(over)
    if budgets.may_still_run(said.line.verb):
        return Verdict()
    return _looped(turn, workspace, said.line.canonical)


def _looped(turn: Turn, workspace: Workspace, canonical: str) -> Verdict:
    steps = list(workspace.steps.order_by("-seq")[: loops.HISTORY])[::-1]
    if not steps:
        return Verdict()
    others = _others(turn, steps[0].at)
    past = [_past(one, others) for one in steps]
    now = Past(
        steps[-1].seq + 1,
        shortened(canonical),
        workspace.position.local_id,
        _version(others, turning.now()),
    )
    found = loops.look(past, now)
    if found.deed in ("refuse", "halt"):
        found = replace(found, result=_result(steps, found.earlier))
        return Verdict(found.refusal, goes_back_to=found.position)
    return Verdict(warning=found.warning)


def _result(steps: Sequence[Step], seq: int) -> str:
    """Under which number the answer of a step was told, such as `#14`; "" where it was told
    by itself."""
    step = next((one for one in steps if one.seq == seq and one.outcome == "ok"), None)
    if step is None or not step.canonical:
        return ""
    try:
        said = read(step.canonical, registry.forms(), registry.aliases())
    except Bad:  # its text is in the node that it made, and it opened no window
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
    """When others changed the tree: in a changing world to look twice is no loop. Looks at the
    newest MOST_EVENTS at most, by their seq: instants have no index."""
    stream = streams.named(f"tree:{turn.tree.uid}")
    rows = Event.objects.filter(stream=stream).order_by("-seq")
    newest = rows.values_list("at", "kind", "actor")[:MOST_EVENTS].iterator(chunk_size=50)
    return sorted(
        at
        for at, kind, actor in takewhile(lambda row: row[0] >= since, newest)
        if not kind.startswith(OURS) and actor != turn.participant.uid
    )


def _version(others: Sequence[datetime], at: datetime) -> tuple[tuple[str, str], ...]:
    return (("tree", str(bisect_right(others, at))),)
