"""Documents that somebody may read."""

from typing import Any

from django.db.models import QuerySet, Value
from django.db.models.expressions import Exists, OuterRef

from loom.access import Actor, by_uid, demand_role, of_grove
from loom.documents.models import Document
from loom.language.ids import ids_in
from loom.links.models import Link
from loom.people.models import User
from loom.permissions import CROSS_TREE, READ_DOCUMENTS, Role
from loom.trees.models import Tree

_DOCUMENT = by_uid(Document, "grove", "maker")


def documents_for(actor: Actor, tree: Tree | None = None) -> QuerySet[Document]:
    """The documents that the actor may read: none without doc_read; with cross_tree those of the
    grove, otherwise those linked to the tree or to a node of it."""
    documents = Document.objects.filter(grove=actor.grove)
    if READ_DOCUMENTS not in actor.permissions:
        return documents.none()
    if CROSS_TREE in actor.permissions:
        return documents
    return linked_to(tree, documents) if tree is not None else documents.none()


def linked_to(tree: Tree | tuple[Any, Any], rows: QuerySet[Document]) -> QuerySet[Document]:
    """Those of the documents that are linked to the tree (or `ids_in` it) or to a node of it."""
    first, last = ids_in(tree.pk) if isinstance(tree, Tree) else tree
    links, own = Link.objects.filter(removed_at__isnull=True), Value(0) - OuterRef("pk")
    there = links.filter(source=own, target__gte=first, target__lte=last)
    back = links.filter(target=own, source__gte=first, source__lte=last)
    return rows.filter(Exists(there) | Exists(back))


def get_document(user: User, uid: str, *, role: Role = "reader") -> tuple[Actor, Document]:
    """A document of one of the user's groves, for a member with at least `role`."""
    actor, row = of_grove(user, _DOCUMENT, uid, "This document")
    demand_role(actor, role)
    return actor, row
