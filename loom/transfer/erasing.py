"""What imports keep of an erased tree."""

from django.db.models import Q

from loom.transfer.models import Import, ImportPart
from loom.trees.erased_texts import clears_texts
from loom.trees.models import Tree


@clears_texts
def _clear_reports(tree: Tree) -> None:
    """Clears the report of the import that made the tree, which then points at no tree."""
    ImportPart.objects.filter(tree=tree).update(title="", error=None)
    Import.objects.filter(Q(tree=tree) | Q(parts__tree=tree)).update(report={})
    Import.objects.filter(tree=tree).update(tree=None)
