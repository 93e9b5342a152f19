"""Steps: the numbered record of each line that was tried."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import models
from django.utils import timezone
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from loom.access import Actor
from loom.engine.arguments import Secret
from loom.engine.context import Context
from loom.engine.items import make_items
from loom.engine.models import Step, StepItem
from loom.platform.inserts import insert_row, update_row
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
        StepItem.objects.bulk_create(
            StepItem(step=step, item_id=item, place=place, led_to=was_led)
            for place, (item, was_led) in enumerate(every)
        )


# Arguments of actions as steps store them.


SHORT = 200  # characters; a step stores only the start of a longer text


def recorded(value: Any) -> Any:
    """Arguments as a step stores them: no secrets, no long texts, rows by their public id."""
    if isinstance(value, BaseModel):
        return {
            name: recorded(getattr(value, name))
            for name, field in type(value).model_fields.items()
            if name in value.model_fields_set and not _is_secret(field)
        }
    if isinstance(value, models.Model):
        return str(getattr(value, "uid", value))
    if isinstance(value, Mapping):
        return {str(name): recorded(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [recorded(item) for item in value]
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity or NaN
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _is_secret(field: FieldInfo) -> bool:
    return any(isinstance(mark, Secret) for mark in field.metadata)


def _short(text: str) -> Any:
    kept = storable(text)
    if len(text) <= SHORT:
        return kept
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return {"start": kept[:SHORT], "length": len(text), "sha256": digest}


def storable(text: str) -> str:
    """The text without what PostgreSQL and UTF-8 cannot store."""
    return text.replace("\0", "�").encode(errors="replace").decode()


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
