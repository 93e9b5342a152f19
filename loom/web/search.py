"""Reading for the page's scripts: search, excerpts and marks, and the text of a buffer."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET
from pydantic_core import to_json

from loom import access
from loom.models import Mark, Node, Participant, Tree, Workspace
from loom.queries.lookup import path_of
from loom.queries.node_rows import NodeRow, pieces_of, rows_of, writers_of
from loom.queries.search import Hit, find_in_tree
from loom.queries.trees import marks_of
from loom.rules.identity import Pieces, looks_like_id
from loom.rules.images import beginning
from loom.web.avatars import cast_of
from loom.web.requests import PersonRequest, person, place_at

MAX_HITS = 20
MAX_LIT = 5000
MAX_EXCERPTS = 100
EXCERPT = 120
AROUND = 40
GROVE_PAGES = (
    ("", gettext_noop("Trees")),
    ("/participants", gettext_noop("Participants")),
    ("/money", gettext_noop("Money")),
    ("/people", gettext_noop("People and invitations")),
    ("/settings", gettext_noop("Settings of the grove")),
)
OWN_PAGES = (
    ("/settings", gettext_noop("Name, theme, language, password")),
    ("/settings/look", gettext_noop("Appearance and writing: typeface, size, line width")),
    ("/settings/keys", gettext_noop("Keyboard shortcuts")),
    ("/settings/access", gettext_noop("API keys and browsers")),
    ("/guide", gettext_noop("Guide")),
    ("/about", gettext_noop("About Heddle")),
)


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
    """`{id: summary, else first words}` of the nodes `?ids=a,b`, at most 100; `by` has who wrote
    most of those that were edited or split, as `{id: participant}`."""
    _, tree = access.get_tree(request.user, uid)
    ids = [
        one for one in request.GET.get("ids", "").split(",")[:MAX_EXCERPTS] if looks_like_id(one)
    ]
    found = Node.objects.filter(tree=tree, local_id__in=ids)
    words: dict[str, Any] = {
        local_id: beginning(summary or text, EXCERPT)
        for local_id, text, summary in found.values_list("local_id", "text", "summary")
    }
    edited = rows_of(list(found.filter(edited_from__isnull=False).values_list("id", flat=True)))
    pieces = pieces_of(edited) if edited else {}
    by = {row.local_id: writers_of(row, pieces[row.id])[0] for row in edited}
    return JsonResponse({**words, **({"by": by} if by else {})})


MAX_TREES = 8
MAX_PEOPLE = 60


@require_GET
@person
def palette(request: PersonRequest) -> HttpResponse:
    """`{trees: [{words, soft, href, uid}], places: [{words, soft, href}]}`: what the command bar
    leads to besides nodes. Trees of all groves of the person whose title or tags contain `?q=`,
    those that they opened first; places only without `q`, because they are always the same."""
    query = request.GET.get("q", "").strip().replace("\0", "")
    trees = [
        {
            "uid": tree.uid,
            "words": tree.title or gettext("Untitled tree"),
            "soft": tree.grove.name,
            "href": f"/trees/{tree.uid}",
        }
        for tree in _trees(request, query)
    ]
    return JsonResponse({"trees": trees, "places": [] if query else _places(request)})


def _trees(request: PersonRequest, query: str) -> QuerySet[Tree]:
    rows = access.visible_trees(request.user).filter(archived_at__isnull=True)
    if query:
        tagged = Mark.objects.filter(
            kind="tag", removed_at__isnull=True, item__kind="tree", label__icontains=query
        )
        rows = rows.filter(Q(title__icontains=query) | Q(pk__in=tagged.values("tree_id")))
    opened = Workspace.objects.filter(tree=OuterRef("pk"), participant__user=request.user)
    rows = rows.annotate(is_opened=Exists(opened)).order_by("-is_opened", "-touched_at", "-id")
    return rows.select_related("grove")[:MAX_TREES]


def _places(request: PersonRequest) -> list[dict[str, str]]:
    """Pages of the groves, their participants, and the person's settings."""
    groves = list(access.visible_groves(request.user))
    found = [
        {"words": f"{gettext(words)}", "soft": grove.name, "href": f"/groves/{grove.uid}{path}"}
        for grove in groves
        for path, words in GROVE_PAGES
    ]
    people = Participant.objects.filter(grove__in=groves, archived_at__isnull=True)
    for one in people.select_related("grove").order_by("id")[:MAX_PEOPLE]:
        page = f"participants/{one.uid}" if one.kind == "model" else "people"
        soft = one.model_ref if one.kind == "model" else one.grove.name
        found.append({"words": one.name, "soft": soft, "href": f"/groves/{one.grove.uid}/{page}"})
    own = gettext("Settings")
    return found + [
        {"words": gettext(words), "soft": own, "href": path} for path, words in OWN_PAGES
    ]


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
    slots = {row.slot_id: row.local_id for row in rows if row.id == row.slot_id}
    others = {row.slot_id for row in rows} - slots.keys()
    slots |= dict(Node.objects.filter(pk__in=others).values_list("id", "local_id"))
    found = [_node(row, slots, pieces[row.id]) for row in rows]
    return HttpResponse(to_json({"nodes": found}), content_type="application/json")


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
