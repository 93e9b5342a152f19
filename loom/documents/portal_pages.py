"""Portals in documents and at their foot, as parts of pages."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from loom.access import Actor
from loom.documents import access as document_access
from loom.documents import queries
from loom.documents.models import Document
from loom.language import ids
from loom.language.portals import left_of, targets_of
from loom.links.foot import Portal, portals_of
from loom.links.portal_pages import drawn_portal, leads_to
from loom.links.portals import NamedItem, items_linked, refs_of, text_named
from loom.site.page_requests import PersonRequest, person
from loom.trees.models import Tree


@require_GET
@person
def of_document(request: PersonRequest, uid: str) -> HttpResponse:
    """The items `?to=` of a portal in a document, or those that its links of type `?type=` lead
    to."""
    actor, document = document_access.get_document(request.user, uid)
    if "to" in request.GET:
        to = request.GET["to"][:500]
        items = named_in(actor, document, targets_of(to))
        return drawn_portal(request, actor, None, items, len(items), left=left_of(to))
    items, many = items_linked(actor, document, request.GET.get("type", ""))
    return drawn_portal(request, actor, None, items, many)


@require_GET
@person
def goto_from_document(request: PersonRequest, uid: str) -> HttpResponse:
    """Leads to the item `?to=` that a document names."""
    actor, document = document_access.get_document(request.user, uid)
    return leads_to(named_in(actor, document, [request.GET.get("to", "")[:300]]))


def foot_of_document(actor: Actor, document: Document) -> tuple[Portal, ...]:
    """The portals at the foot of a document."""
    own = document.item_id
    return portals_of(actor, {own: own}).get(own, ())


def named_in(actor: Actor, document: Document, targets: Sequence[str]) -> list[NamedItem]:
    """The items that targets name in a document, in order, as far as the actor may see them: nodes
    as its embeds name them. Four queries, and one for each document."""
    refs = refs_of(targets)
    inside = [target for target, ref in refs.items() if ref is not None and ref.kind != "document"]
    ends = {
        target: _item_of(end) for target, end in queries.embedded(actor, document, inside).items()
    }
    items = []
    for target, ref in refs.items():
        item = ends.get(target, 0)
        if ref is not None and ref.kind == "document":
            item = text_named(actor, None, ref)
        items.append(NamedItem(item, target, ref.slice if ref is not None else None))
    return items


def _item_of(end: Tree | int) -> int:
    return ids.of_tree(end.pk) if isinstance(end, Tree) else ids.of_node(end)
