"""The steps of a workspace, or of a turn, that led somewhere: what a saved trail is made of."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loom.access import Actor, trees_for
from loom.engine.models import Step, StepItem
from loom.errors import not_found
from loom.links.models import Trail
from loom.text.hashes import instant
from loom.trees.models import Tree, Workspace

READ = 500  # steps of a workspace that are searched
MOST_STEPS = 200  # of a trail
SWITCH = "→ switch "
EXPAND = "→ expand "
OPEN = "→ open "
VIEW = "→ view "
BACK = "→ back"
LEADING = (SWITCH, EXPAND, OPEN, VIEW)


@dataclass(frozen=True)
class TrailStep:
    """One step of a trail: from which items, by which link type ("" where it moved, opened or
    viewed), to which items, in their versions of that time (their ids)."""

    to: tuple[int, ...]
    type: str = ""
    of: tuple[int, ...] = ()
    line: str = ""
    because: str = ""
    note: str = ""
    at: str = ""
    seq: int = 0
    tree: int = 0  # the row id of the tree in which the line was given

    @classmethod
    def read(cls, stored: dict[str, Any]) -> "TrailStep":
        """A step as it is stored in a trail."""
        return cls(**{**stored, "to": tuple(stored["to"]), "of": tuple(stored["of"])})

    def stored(self) -> dict[str, Any]:
        """It as JSON."""
        return asdict(self)


def steps_of(trail: Trail) -> list[TrailStep]:
    """The steps of a trail."""
    return [TrailStep.read(stored) for stored in trail.steps]


def way_of(workspace: Workspace, *, turn: str = "") -> list[TrailStep]:
    """The steps of a workspace that led somewhere since its last `switch` (that included), or
    those of a turn; what was taken back by `back` is left out. Two queries."""
    rows = workspace.steps.filter(outcome="ok").order_by("-seq")
    if turn:  # in the order of its index, or all steps of the workspace would be gone through
        rows = rows.filter(turn_uid=turn).order_by("-id")
    leading: list[Step] = []
    along: list[Step] = []  # for the further windows of the line before them
    skip = 0
    for step in rows.defer("line", "message", "arguments")[:READ]:
        if step.link_type and step.canonical.startswith(OPEN):
            along.append(step)
            continue
        if not (skip and step.canonical.startswith(EXPAND)):
            leading += along
        along = []
        if step.canonical.startswith(BACK):
            skip += int(step.canonical.partition("n:")[2].partition(" ")[0] or 1)
        elif step.canonical.startswith((SWITCH, EXPAND)) and skip:
            skip -= 1
        elif step.canonical.startswith(LEADING):
            leading.append(step)
            if step.canonical.startswith(SWITCH) and not turn:
                break
    leading += along
    return _read(workspace, leading[::-1][-MOST_STEPS:])


def way_of_turn(actor: Actor, uid: str) -> tuple[Tree, list[TrailStep]]:
    """The tree of a turn and where its steps led. NOT_FOUND if the actor may not see its tree: the
    steps of an agent are open to the members."""
    rows = Step.objects.filter(turn_uid=uid, workspace__tree__in=trees_for(actor))
    step = rows.select_related("workspace__tree").order_by("pk").first() if uid else None
    if step is None or step.workspace is None:
        raise not_found(f"turn:{uid[:40]}")
    return step.workspace.tree, way_of(step.workspace, turn=uid)


def _read(workspace: Workspace, steps: Sequence[Step]) -> list[TrailStep]:
    items: dict[int, tuple[list[int], list[int]]] = {step.pk: ([], []) for step in steps}
    rows = StepItem.objects.filter(step__in=items).order_by("step_id", "place")
    for step_id, item, led_to in rows.values_list("step_id", "item_id", "led_to"):
        items[step_id][led_to].append(item)
    ways: list[TrailStep] = []
    opened = set[tuple[object, ...]]()
    for step in steps:
        of, to = items[step.pk]
        if not step.link_type:  # a move, a view: what it touched is where it led
            of, to = [], [*of, *to]
        if ways and step.link_type and step.canonical.startswith(OPEN) and {*to} <= {*ways[-1].to}:
            continue  # one of several windows that the line before opened
        if ways and not step.link_type and not step.because and ways[-1].to == tuple(to):
            continue  # another look at where the way has led already
        opening = (step.link_type, tuple(of), tuple(to))
        if step.link_type and opening in opened and not step.because:
            continue  # opened once more is opened once
        if to:
            opened.add(opening)
            line = step.canonical.partition("\n")[0]
            at = instant(step.at)
            way = (tuple(to), step.link_type, tuple(of), line, step.because, "", at, step.seq)
            ways.append(TrailStep(*way, workspace.tree_id))
    return ways
