"""What a portal opens onto: the linked items, drawn in place below the node."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor
from loom.doors.web import markdown
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.places import known_node
from loom.doors.web.shown import MAX_SHOWN, Drawn
from loom.models import Node, Tree
from loom.queries.beside import Seen, links_of
from loom.queries.portals import Portal, portals_of
from loom.rules.refusals import not_found

MOST = 50


@dataclass(frozen=True)
class EndShown:
    """One linked item. `tree` and `tree_title` are empty for this tree; `id` for a whole one."""

    id: str
    by: str
    body: SafeString
    note: str
    tree: str
    tree_title: str
    portals: tuple[Portal, ...]
    is_cut: bool
    is_pruned: bool


@require_GET
@person
def portal(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """What `?type=` leads to from a node, at most 50 items, oldest link first."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    kind = request.GET.get("type", "")
    ends = [one for one in links_of(actor, node) if one.type == kind and not one.is_broken]
    context = {
        "ends": [_end(actor, tree, one) for one in ends[:MOST]],
        "rest": max(0, len(ends) - MOST),
    }
    return render(request, "parts/portal.html", context)


def portals_out(actor: Actor, tree: Tree, nodes: Sequence[Drawn]) -> dict[str, str]:
    """What leads from nodes out of their grove, drawn for the actor, by local id."""
    found = portals_of(actor, [one.key for one in nodes], outside=tree.grove) if nodes else {}
    return {
        one.id: render_to_string(
            "parts/portals.html", {"portals": found[one.key], "of": one.id, "in": tree.uid}
        )
        for one in nodes
        if one.key in found
    }


@require_GET
@person
def out(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The portals of a node that lead out of its grove, for who asks alone."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    found = portals_of(actor, [node.pk], outside=tree.grove).get(node.pk, ())
    return render(
        request, "parts/portals.html", {"portals": found, "of": node.local_id, "in": tree.uid}
    )


def _end(actor: Actor, tree: Tree, seen: Seen) -> EndShown:
    if seen.node is None:
        empty = markdown.plain("")
        return EndShown("", "", empty, seen.note, seen.tree_uid, seen.tree_title, (), False, False)
    node: Node = seen.node
    elsewhere = node.tree_id != tree.pk
    return EndShown(
        id=node.local_id,
        by=node.author.name,
        body=markdown.rendered(node.text[:MAX_SHOWN]),
        note=seen.note,
        tree=node.tree.uid,
        tree_title=(node.tree.title or node.tree.uid) if elsewhere else "",
        portals=portals_of(actor, [node.pk]).get(node.pk, ()),
        is_cut=node.length > MAX_SHOWN,
        is_pruned=node.slot.pruned or node.version_pruned,
    )
