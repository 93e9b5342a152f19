"""Looking for nodes: search in a tree, and what map and outline tell of many nodes."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from loom import access
from loom.commands import growth
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.who import cast_of
from loom.models import Node
from loom.queries.find import Hit, find_in_tree
from loom.queries.marks import marks_of
from loom.rules.ids import looks_like_id

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
    workspace = growth.workspace_of(actor.participant, tree)
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
