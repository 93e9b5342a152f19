"""What workspaces keep of an erased tree: their rows, and windows elsewhere on its texts."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.engine.models import Step
from loom.text.quotations import GONE
from loom.trees.erased_texts import clears_texts, clears_with_steps, of_items
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree
from loom.workspace.models import Task, Window


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Windows and tasks."""
    return [rows.objects.filter(workspace__tree=tree) for rows in (Window, Task)]


@clears_with_steps
def _clear_opened(steps: list[Step]) -> None:
    """Clears the windows that the steps opened."""
    _clear(Window.objects.filter(step__in=[step.pk for step in steps]))


@clears_texts
def _clear_windows_on(tree: Tree) -> None:
    """Clears the windows of other trees that show the tree or a node of it."""
    _clear(Window.objects.filter(of_items(tree)).exclude(workspace__tree=tree))


def _clear(rows: QuerySet[Window]) -> None:
    rows.exclude(text="").update(text=GONE)
    rows.update(nodes=[], place="")
