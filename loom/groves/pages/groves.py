"""A grove's page: its trees and the form for a new one; and search: in a grove, in a tree, and in
the palette.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Exists, F, Max, OrderBy, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat, Left, Lower
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor, visible_groves
from loom.engine.models import Stream
from loom.engine.presence import present
from loom.errors import CommandError, not_found
from loom.language.ids import ORDINAL_BITS, looks_like_id
from loom.notes import queries as tag_queries
from loom.notes.models import Mark
from loom.notes.queries import marks_of
from loom.people.models import Participant
from loom.permissions import WRITE
from loom.reading.queries.provenance import pieces_of, writers_of
from loom.search.filters import By, Filters, Kind, Sort, parse_since
from loom.search.grove_texts import find_texts
from loom.search.queries import Hit, SearchResult, find_in_grove, find_in_tree
from loom.site.display import Who, age_of, cast_of
from loom.site.downloads import attachment
from loom.site.forms import PageForm, Text, Word, Words
from loom.site.page_requests import PersonRequest, frame, in_one_line, person
from loom.text.images import beginning
from loom.transfer.writers import heddle as heddle_writer
from loom.transfer.writers.archive import ZipStream
from loom.trees.commands import trees as trees_module
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.beginnings import BegunText, beginnings_of
from loom.trees.queries.event_log import counts_of
from loom.trees.queries.lookup import PARTS, rows_of
from loom.turns.models import Generation
from loom.workspace.commands import saved

WORDS = 200
MAX_TAGS = 40
SHAPED = 40  # texts in the drawing of a tree
MOST_NAMED = 3  # of who has worked in it


@dataclass(frozen=True)
class TreeShown:
    """One row of the list. `words` is the description, else the first text; `written` about how
    many words its texts have, 0 where nobody counted."""

    uid: str
    title: str
    mode: str
    words: str
    nodes: int
    written: int
    age: str
    at: str
    tags: tuple[str, ...]
    here: tuple[Who, ...]
    news: int
    folder: str
    people: tuple[str, ...]
    more: int
    shape: str

    @property
    def written_shown(self) -> str:
        """The number of words as it is written in the reader's language."""
        return number_format(self.written, force_grouping=True)


def tags_of(actor: Actor) -> list[str]:
    """The tags of trees in the grove, at most 40, by name."""
    labels = _tags(actor).values_list("label", flat=True).distinct()
    return sorted(labels[:MAX_TAGS], key=str.casefold)


def trees_tagged(actor: Actor, tag: str) -> list[int]:
    """The keys of the trees of the grove that have a tag."""
    return list(_tags(actor).filter(label__iexact=tag).values_list("tree_id", flat=True))


def _tags(actor: Actor) -> QuerySet[Mark]:
    seen = access.grove_trees(actor)
    on_trees = Mark.objects.filter(tree__in=seen, kind="tag", removed_at__isnull=True)
    return on_trees.filter(item__kind="tree").order_by("label")


def rows_shown(actor: Actor, trees: Sequence[Tree], cast: Mapping[str, Who]) -> list[TreeShown]:
    """The rows; six more queries, whatever their number, and at most 40 texts of each tree."""
    names = {tree.pk: f"tree:{tree.uid}" for tree in trees}
    streams = Stream.objects.filter(name__in=names.values()).in_bulk(field_name="name")
    firsts = _openings(trees)
    tags = tag_queries.tags_on(trees)
    here = viewers_by_tree(trees, cast)
    asked = Generation.objects.filter(asked_by=actor.participant.pk)
    fresh = counts_of(actor, trees, asked=asked)
    begun = beginnings_of(trees, most=SHAPED)
    writers = _writers(actor, trees, begun, cast)
    return [
        TreeShown(
            uid=tree.uid,
            title=tree.title,
            mode=tree.mode,
            words=beginning(tree.description or firsts.get(tree.pk, ""), WORDS),
            nodes=streams[names[tree.pk]].items if names[tree.pk] in streams else 0,
            written=(streams[names[tree.pk]].words or 0) if names[tree.pk] in streams else 0,
            age=age_of(tree.touched_at),
            at=tree.touched_at.isoformat(),
            tags=tags.get(tree.pk, ()),
            here=here[tree.uid],
            news=fresh.get(tree.pk, 0),
            folder=tree.folder,
            people=writers[tree.pk][:MOST_NAMED],
            more=max(0, len(writers[tree.pk]) - MOST_NAMED),
            shape=shape_of([(node.id, node.above) for node in begun[tree.pk]]),
        )
        for tree in trees
    ]


def _writers(
    actor: Actor,
    trees: Sequence[Tree],
    begun: Mapping[int, list[BegunText]],
    cast: Mapping[str, Who],
) -> dict[int, tuple[str, ...]]:
    """The names of who else has worked in each tree: of those with a workspace there, and of the
    authors of its first texts; one query."""
    writers: dict[int, list[str]] = {}
    for tree in trees:
        writers[tree.pk] = [node.by for node in begun[tree.pk][1:]]
    visits = Workspace.objects.filter(tree__in=trees, participant__grove=actor.grove)
    for tree_id, uid in visits.order_by("pk").values_list("tree_id", "participant__uid"):
        writers[tree_id].append(uid)
    return {
        tree: tuple(cast[uid].name for uid in dict.fromkeys(many) if not cast[uid].is_me)
        for tree, many in writers.items()
    }


def shape_of(nodes: Sequence[tuple[int, int | None]]) -> str:
    """A tiny drawing of (key, key above), parents first: the `d` of an SVG path, with the root at
    the left in a box of 96 by 28. Empty for fewer than two."""
    above = {key: up for key, up in nodes if up is not None}
    kept = {key for key, _ in nodes if key not in above or above[key] in dict(nodes)}
    depth: dict[int, int] = {}
    below: dict[int, list[int]] = {}
    for key, up in nodes:
        if key in kept and (up is None or up in depth):
            depth[key] = 0 if up is None else depth[up] + 1
            if up is not None:
                below.setdefault(up, []).append(key)
    if len(depth) < 2:
        return ""
    across = _heights(depth, below)
    deep, wide = max(depth.values()), max(across.values())
    points = {
        key: (
            round(2 + 92 * level / deep, 1),
            round(14 if not wide else 2 + 24 * across[key] / wide, 1),
        )
        for key, level in depth.items()
    }
    steps = []
    for key, up in above.items():
        if key in points and up in points:
            (x0, y0), (x1, y1) = points[up], points[key]
            steps.append(f"M{x0:g} {y0:g}L{x1:g} {y1:g}")
    return "".join(steps)


def _heights(depth: Mapping[int, int], below: Mapping[int, list[int]]) -> dict[int, float]:
    """How far down each is drawn: leaves one below the other, the others between their children."""
    place: dict[int, float] = {}
    leaves = 0
    todo = [next(iter(depth))]
    order = []
    while todo:
        key = todo.pop()
        order.append(key)
        todo += reversed(below.get(key, []))
    for key in order:
        if not below.get(key):
            place[key] = leaves
            leaves += 1
    for key in reversed(order):
        if below.get(key):
            place[key] = sum(place[child] for child in below[key]) / len(below[key])
    return place


def _openings(trees: Sequence[Tree]) -> dict[int, str]:
    """The beginning of the first text of each tree in its newest version, by the tree's key."""
    slots = [(tree.pk << ORDINAL_BITS) + 2 for tree in trees]
    seen = Node.objects.filter(slot__in=slots, version_pruned=False, slot__pruned=False)
    newest = seen.order_by().values("slot").annotate(newest=Max("id")).values("newest")
    begun = Left("text", 2 * WORDS + 1200)  # as many characters as `beginning` reads
    return dict(Node.objects.filter(pk__in=newest).values_list("tree_id", begun))


def viewers_by_tree(trees: Sequence[Tree], cast: Mapping[str, Who]) -> dict[str, tuple[Who, ...]]:
    """Who has each tree open now, by the tree's uid, without the reader's own other tabs."""
    names = {f"tree:{tree.uid}": tree.uid for tree in trees}
    here = present(names)
    return {
        uid: tuple(cast[who] for who in here.get(name, ()) if who in cast and not cast[who].is_me)
        for name, uid in names.items()
    }


# A grove's page: its trees, the form for a new one, and the search over all of them.


PAGE = 50
MAX_HITS = 30
MAX_FOLDERS = 100
SORTS: dict[str, tuple[str, tuple[str | OrderBy, ...]]] = {
    "touched": (gettext_noop("last changed"), ("-touched_at", "-id")),
    "new": (gettext_noop("newest"), ("-id",)),
    "title": (gettext_noop("title"), (Lower("title").asc(), "id")),
    "size": (gettext_noop("size"), (F("size").desc(nulls_last=True), "-id")),
}


@require_GET
@person
def home(request: PersonRequest) -> HttpResponse:
    """The page of the first grove; without a grove, what to do about it."""
    grove = visible_groves(request.user).first()
    if grove is None:
        return render(request, "pages/no_grove.html")
    return _page(request, access.get_actor(request.user, grove))


@require_GET
@person
def grove_page(request: PersonRequest, uid: str) -> HttpResponse:
    """One grove's trees; `?q=` searches them, `?archived=1` shows the archive."""
    actor, _ = access.get_grove(request.user, uid)
    return _page(request, actor)


@require_GET
@person
def rows(request: PersonRequest, uid: str) -> HttpResponse:
    """The current rows of this part of the list, including who has the trees open."""
    actor, _ = access.get_grove(request.user, uid)
    listed = _listed(request, actor)
    trees = list(listed.trees[listed.offset : listed.offset + PAGE])
    context = {
        "grove": actor.grove,
        "trees": rows_shown(actor, trees, cast_of(actor)),
        "may_write": WRITE in actor.permissions,
    }
    return render(request, "parts/tree_rows.html", context)


@dataclass(frozen=True)
class Listed:
    """The part of the list of trees that a page shows."""

    trees: QuerySet[Tree]
    offset: int
    archived: bool
    tag: str
    folder: str
    sort: str

    @property
    def address(self) -> str:
        """What the address says of this part, without the offset."""
        params = {
            "archived": "1" if self.archived else "",
            "tag": self.tag,
            "folder": self.folder,
            "sort": self.sort if self.sort != "touched" else "",
        }
        return urlencode({name: value for name, value in params.items() if value})


def _listed(request: PersonRequest, actor: Actor) -> Listed:
    """The part that the address requests: `?archived=1`, `?tag=`, `?folder=`, `?sort=`,
    `?offset=`."""
    archived = request.GET.get("archived") == "1"
    tag = request.GET.get("tag", "").strip().removeprefix("#").replace("\0", "")
    asked = request.GET.get("offset", "")
    trees = access.grove_trees(actor).filter(archived_at__isnull=not archived)
    if tag:
        trees = trees.filter(pk__in=trees_tagged(actor, tag))
    folder = request.GET.get("folder", "").strip().replace("\0", "")
    if folder:
        trees = trees.filter(folder=folder)
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else "touched"
    if sort == "size":
        named = Stream.objects.filter(name=Concat(Value("tree:"), OuterRef("uid")))
        trees = trees.annotate(size=Subquery(named.values("items")[:1]))
    trees = trees.order_by(*SORTS[sort][1])
    offset = int(asked) if asked.isdecimal() and len(asked) < 9 else 0
    return Listed(trees, offset, archived, tag, folder, sort)


def folders_of(actor: Actor) -> list[str]:
    """The folders of the trees in the grove, at most 100, by name."""
    trees = access.grove_trees(actor).exclude(folder="")
    return list(trees.order_by("folder").values_list("folder", flat=True).distinct()[:MAX_FOLDERS])


def _page(request: PersonRequest, actor: Actor) -> HttpResponse:
    listed = _listed(request, actor)
    trees, offset = listed.trees, listed.offset
    some = list(trees[offset : offset + PAGE + 1])
    cast = cast_of(actor)
    rows = rows_shown(actor, some[:PAGE], cast)
    context = {
        **frame(request, actor, "trees"),
        "trees": rows,
        "news_total": sum(row.news > 0 for row in rows),
        "archived": listed.archived,
        "is_lost": request.GET.get("lost") == "1",  # they come from a tree that was hidden
        "tag": listed.tag,
        "tags": tags_of(actor),
        "folder": listed.folder,
        "folders": folders_of(actor),
        "sort": listed.sort,
        "sorts": [(name, gettext(words)) for name, (words, _) in SORTS.items()],
        "address_of_list": listed.address,
        "has_archive": access.grove_trees(actor).filter(archived_at__isnull=False).exists(),
        "offset": offset,
        "next": offset + PAGE if len(some) > PAGE else 0,
        "before": max(0, offset - PAGE) if offset else None,
        "may_write": WRITE in actor.permissions,
        "cast": list(cast.values()),
        "saved": saved.saved_by(actor, "search"),
        **_search_results(request, actor),
    }
    return render(request, "pages/grove.html", context)


def _search_results(request: PersonRequest, actor: Actor) -> dict[str, object]:
    """The results of `?q=` in the trees of the grove."""
    query, only = request.GET.get("q", ""), _only(request)
    if not query.strip() and not (only.tag and "q" in request.GET):
        return {}
    asked = request.GET.get("from", "")
    offset = int(asked) if asked.isdecimal() and len(asked) < 7 else 0
    given_by = request.GET.get("by", "")
    by: By = given_by if given_by in get_args(By) else ""  # type: ignore[assignment]
    documents = [] if by == "meaning" else find_texts(actor, query, only)
    if only.type == "document":
        outcome = SearchResult([], 0)
    else:
        outcome = find_in_grove(actor, query, limit=MAX_HITS, offset=offset, only=only, by=by)
    hits = [
        {
            "tree": hit.tree,
            "node": hit.node.local_id if hit.node else "",
            "by": hit.node.author_name if hit.node else "",
            "text": around(hit) if hit.node else "",
            "near": hit.is_near,
        }
        for hit in outcome.hits
    ]
    given = {name: value for name in saved.SEARCH if (value := request.GET.get(name, ""))}
    return {
        "query": query,
        "hits": hits,
        "documents": [] if offset else documents,
        "total": outcome.total - outcome.near + len(documents),
        "near": outcome.near,
        "only": only,
        "search": given,
        "address": urlencode(given),
        "next": offset + MAX_HITS if outcome.total > offset + MAX_HITS else 0,
        "before": max(0, offset - MAX_HITS) if offset else None,
    }


def _only(request: PersonRequest) -> Filters:
    """The filters of the search; a value that cannot be read is ignored."""
    given = request.GET
    day = parse_since(given.get("since", ""))
    kind, sort = given.get("type", ""), given.get("sort", "best")
    return Filters(
        type=kind if kind in get_args(Kind) else "",  # type: ignore[arg-type]
        tag=given.get("tag", "").strip().removeprefix("#").replace("\0", ""),
        author=given.get("author", "").replace("\0", ""),
        since=day,
        archived={"yes": True, "no": False}.get(given.get("in", "")),
        sort=sort if sort in get_args(Sort) else "best",  # type: ignore[arg-type]
    )


class SearchForm(PageForm):
    """The search on the page, and the name to save it under; or the saved one to `remove`."""

    name = Text()
    remove = Text()


SearchForm.base_fields |= {field: Text() for field in saved.SEARCH}


@require_POST
@person
def save_search(request: PersonRequest, uid: str) -> HttpResponse:
    """Saves the search on the page under a name; or removes a saved one."""
    actor, grove = access.get_grove(request.user, uid)
    form = SearchForm.read(request)
    given = {name: form[name] for name in saved.SEARCH if form[name]}
    try:
        if form["remove"]:
            saved.remove(actor, form["remove"])
            messages.success(request, gettext("The search has been removed."))
        else:
            saved.save_own(actor, "search", form["name"] or given.get("q", ""), given)
            messages.success(request, gettext("The search has been saved."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/groves/{grove.uid}?{urlencode(given)}")


class NewTreeForm(PageForm):
    """A new tree, and the participant to `ask` in it first, if any."""

    title = Word()
    mode = Text(empty="dialogue")
    ask = Word()


@require_POST
@person
def make_tree(request: PersonRequest, uid: str) -> HttpResponse:
    """Creates a tree and opens it."""
    actor, grove = access.get_grove(request.user, uid, role="writer")
    try:
        given = NewTreeForm.read(request)
        new = trees_module.NewTree(title=given["title"][:300], mode=given["mode"])
        tree = trees_module.make_tree(actor, new)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/groves/{grove.uid}")
    query = f"?{urlencode({'ask': given['ask']})}" if given["ask"] else ""
    return HttpResponseRedirect(f"/trees/{tree.uid}{query}")


class ChosenForm(PageForm):
    """Trees that were chosen on the page: their ids, what to `do` with them, where to move them,
    and the query of the page to go `back` to."""

    tree = Words()
    do = Text()
    folder = Text()
    back = Text()


@require_POST
@person
def change_chosen(request: PersonRequest, uid: str) -> HttpResponse:
    """Archives, restores, moves or exports the trees that were chosen on the page: `tree` their
    ids, `do` what, `folder` where to. Each is changed as if alone; what was refused is said."""
    actor, grove = access.get_grove(request.user, uid)
    given = ChosenForm.read(request)
    trees = [access.get_tree(request.user, uid)[1] for uid in given["tree"][:PAGE]]
    if any(tree.grove_id != grove.pk for tree in trees):
        raise not_found("This tree")
    do = given["do"]
    back = HttpResponseRedirect(f"/groves/{grove.uid}?{given['back']}")
    if not trees:
        messages.error(request, gettext("Choose trees first."))
        return back
    if do == "export":
        answer: Any = StreamingHttpResponse(_archive(actor, trees), content_type="application/zip")
        answer["Content-Disposition"] = attachment(grove.name, "zip", otherwise="grove")
        return answer  # type: ignore[no-any-return]
    wanted: dict[str, dict[str, Any]] = {
        "archive": {"archived": True},
        "restore": {"archived": False},
        "move": {"folder": given["folder"]},
    }
    changes = wanted.get(do)
    if changes is None:
        raise CommandError(
            "INVALID_SYNTAX",
            "This cannot be done with trees.",
            hint="archive, restore, move or export",
        )
    done = 0
    for tree in trees:
        try:
            trees_module.change_tree(actor, tree, changes)
            done += 1
        except CommandError as refused:
            messages.error(request, f"{tree.title or tree.uid}: {in_one_line(refused)}")
    if done:
        sentence = {
            "archive": ngettext("%(n)s tree archived.", "%(n)s trees archived.", done),
            "restore": ngettext("%(n)s tree restored.", "%(n)s trees restored.", done),
            "move": ngettext("%(n)s tree moved.", "%(n)s trees moved.", done),
        }[do]
        messages.success(request, sentence % {"n": done})
    return back


def _archive(actor: Actor, trees: Sequence[Tree]) -> Iterator[bytes]:
    """A ZIP with a file of Heddle's own for each tree."""
    out = ZipStream()
    for number, tree in enumerate(trees, start=1):
        title = re.sub(r"[^\w -]+", " ", tree.title).strip()[:60] or "tree"
        yield from out.file(f"{number:02} {title}.json", heddle_writer.pieces(actor, tree))
    yield out.end()


# Search in a tree and excerpts, the palette, and marks, for the page's scripts.


MAX_HITS_IN_TREE = 20
MAX_LIT = 5000
MAX_EXCERPTS = 100
EXCERPT = 120
AROUND = 40
GROVE_PAGES = (
    ("", gettext_noop("Trees")),
    ("/documents", gettext_noop("Documents")),
    ("/tags", gettext_noop("Tags")),
    ("/participants", gettext_noop("Participants")),
    ("/money", gettext_noop("Money")),
    ("/people", gettext_noop("People and invitations")),
    ("/settings", gettext_noop("Settings of the grove")),
)
OWN_PAGES = (
    ("/settings", gettext_noop("Name, theme, language, password")),
    ("/settings/look", gettext_noop("Appearance and writing: typeface, size, line width")),
    ("/settings/look", gettext_noop("Default temperature")),
    ("/settings/keys", gettext_noop("Keyboard shortcuts")),
    ("/settings/access", gettext_noop("API keys and browsers")),
    ("/guide", gettext_noop("Guide")),
    ("/about", gettext_noop("About Heddle")),
)


@require_GET
@person
def search(request: PersonRequest, uid: str) -> HttpResponse:
    """`{hits: [{id, text, by, colour, near}], lit: [id], total}`: the matches of `?q=`: the best
    20, best first, and at most 5,000 for the map to highlight; `near`: by its meaning alone, which
    `?by=words` leaves out."""
    actor, tree = access.get_tree(request.user, uid)
    query = request.GET.get("q", "")
    if not query.strip():
        return JsonResponse({"hits": [], "lit": [], "total": 0})
    workspace = access.workspace_of(actor.participant, tree)
    by: By = "words" if request.GET.get("by") == "words" else ""
    outcome = find_in_tree(actor, tree, workspace, query, limit=MAX_HITS_IN_TREE, by=by)
    cast = cast_of(actor)
    hits = [
        {
            "id": hit.node.local_id,
            "text": around(hit),
            "by": cast[hit.node.author_uid].shown,
            "colour": cast[hit.node.author_uid].colour,
            "near": hit.is_near,
        }
        for hit in outcome.hits
        if hit.node is not None
    ]
    lit = Node.objects.filter(pk__in=outcome.every[:MAX_LIT]).values_list("local_id", flat=True)
    return JsonResponse({"hits": hits, "lit": list(lit), "total": outcome.total})


def around(hit: Hit) -> str:
    """The text around the first match, on one line."""
    text = hit.node.text if hit.node is not None else ""
    start = max(0, hit.at - AROUND)
    words = " ".join(text[start : start + EXCERPT].split())
    return f"…{words}" if start else words


@require_GET
@person
def excerpts(request: PersonRequest, uid: str) -> HttpResponse:
    """`{id: summary, else first words}` of the nodes `?ids=a,b`, at most 100; `by` has the main
    author of those that were edited or split, as `{id: participant}`."""
    _, tree = access.get_tree(request.user, uid)
    ids = [
        local_id
        for local_id in request.GET.get("ids", "").split(",")[:MAX_EXCERPTS]
        if looks_like_id(local_id)
    ]
    nodes = Node.objects.filter(tree=tree, local_id__in=ids).order_by()
    words: dict[str, Any] = {
        local_id: beginning(summary or text, EXCERPT)
        for local_id, text, summary in nodes.values_list("local_id", "text", "summary")
    }
    others = Q(edited_from__isnull=False) | Q(form=PARTS)  # may have written in it
    edited = rows_of(list(nodes.filter(others).values_list("id", flat=True)))
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
    """Pages of the groves, their participants, and the person's own: inbox, guide, settings."""
    groves = list(access.visible_groves(request.user))
    places = [
        {"words": f"{gettext(words)}", "soft": grove.name, "href": f"/groves/{grove.uid}{path}"}
        for grove in groves
        for path, words in GROVE_PAGES
    ]
    people = Participant.objects.filter(grove__in=groves, archived_at__isnull=True)
    for participant in people.select_related("grove").order_by("id")[:MAX_PEOPLE]:
        page = f"participants/{participant.uid}" if participant.kind == "model" else "people"
        soft = participant.model_ref if participant.kind == "model" else participant.grove.name
        places.append(
            {
                "words": participant.name,
                "soft": soft,
                "href": f"/groves/{participant.grove.uid}/{page}",
            }
        )
    own = gettext("Settings")
    return [
        *places,
        {"words": gettext("Inbox"), "soft": "", "href": "/mentions"},
        {"words": gettext("Guide"), "soft": "", "href": "/guide"},
        *({"words": gettext(words), "soft": own, "href": path} for path, words in OWN_PAGES),
    ]


@require_GET
@person
def marks(request: PersonRequest, uid: str) -> HttpResponse:
    """`{marks: [[id, kind, label, node]…]}`: the bookmarks and tags on nodes of the tree."""
    actor, tree = access.get_tree(request.user, uid)
    return JsonResponse({"marks": marks_of(actor, tree)})
