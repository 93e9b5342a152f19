"""What agents did and thought in their turns as files of an export: numbered steps by phase, the
trace of a turn, and its outcome (docs/model.md §13)."""

from collections.abc import Iterator

from loom.access import CLOSED, Actor, closed_steps
from loom.engine import registry
from loom.engine.answers import messages_of
from loom.engine.models import Step
from loom.errors import CommandError
from loom.language.lines import read
from loom.language.refs import ParseError
from loom.text.hashes import instant, instant_or_none
from loom.trees.archive_files import adds_files
from loom.trees.models import Tree
from loom.turns.models import Turn
from loom.turns.queries import lines_of

PHASES = {"Look": "looking", "Move": "looking", "Make": "writing", "Mind": "thinking"}
OTHER = "keeping"


@adds_files
def files_of(actor: Actor, tree: Tree) -> Iterator[tuple[str, str]]:
    """(name, text) of each file: `thinking/TURN/step_001_PHASE.md`, `_trace.md` and `_outcome.md`,
    as far as the actor may see the steps. Reads one turn at a time."""
    turns = Turn.objects.filter(tree=tree).order_by("id")
    for key in list(turns.values_list("pk", flat=True)):
        turn = (
            Turn.objects.select_related("participant", "invoked_by", "invoked_at", "node")
            .defer("prepared", "rounds")
            .get(pk=key)
        )
        yield from _turn(actor, turn)


def _turn(actor: Actor, turn: Turn) -> Iterator[tuple[str, str]]:
    steps = list(lines_of(turn).select_related("actor"))
    closed = closed_steps(actor, steps)
    messages = messages_of(steps)
    folder = f"thinking/{turn.uid}"
    trace = []
    for number, step in enumerate(steps, 1):
        phase = phase_of(step)
        name = f"step_{number:03}_{phase}.md"
        is_open = step.pk not in closed
        line = step.canonical or step.line
        head = line.partition("\n")[0] if is_open else CLOSED
        trace.append(f"{number}. {phase} · {step.outcome} · {instant(step.at)} · `{head}`")
        yield f"{folder}/{name}", _step(step, line, messages[step.pk]) if is_open else f"{CLOSED}\n"
    yield f"{folder}/_trace.md", _head(turn) + "\n".join(trace) + ("\n" if trace else "")
    yield f"{folder}/_outcome.md", _outcome(turn)


def phase_of(step: Step) -> str:
    """What a step was for: the phase of its verb, else that of its group."""
    try:
        line = read(step.canonical, registry.language())
        command = registry.find(line.verb, line.form)
    except (ParseError, CommandError):
        return "unread"
    return command.facts.phase or PHASES.get(command.group, OTHER)


def _step(step: Step, line: str, answer: str) -> str:
    facts = [f"outcome: {step.outcome}", f"at: {instant(step.at)}"]
    facts += [f"place: {step.turn_place}"] if step.turn_place else []
    facts += ["undone: true"] if step.is_undone else []
    because = f"\nBecause: {step.because}\n" if step.because else ""
    hint = f"\nHint: {step.hint}\n" if step.hint else ""
    return "---\n" + "\n".join(facts) + f"\n---\n\n{line}\n{because}\n{answer}\n{hint}"


def _head(turn: Turn) -> str:
    asked = f"asked by {turn.invoked_by.name} at [{turn.invoked_at.local_id}]"
    return f"# {turn.participant.name}, {asked}, {instant(turn.created_at)}\n\n"


def _outcome(turn: Turn) -> str:
    lines = [f"status: {turn.status}"]
    lines += [f"finish: {turn.finish}"] if turn.finish else []
    lines += [f"ended_at: {instant_or_none(turn.ended_at)}"] if turn.ended_at else []
    lines += [f"rounds: {turn.round}", f"tokens: {turn.used_tokens}"]
    lines += [f"node: {turn.node.local_id}"] if turn.node is not None else []
    return "---\n" + "\n".join(lines) + "\n---\n"
