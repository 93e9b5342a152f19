"""Tasks of a workspace: its list, and what lines, requests and the API show of them."""

from typing import Any

from django.db.models import Case, IntegerField, Max, QuerySet, Value, When

from loom.models import Task, Workspace
from loom.rules.identity import instant

MOST_NOTES = 50
MOST_ARCHIVED = 100  # that are listed, the newest ones
MARKS = {"unchecked": "[ ]", "checked": "[x]", "archived": "[-]"}
LAST = Case(When(state="archived", then=Value(1)), default=Value(0), output_field=IntegerField())


def current(workspace: Workspace) -> QuerySet[Task]:
    """The tasks that are neither archived nor removed, in their order."""
    rows = Task.objects.filter(workspace=workspace.pk, is_removed=False)
    return rows.exclude(state="archived").order_by("place", "number")


def listed(workspace: Workspace) -> QuerySet[Task]:
    """The tasks that were not removed, in their order, the archived ones last."""
    rows = Task.objects.filter(workspace=workspace.pk, is_removed=False)
    return rows.order_by(LAST, "place", "number")


def last_number(workspace: Workspace) -> int:
    """The highest number that a task of the workspace has had; numbers are never used again."""
    rows = Task.objects.filter(workspace=workspace.pk)
    return rows.aggregate(last=Max("number"))["last"] or 0


def mark_of(task: Task) -> str:
    """`[ ]`, `[x]` or `[-]`."""
    return MARKS[task.state]


def lines_of(task: Task) -> list[str]:
    """`t7 [ ] text`, and a line for each note."""
    return [
        f"t{task.number} {mark_of(task)} {task.text}",
        *(f"  note: {one}" for one in task.notes),
    ]


def brief(task: Task) -> dict[str, Any]:
    """A task as events name it: its texts are in its row."""
    return {
        "number": task.number,
        "state": task.state,
        "place": task.place,
        "removed": task.is_removed,
    }


def tasks_of(workspace: Workspace) -> list[dict[str, Any]]:
    """The bodies of the tasks, in their order, and of the newest archived ones."""
    rows = Task.objects.filter(workspace=workspace.pk, is_removed=False, state="archived")
    archived = rows.order_by("-number")[:MOST_ARCHIVED]
    return [_body(one) for one in (*current(workspace), *archived)]


def _body(task: Task) -> dict[str, Any]:
    return {
        **brief(task),
        "ref": f"t{task.number}",
        "text": task.text,
        "notes": task.notes,
        "made_at": instant(task.made_at),
    }
