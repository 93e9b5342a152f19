"""Reading for the page's scripts: search, excerpts and marks, and the text of a buffer."""

import gzip
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse, JsonResponse
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET
from pydantic_core import to_json

from loom import access
from loom.models import Mark, Node, Participant, Tree, Workspace
from loom.queries.node_context import Spot, margins_of
from loom.queries.node_rows import pieces_of, rows_of, with_origins, writers_of
from loom.queries.path_page import PathText, texts_of_path
from loom.queries.search import Hit, find_in_tree
from loom.queries.trees import marks_of
from loom.rules.identity import Pieces, looks_like_id
from loom.rules.node_text import beginning
from loom.web.display import cast_of
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
SMALL = 100_000  # bytes that are sent as they are
LEVEL = 1  # a longer text shall not wait for a smaller file


@require_GET
@person
def text(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` without the root, or the nodes `?ids=a,b`, in columns: `{people, ids,
    texts, by, slots, at, excluded}`, with `wordings` for named nodes.

    `by` is the place of the author in `people`, or `[[place, length]…]` where several wrote the
    text, in UTF-16 units. The rest is by place in `ids`: `slots` and `at` of later versions,
    `wordings` as in a Margin. `excluded` lists places.
    """
    _, tree = access.get_tree(request.user, uid)
    if "ids" in request.GET:
        told = _named(tree, request.GET["ids"].split(","))
    else:
        place = place_at(request, uid)
        told = _path(tree, place.workspace, place.node)
    body = to_json(told)
    answer = HttpResponse(body, content_type="application/json")
    patch_vary_headers(answer, ["Accept-Encoding"])
    if len(body) > SMALL and "gzip" in request.headers.get("Accept-Encoding", ""):
        answer.content = gzip.compress(body, compresslevel=LEVEL, mtime=0)
        answer["Content-Encoding"] = "gzip"
    return answer


def _path(tree: Tree, workspace: Workspace, node: Node) -> dict[str, Any]:
    rows = texts_of_path(tree, workspace, node)
    edited = [key for _, key, *_, is_edited in rows if is_edited]
    origins = with_origins(edited)
    return _columns(rows, pieces_of([origins[one] for one in edited], origins))


def _named(tree: Tree, ids: list[str]) -> dict[str, Any]:
    wanted = [one.lower() for one in ids[:MAX_IDS] if looks_like_id(one)]
    keys = Node.objects.filter(tree=tree, local_id__in=wanted).values_list("id", flat=True)
    rows = rows_of(list(keys))
    later = {row.slot_id for row in rows if row.id != row.slot_id}
    slots = dict(Node.objects.filter(pk__in=later).values_list("id", "local_id"))
    found: list[PathText] = []
    for row in rows:
        slot, at = (slots[row.slot_id], row.at) if row.slot_id in slots else ("", "")
        more = (row.text, row.author_uid, row.excluded, row.more.edited_from_id is not None)
        found.append((row.depth, row.id, row.local_id, slot, at, *more))
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in rows])
    wordings = {at: margins[row.id].wordings for at, row in enumerate(rows)}
    return {**_columns(found, pieces_of(rows)), "wordings": wordings}


def _columns(rows: Sequence[PathText], pieces: Mapping[int, Pieces]) -> dict[str, Any]:
    people: dict[str, int] = {}
    names, texts, by, slots, ats, left_out = [], [], [], {}, {}, []
    for place, (_, key, name, slot, at, text, author, excluded, _) in enumerate(rows):
        names.append(name)
        texts.append(text)
        whose = pieces.get(key) or ((author, 0),)
        runs = [(people.setdefault(who, len(people)), n) for who, n in _units(text, whose)]
        by.append(runs if len(runs) > 1 else runs[0][0])
        if slot:
            slots[place] = slot
        if at:
            ats[place] = at
        if excluded:
            left_out.append(place)
    return {
        "people": list(people),
        "ids": names,
        "texts": texts,
        "by": by,
        "slots": slots,
        "at": ats,
        "excluded": left_out,
    }


def _units(text: str, pieces: Pieces) -> list[tuple[str, int]]:
    """Lengths as browsers count: a character outside the first plane is two. That of a text by one
    author is left out."""
    if len(pieces) == 1:
        return [(pieces[0][0], 0)]
    found, at = [], 0
    for author, length in pieces:
        found.append((author, _length(text[at : at + length])))
        at += length
    return found


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
