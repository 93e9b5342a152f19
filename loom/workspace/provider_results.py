"""What the provider of an agent did with tools of its own, as results in the agent's workspace:
each use is a step of the turn with a result window, as of a line that looks. No line runs them, and
what they returned is data from outside."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loom.access import Actor
from loom.engine import registry, views
from loom.engine.models import Step
from loom.engine.steps import numbered_step
from loom.language.refs import quote, short
from loom.text.frames import escaped
from loom.trees.models import Workspace
from loom.workspace.models import Window

MOST_USES = 20  # of one round that become windows; the call has all of them
MOST_KEPT = 64 * 1024  # characters of one result
MOST_OF_ROUND = 256 * 1024  # characters of all results of one round
_UNKEPT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
MOST_OF_A_NAME = 60


@dataclass(frozen=True)
class ProviderUse:
    """A tool that a provider ran: its name, what it was asked, and what it returned as text ("":
    nothing has come)."""

    name: str
    asked: str
    text: str


def heading_of(use: ProviderUse) -> str:
    """`web_search "towers"`, in one line. It never reads as a line of ours, whatever the name."""
    name = _NOT_OF_A_NAME.sub("_", use.name)[:MOST_OF_A_NAME] or "tool"
    if registry.verb_of_step(name):
        name = f"provider.{name}"
    asked = short(_UNKEPT.sub(" ", use.asked))
    return f"{name} {quote(asked)}" if asked else name


def places_of(round_: int) -> list[str]:
    """Where the steps of a round stand in their turn: `2.p1`, after the lines' `2.1`."""
    return [f"{round_}.p{number}" for number in range(1, MOST_USES + 1)]


def keep_uses(
    actor: Actor, workspace: Workspace, uses: Sequence[ProviderUse], *, turn: str, round_: int
) -> None:
    """Stores the uses of a round of a turn (its uid) as steps with result windows, and writes their
    events. Needs a transaction in which the workspace is locked."""
    room = MOST_OF_ROUND
    for place, use in zip(places_of(round_), uses, strict=False):
        heading = heading_of(use)
        message, taken = _message(use, heading, room)
        room -= taken
        step = numbered_step(
            workspace,
            by=actor,
            turn_uid=turn,
            turn_place=place,
            position=workspace.position.local_id[:8],
            line=heading,
            canonical=heading,
            outcome="ok",
            message=message,
        )
        Window.objects.create(
            workspace=workspace,
            number=step.seq,
            kind="result",
            step=step,
            turn_uid=turn,
            opened_at=step.at,
        )
        views.answered(workspace, step.seq, turn=turn)


def _message(use: ProviderUse, heading: str, room: int) -> tuple[str, int]:
    """(the text of a result as it is kept, how many characters of the room it takes)."""
    whole = _UNKEPT.sub("", use.text).strip("\n")
    text = whole[: max(min(MOST_KEPT, room), 0)].rstrip()
    head = f"from outside: {heading.partition(' ')[0]}, run by the provider"
    if not whole:
        return f"{head}\n(no result has come)", 0
    lines = [f"{head}, {len(whole):,} characters", escaped(text)]
    if len(text) < len(whole.rstrip()):
        lines.append(f"… ({len(text):,} of {len(whole):,} characters are kept)")
    return "\n".join(lines), len(text)


def uses_in(turn: str, round_: int) -> list[Step]:
    """The steps of what the provider did in a round of a turn (its uid), in order; one query."""
    rows = Step.objects.filter(turn_uid=turn, turn_place__in=places_of(round_))
    return list(rows.order_by("id"))
