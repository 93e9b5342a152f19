"""Tasks of a workspace: its list, and what lines, requests and the API show of them."""

from typing import Any

from django.db.models import Max, QuerySet

from loom.models import Task, Workspace
from loom.models.base import Given, Prepared
from loom.rules.identity import instant

MOST_NOTES = 50
MOST_ARCHIVED = 100  # that are listed, the newest ones
MARKS = {"unchecked": "[ ]", "checked": "[x]", "archived": "[-]"}


def rows_of(workspace: Workspace) -> QuerySet[Task]:
    """The tasks that were not removed, in no order."""
    return Task.objects.filter(workspace=workspace, is_removed=False).order_by()


def current(workspace: Workspace) -> list[Task]:
    """The tasks that are neither archived nor removed, in their order. There are few of them, so
    that the database need not sort them."""
    if not workspace.pk:  # it is not stored yet
        return []
    return sorted(_CURRENT.all(of=workspace.pk), key=lambda task: (task.place, task.number))


_CURRENT = Prepared(
    lambda: Task.objects.filter(
        workspace=Given("of"), is_removed=False, state__in=("unchecked", "checked")
    ).order_by()
)


def listed(workspace: Workspace) -> list[Task]:
    """The same, and the newest archived ones after them."""
    archived = rows_of(workspace).filter(state="archived").order_by("-number")
    return [*current(workspace), *archived[:MOST_ARCHIVED]]


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
