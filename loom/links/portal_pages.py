"""Portals as parts of pages: what a text names, or what links lead to, drawn for its reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor
from loom.errors import not_found
from loom.language.portals import EMBED, left_of, targets_of
from loom.links.foot import portals_of
from loom.links.portals import (
    MOST_SHOWN,
    NamedItem,
    PortalEnd,
    demand_not_deep,
    ends_of,
    items_linked,
    items_named,
)
from loom.links.queries import written
from loom.permissions import LOOM
from loom.site import markdown
from loom.site.page_requests import PersonRequest, known_node, person
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree

MOST_PATH = 60  # portals around one that are read


@dataclass(frozen=True)
class PortalEndShown:
    """One item inside a portal. `href` is where it is opened, empty if there is nothing to open;
    `base` the address of its own portals; `id` its local id, if it is a node of this tree. `source`
    is the address of its text, `ref` how a suggestion names it, and `tree` where that is written;
    empty if nothing can be suggested. `by`: who wrote it, "You" for the reader."""

    end: PortalEnd
    href: str = ""
    id: str = ""
    base: str = ""
    body: str = ""
    source: str = ""
    ref: str = ""
    tree: str = ""
    by: str = ""


@require_GET
@person
def of_node(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The items that links of type `?type=` lead to from a node."""
    actor, tree = access.get_tree(request.user, uid)
    node = _node(tree, local_id)
    items, many = items_linked(actor, node, request.GET.get("type", ""))
    line = f"list {node.local_id} {request.GET.get('type', '')}"
    return drawn_portal(request, actor, tree, items, many, line=line)


@require_GET
@person
def of_tree(request: PersonRequest, uid: str) -> HttpResponse:
    """The items `?to=` of a portal in a text of a tree, of type `?type=`."""
    actor, tree = access.get_tree(request.user, uid)
    to = request.GET.get("to", "")[:500]
    items = items_named(actor, tree, targets_of(to))
    return drawn_portal(request, actor, tree, items, len(items), left=left_of(to))


@require_GET
@person
def foot_of_node(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The portals at the foot of a node, for this reader only."""
    actor, tree = access.get_tree(request.user, uid)
    node = _node(tree, local_id)
    portals = portals_of(actor, {node.pk: node.slot_id}).get(node.pk, ())
    base = f"/trees/{tree.uid}/nodes/{node.local_id}"
    return render(request, "parts/portals.html", {"portals": portals, "base": base})


@require_GET
@person
def goto_from_tree(request: PersonRequest, uid: str) -> HttpResponse:
    """Leads to the item `?to=` that a text of a tree names."""
    actor, tree = access.get_tree(request.user, uid)
    return leads_to(items_named(actor, tree, [request.GET.get("to", "")[:300]]))


def leads_to(items: Sequence[NamedItem]) -> HttpResponse:
    """Leads to the item that is named. NOT_FOUND if there is none, or none that is seen."""
    item = items[0].item if items else 0
    if not item:
        raise not_found(items[0].written[:80] if items else "What is named")
    kind, _, name = written([item], 0)[item].partition(":")
    if kind == "doc":
        return HttpResponseRedirect(f"/documents/{name}")
    tree, _, node = name.partition(" node:")
    return HttpResponseRedirect(f"/trees/{tree}?node={node}" if node else f"/trees/{tree}")


def _node(tree: Tree, local_id: str) -> Node:
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    return node


def drawn_portal(
    request: PersonRequest,
    actor: Actor,
    here: Tree | None,
    items: Sequence[NamedItem],
    many: int,
    *,
    line: str = "",
    left: Sequence[str] = (),
) -> HttpResponse:
    """The items of a portal, whose `?type=` and `?path=` are in the address, as its reader sees
    them; `line` lists those that are over, `left` are those that a text names beyond the most of
    one portal. LIMIT_EXCEEDED for one that lies too deep."""
    path = [kind for kind in request.GET.get("path", "").split(",") if kind][:MOST_PATH]
    demand_not_deep(actor.grove, path)
    is_embed = request.GET.get("type", "") == EMBED
    ends = ends_of(actor, here, items, newest=is_embed)
    context = {
        "ends": [_end(actor, here, end) for end in ends],
        "rest": max(0, many - len(items)) + len(left),
        "is_embed": is_embed,
        "lines": [f"{line} after:{MOST_SHOWN}"] if line else [f"open {target}" for target in left],
    }
    return render(request, "parts/portal.html", context)


def writer_of(actor: Actor, node: Node) -> str:
    """The name of who wrote a node; "You" for the actor."""
    return gettext("You") if node.author_id == actor.participant.pk else node.author.name


def _href(end: PortalEnd) -> str:
    """Where an item is opened."""
    node = end.seen.node
    if node is not None:
        return f"/trees/{node.tree.uid}?node={node.local_id}"
    return f"/documents/{end.document.uid}" if end.document else f"/trees/{end.seen.ref[5:]}"


def _end(actor: Actor, here: Tree | None, end: PortalEnd) -> PortalEndShown:
    if end.seen.is_gone:
        return PortalEndShown(end)
    href, node, document = _href(end), end.seen.node, end.document
    may_suggest = LOOM in actor.permissions and bool(end.text)
    if node is not None:
        base = f"/trees/{node.tree.uid}/nodes/{node.local_id}"
        is_text = node.kind == "text" and node.parent_slot_id is not None
        return PortalEndShown(
            end,
            href,
            by=writer_of(actor, node),
            id=node.local_id if here is not None and node.tree_id == here.pk else "",
            base=base,
            body=markdown.rendered(end.text, f"/trees/{node.tree.uid}"),
            source=f"{base}/text",
            tree=node.tree.uid if may_suggest and is_text else "",
            ref=node.local_id,
        )
    if document is None:  # a whole tree
        return PortalEndShown(end, href)
    base, section = f"/documents/{document.uid}", end.part.removeprefix("§").strip('"')
    is_found = not end.part or end.part.startswith("§")  # its lines may be others by then
    tree = here or grove_texts().home_of(actor, document)
    return PortalEndShown(
        end,
        href,
        base=base,
        body=markdown.rendered(end.text, base),
        source=f"/api{base}?section={quote(section)}" if end.part else f"/api{base}",
        tree=tree.uid if may_suggest and is_found and tree is not None else "",
        ref=f"doc:{document.uid} {end.part}".strip(),
    )
