"""Steps: the numbered record of each line that was tried."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone

from loom.access import Actor
from loom.engine.context import Context
from loom.engine.items import make_items
from loom.engine.models import Step, StepItem
from loom.platform.inserts import insert_row, insert_rows, update_row
from loom.trees.models import Workspace


def next_step(workspace: Workspace) -> str:
    """The reference of the next step of a locked workspace."""
    return f"step:{workspace.steps_made + 1}"


def write_step(context: Context, **fields: Any) -> Step:
    """A step that a command writes itself (undo: one for each inverse)."""
    is_own_origin = context.world.origin == next_step(context.workspace)
    step = numbered_step(
        context.workspace,
        by=context.actor,
        turn_uid=context.turn,
        **fields,
    )
    context.world.written_by(step)
    if is_own_origin:
        context.world.origin = next_step(context.workspace)
    return step


def numbered_step(
    workspace: Workspace,
    *,
    by: Actor,
    items: Sequence[int] = (),
    led_to: Sequence[int] = (),
    **fields: Any,
) -> Step:
    """Writes the next step of a locked workspace, as a person's or as an agent's on their
    behalf."""
    workspace.steps_made += 1
    update_row(workspace, "steps_made")
    step = Step(
        workspace=workspace,
        seq=workspace.steps_made,
        at=timezone.now(),
        actor=by.participant,
        on_behalf_of=None if by.person == by.participant else by.person,
        **fields,
    )
    insert_row(step)
    touch(step, items, led_to)
    return step


def touch(step: Step, items: Sequence[int], led_to: Sequence[int] = ()) -> None:
    """Stores which items a step touched, and then those that it led to; two queries, none if there
    are none."""
    every = [*((item, False) for item in items), *((item, True) for item in led_to)]
    if every:
        make_items([item for item, _ in every])
        rows = (
            StepItem(step=step, item_id=item, place=place, led_to=was_led)
            for place, (item, was_led) in enumerate(every)
        )
        insert_rows(StepItem, [vars(row) for row in rows])


# Arguments of actions as steps store them.


def items_of(steps: Iterable[Step]) -> dict[int, list[int]]:
    """The ids of the items that each step touched, in order, by the step's row id, without those
    that it led to; one query."""
    by_step: dict[int, list[int]] = {step.pk: [] for step in steps}
    if not by_step:
        return {}
    rows = StepItem.objects.filter(step__in=by_step, led_to=False).order_by("step_id", "place")
    for step, item in rows.values_list("step_id", "item_id"):
        by_step[step].append(item)
    return by_step
