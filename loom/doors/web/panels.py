"""Parts beside the path: one node's details, bookmarks, a whole text."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from loom import access
from loom.commands import growth
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.places import known_node
from loom.doors.web.shown import age_of, found_for, personal, reader_of
from loom.doors.web.who import cast_of
from loom.models import Generation, Mark, Node, Tree, Workspace
from loom.queries import beside
from loom.queries.calls import call_of
from loom.queries.margins import Margin, Spot
from loom.queries.standing import standing_of
from loom.rules import addresses
from loom.rules.refusals import not_found

MAX_BOOKMARKS = 500


@dataclass(frozen=True)
class VersionShown:
    """One version of a slot."""

    id: str
    by: str
    colour: int
    age: str
    text: str
    stands: bool
    is_pruned: bool


def _node(tree: Tree, local_id: str) -> Node:
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    return node


@require_GET
@person
def details(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """One node: what may be done with it, its versions, links and provenance."""
    actor, tree = access.get_tree(request.user, uid)
    node = _node(tree, local_id)
    workspace = growth.workspace_of(actor.participant, tree)
    cast = cast_of(actor)
    stands = standing_of([node.slot_id], workspace).get(node.slot_id, (0, ""))[0]
    versions = [
        VersionShown(
            id=one.local_id,
            by=cast[one.author.uid].shown,
            colour=cast[one.author.uid].colour,
            age=age_of(one.created_at),
            text=one.text[:160],
            stands=one.pk == stands,
            is_pruned=one.version_pruned,
        )
        for one in beside.versions_of(node)
    ]
    found = found_for(tree, [Spot(node.pk, node.slot_id)], cast)
    me = actor.participant.uid
    context = {
        "node": found.node(node.pk),
        "margin": found.margins[node.pk],
        "is_bookmarked": any(by == me for _, by in found.margins[node.pk].bookmarks),
        "is_reworded": _is_reworded(found.margins[node.pk], node, workspace),
        "row": node,
        "is_root": node.parent_slot_id is None,
        "versions": versions,
        "links": beside.links_of(actor, node),
        "generation": Generation.objects.filter(uid=node.generation_uid).first(),
        "call": call_of(node),
        "tree": tree,
        "can": access.abilities(actor, tree),
    }
    drawn = render_to_string("parts/details.html", context, request)
    return HttpResponse(personal(drawn, reader_of(actor)))


def _is_reworded(margin: Margin, node: Node, workspace: Workspace) -> bool:
    """Whether another wording stands above the node, for this reader, than it goes on from."""
    if margin.wordings is None or node.parent_slot_id is None:
        return False
    above = standing_of([node.parent_slot_id], workspace)[node.parent_slot_id][1]
    return above not in margin.wordings


@require_GET
@person
def whole(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The whole text of a node, byte for byte."""
    _, tree = access.get_tree(request.user, uid)
    return HttpResponse(_node(tree, local_id).text, content_type="text/plain; charset=utf-8")


@dataclass(frozen=True)
class BookmarkShown:
    """A bookmark in the left pane."""

    id: str
    label: str
    by: str
    colour: int
    text: str


@require_GET
@person
def bookmarks(request: PersonRequest, uid: str) -> HttpResponse:
    """The bookmarks of the tree, newest first."""
    actor, tree = access.get_tree(request.user, uid)
    cast = cast_of(actor)
    marks = list(
        Mark.objects.filter(tree=tree, kind="bookmark", removed_at__isnull=True)
        .select_related("participant")
        .order_by("-at", "-id")[:MAX_BOOKMARKS]
    )
    ids = {addresses.node_id(mark.item) or 0 for mark in marks}
    nodes = {node.pk: node for node in Node.objects.filter(pk__in=ids, tree=tree)}
    shown = []
    for mark in marks:
        node = nodes.get(addresses.node_id(mark.item) or 0)
        if node is not None:
            who = cast[mark.participant.uid]
            shown.append(
                BookmarkShown(node.local_id, mark.label, who.shown, who.colour, node.text[:120])
            )
    return render(request, "parts/bookmarks.html", {"bookmarks": shown, "tree": tree})
