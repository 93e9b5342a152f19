"""The current tasks of a workspace."""

from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.models import Workspace
from loom.workspace.models import Task


def current_tasks(workspace: Workspace) -> list[Task]:
    """The tasks that are neither archived nor removed, in order. There are few of them, so they
    are sorted here."""
    if not workspace.pk:  # it is not stored yet
        return []
    tasks = _CURRENT_TASKS.all(of=workspace.pk)
    return sorted(tasks, key=lambda task: (task.place, task.number))


_CURRENT_TASKS = PreparedQuery(
    lambda: Task.objects.filter(
        workspace=Given("of"), is_removed=False, state__in=("unchecked", "checked")
    ).order_by()
)
