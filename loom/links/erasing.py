"""The links, counts and trails that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet

from loom.language.ids import ids_in
from loom.links.models import Link, LinkCount, Trail
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Links, trails, and the counts of links to and from the tree. Links that lead there from other
    trees stay, and are counted as erased."""
    return [
        Link.objects.filter(tree=tree),
        Trail.objects.filter(tree=tree),
        LinkCount.objects.filter(Q(outward=False) | Q(slot__lt=0), home=tree.pk),
        LinkCount.objects.filter(slot__range=ids_in(tree.pk)),
    ]
