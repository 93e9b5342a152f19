"""The calls of tools that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from agents.outside_tools.models import ToolCall
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _tool_calls_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """What was called from workspaces of the tree."""
    return [ToolCall.objects.filter(workspace__tree=tree)]
