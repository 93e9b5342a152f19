"""Reading for the page's scripts: search, excerpts and marks, and the text of a buffer."""

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from loom import access
from loom.models import Node, Tree
from loom.queries.authorship import pieces_of
from loom.queries.lookup import path_of
from loom.queries.node_rows import NodeRow, rows_of
from loom.queries.search import Hit, find_in_tree
from loom.queries.trees import marks_of
from loom.rules.identity import Pieces, looks_like_id
from loom.web.avatars import cast_of
from loom.web.requests import PersonRequest, person, place_at

MAX_HITS = 20
MAX_LIT = 5000
MAX_EXCERPTS = 100
EXCERPT = 120
AROUND = 40


@require_GET
@person
def search(request: PersonRequest, uid: str) -> HttpResponse:
    """`{hits: [{id, text, by, colour}], lit: [id], total}`: what matches `?q=`: the best
    20, best first, and at most 5,000 for the map to light."""
    actor, tree = access.get_tree(request.user, uid)
    query = request.GET.get("q", "")
    if not query.strip():
        return JsonResponse({"hits": [], "lit": [], "total": 0})
    workspace = access.workspace_of(actor.participant, tree)
    found = find_in_tree(actor, tree, workspace, query, limit=MAX_HITS)
    cast = cast_of(actor)
    hits = [
        {
            "id": hit.node.local_id,
            "text": around(hit),
            "by": cast[hit.node.author_uid].shown,
            "colour": cast[hit.node.author_uid].colour,
        }
        for hit in found.hits
        if hit.node is not None
    ]
    lit = Node.objects.filter(pk__in=found.every[:MAX_LIT]).values_list("local_id", flat=True)
    return JsonResponse({"hits": hits, "lit": list(lit), "total": found.total})


def around(hit: Hit) -> str:
    """The text around the first match, on one line."""
    text = hit.node.text if hit.node is not None else ""
    start = max(0, hit.at - AROUND)
    words = " ".join(text[start : start + EXCERPT].split())
    return f"…{words}" if start else words


@require_GET
@person
def excerpts(request: PersonRequest, uid: str) -> HttpResponse:
    """`{id: first words}` of the nodes `?ids=a,b`, at most 100."""
    _, tree = access.get_tree(request.user, uid)
    ids = [
        one for one in request.GET.get("ids", "").split(",")[:MAX_EXCERPTS] if looks_like_id(one)
    ]
    found = Node.objects.filter(tree=tree, local_id__in=ids)
    words = {
        local_id: " ".join(text[: EXCERPT * 2].split())[:EXCERPT]
        for local_id, text in found.values_list("local_id", "text")
    }
    return JsonResponse(words)


@require_GET
@person
def marks(request: PersonRequest, uid: str) -> HttpResponse:
    """`{marks: [[id, kind, label, node]…]}`: the bookmarks and tags on nodes of the tree."""
    actor, tree = access.get_tree(request.user, uid)
    return JsonResponse({"marks": marks_of(actor, tree)})


# The text of a buffer tree for the editor: node by node, and whose each character is.


MAX_IDS = 200


@require_GET
@person
def text(request: PersonRequest, uid: str) -> HttpResponse:
    """`{nodes: [{id, slot, at, text, by: [[participant, length]…], excluded}]}`: the path to
    `?node=` without the root, or the nodes `?ids=a,b`. Lengths in UTF-16 units."""
    _, tree = access.get_tree(request.user, uid)
    if "ids" in request.GET:
        rows = _named(tree, request.GET["ids"].split(","))
    else:
        place = place_at(request, uid)
        rows = path_of(place.actor, tree, place.workspace, place.node)[1:]
    pieces = pieces_of(rows)
    slots = dict(
        Node.objects.filter(pk__in={row.slot_id for row in rows}).values_list("id", "local_id")
    )
    return JsonResponse({"nodes": [_node(row, slots, pieces[row.id]) for row in rows]})


def _named(tree: Tree, ids: list[str]) -> list[NodeRow]:
    wanted = [one.lower() for one in ids[:MAX_IDS] if looks_like_id(one)]
    found = Node.objects.filter(tree=tree, local_id__in=wanted).values_list("id", flat=True)
    return rows_of(list(found))


def _node(row: NodeRow, slots: dict[int, str], pieces: Pieces) -> dict[str, Any]:
    return {
        "id": row.local_id,
        "slot": slots[row.slot_id],
        "at": row.at,
        "text": row.text,
        "by": _units(row.text, pieces),
        "excluded": row.excluded,
    }


def _units(text: str, pieces: Pieces) -> list[tuple[str, int]]:
    """Lengths as browsers count: a character outside the first plane is two."""
    if len(pieces) == 1:
        return [(pieces[0][0], _length(text))]
    found, at = [], 0
    for author, length in pieces:
        found.append((author, _length(text[at : at + length])))
        at += length
    return found


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
