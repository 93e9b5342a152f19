"""The searches of the web that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree
from loom.web_search.models import WebSearch


@erased_with_tree
def _searches_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """What was searched from workspaces of the tree."""
    return [WebSearch.objects.filter(workspace__tree=tree)]
