"""The claims and checks that are deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from loom.claims.models import Check, CheckResult, Cite, Claim, Commitment, TokenState
from loom.language.ids import ids_in
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """Claims with what belongs to them, and checks with their results."""
    return [
        Commitment.objects.filter(claim__tree=tree),
        Cite.objects.filter(claim__tree=tree),
        Claim.objects.filter(tree=tree),
        TokenState.objects.filter(item__range=ids_in(tree.pk)),
        CheckResult.objects.filter(item__range=ids_in(tree.pk)),
        CheckResult.objects.filter(rule__tree=tree),
        Check.objects.filter(tree=tree),
    ]
