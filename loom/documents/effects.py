"""What happens to documents, and what a line does to its workspace's view of one."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from loom.documents.models import DocumentView
from loom.engine.context import Context
from loom.engine.effects import Effect, stores
from loom.engine.event_kinds import Body, Payload, event
from loom.engine.storing import Storing
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@event("document.added", stream="grove")
class DocumentAdded(Payload):
    """A document was made. `text`: the hash and the length of its text."""

    document: Body
    text: Body


@event("document.changed", stream="grove")
class DocumentChanged(Payload):
    """A document has another title, kind or text: which of them has `changed`, and for a text its
    hash, its length, and who wrote it since the revision before."""

    document: Body
    changed: list[str]
    text: Body = {}
    authors: list[str] = []


@dataclass(frozen=True)
class DocumentSeen(Effect):
    """The workspace has seen a revision (its number) of a document (its row id)."""

    document: int
    revision: int


@stores(DocumentSeen)
def _store_seen(storing: Storing, effects: list[DocumentSeen]) -> None:
    for document, revision in {effect.document: effect.revision for effect in effects}.items():
        DocumentView.objects.update_or_create(
            workspace=storing.workspace, document_id=document, defaults={"revision": revision}
        )


def seen_by_line(context: Context, document: int) -> int | None:
    """The revision of a document that the line has counted as seen so far, if any."""
    seen = [
        effect.revision
        for effect in context.effects.of(DocumentSeen)
        if effect.document == document
    ]
    return seen[-1] if seen else None


@erased_with_tree
def _views_of(tree: Tree) -> Iterable[QuerySet[DocumentView]]:
    """What workspaces of an erased tree have seen."""
    return [DocumentView.objects.filter(workspace__tree=tree)]
