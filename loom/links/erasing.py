"""The links, counts and trails that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from loom.language.ids import ids_in
from loom.links.commands.counting import count_removed
from loom.links.models import Link, LinkCount, Trail
from loom.trees.erasing import erased_with_tree, heir_of
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Links, trails, and the counts of links to and from the tree. Links that lead there from other
    trees stay, and are counted as erased; links of documents that lead elsewhere, in another tree.
    """
    _keep_links_of_documents(tree)
    return [
        Link.objects.filter(tree=tree),
        Trail.objects.filter(tree=tree),
        LinkCount.objects.filter(Q(outward=False) | Q(slot__lt=0), home=tree.pk),
        LinkCount.objects.filter(slot__range=ids_in(tree.pk)),
    ]


def _keep_links_of_documents(tree: Tree) -> None:
    """Moves the links of documents that lead elsewhere to another tree, and removes the others."""
    rows = Link.objects.filter(tree=tree, source__kind="document")
    if (heir := heir_of(tree)) is not None:
        rows.exclude(target_slot__range=ids_in(tree.pk)).update(tree=heir)
    # The counts of the others are of other places than those of the tree.
    for link in rows.filter(removed_at=None).iterator():
        with transaction.atomic():
            count_removed(link, tree.grove_id)
            link.delete()
