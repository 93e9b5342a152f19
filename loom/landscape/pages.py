"""The page of a map by meaning: the canvas, and beside it the regions as a list, which says the
same in words."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.embedding.embedders import embedder_of
from loom.engine.models import Stream
from loom.engine.streams import name_of
from loom.errors import CommandError, not_found
from loom.landscape import asking, title_requests
from loom.landscape.models import Landscape
from loom.landscape.queries import View, landscape_of, texts_in, trees_seen, view_of
from loom.landscape.regions import MapRegion
from loom.people.models import Grove
from loom.permissions import WRITE
from loom.site.page_requests import PersonRequest, as_shown, frame, in_one_line, is_part, person
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup

MOST_LISTED = 60  # texts of a region


@dataclass
class RegionRow:
    """A region in the list: its number, name and size, and those within it."""

    number: int
    region: MapRegion
    inner: list["RegionRow"]

    @property
    def name(self) -> str:
        """Its title or words."""
        return self.region.name

    @property
    def count(self) -> int:
        """How many texts it has."""
        return len(self.region.members)


def region_rows(view: View) -> list[RegionRow]:
    """The regions as a list of lists: those seen from near within those seen from afar."""
    rows = [RegionRow(at, region, []) for at, region in enumerate(view.regions)]
    top = []
    for row in rows:
        if row.region.level == 0:
            top.append(row)
        elif row.region.within >= 0:
            rows[row.region.within].inner.append(row)
    return top


@require_http_methods(["GET", "HEAD", "POST"])
@person
def tree_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The map of a tree; `?below=` lights a branch, `?find=` what a search finds, and `?region=`
    lists the texts of a region. A POST has it drawn, or stops that."""
    actor, tree = access.get_tree(request.user, uid)
    named = request.GET.get("below", "")[:16]
    below = lookup.find_node(tree, named) if named else None
    if named and below is None:
        raise not_found("This node")
    return _page(request, actor, tree.grove, tree, below)


@require_http_methods(["GET", "HEAD", "POST"])
@person
def grove_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The map of all trees of a grove, as that of a tree."""
    actor, grove = access.get_grove(request.user, uid)
    return _page(request, actor, grove, None, None)


def _page(
    request: PersonRequest, actor: Actor, grove: Grove, tree: Tree | None, below: Node | None
) -> HttpResponse:
    row = landscape_of(grove, tree)
    if request.method == "POST":
        access.demand(actor, {WRITE}, "drawing a map")
        if "titles" in request.POST and row is not None:
            return _titles(request, actor, row)
        if "stop" not in request.POST:
            asking.ask(actor, grove, tree)
        elif row is not None:
            asking.stop(row)
        return HttpResponseRedirect(request.get_full_path())
    find = request.GET.get("find", "")
    context: dict[str, object] = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "row": row,
        "has_embedder": row is not None or embedder_of(grove) is not None,
        "percent": row.done // 10 if row is not None else 0,
        "below": below,
        "find": find,
        "asked": urlencode({name: value for name, value in _asked(below, find).items() if value}),
        "may_draw": WRITE in actor.permissions,
        "seq": _head_of(tree) if tree is not None else 0,
    }
    if row is not None and row.revision and not is_part(request):
        context |= _seen(request, actor, row, below)
    return render(request, "landscape/landscape.html", context)


def _head_of(tree: Tree) -> int:
    """The seq of the newest event of a tree, after which an open map is told of more."""
    rows = Stream.objects.filter(name=name_of(tree))
    return rows.values_list("head", flat=True).first() or 0


def _titles(request: PersonRequest, actor: Actor, row: Landscape) -> HttpResponseRedirect:
    try:
        title_requests.ask_titles(actor, row)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(request.get_full_path())


def _titled(actor: Actor, row: Landscape, view: View, trees: list[Tree]) -> View:
    """The view by whose texts titles are given: that of the page, unless it has other trees or only
    some of it is lit."""
    those = title_requests.trees_titled(actor, row)
    if len(those) == len(trees) and view.lit is None:
        return view
    return view_of(actor, row, those, below=None, find="")


def _asked(below: Node | None, find: str) -> dict[str, str]:
    return {"below": below.local_id if below is not None else "", "find": find.strip()}


def _seen(
    request: PersonRequest, actor: Actor, row: Landscape, below: Node | None
) -> dict[str, object]:
    """What the list beside the map says, and its texts."""
    find = request.GET.get("find", "")
    trees = trees_seen(actor, row)
    refused = None
    try:
        view = view_of(actor, row, trees, below=below, find=find)
    except CommandError as error:  # a search that cannot be read
        refused = as_shown(error)
        view = view_of(actor, row, trees, below=below, find="")
    number = request.GET.get("region", "")
    listed = None
    if number.isdecimal() and len(number) < 4 and int(number) < len(view.regions):
        listed = RegionRow(int(number), view.regions[int(number)], [])
    titles = {}
    agent = title_requests.may_ask(actor, row)
    if agent is not None:
        titles = {
            "offer": title_requests.offer_of(agent, _titled(actor, row, view, trees)),
            "are_titles_going": title_requests.is_asked(row),
            "title_failure": title_requests.last_failure(row),
        }
    return titles | {
        "titled": row.titled,  # as it was when the list was read
        "refused": refused,
        "count": len(view),
        "lit": int(view.lit.sum()) if view.lit is not None else None,
        "regions": region_rows(view),
        "listed": listed,
        "texts": texts_in(view, listed.region, MOST_LISTED) if listed is not None else [],
    }
