"""A grove's page: its trees, a new one, search over all of them."""

from dataclasses import dataclass
from typing import get_args

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor, visible_groves
from loom.commands import forest
from loom.doors.web.fields import text_of
from loom.doors.web.finding import around
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.listing import here_in, rows_shown, tags_of, trees_tagged
from loom.doors.web.who import cast_of
from loom.models import Tree
from loom.queries.filters import Filters, Kind, Sort, parse_since
from loom.queries.find import find_in_grove
from loom.rules.refusals import Refused

PAGE = 50
MAX_HITS = 30


@require_GET
@person
def home(request: PersonRequest) -> HttpResponse:
    """The first grove's page; without a grove, what to do about it."""
    grove = visible_groves(request.user).first()
    if grove is None:
        return render(request, "pages/no_grove.html")
    return _page(request, access.get_actor(request.user, grove))


@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """One grove's trees; `?q=` searches them, `?archived=1` shows the archive."""
    actor, _ = access.get_grove(request.user, uid)
    return _page(request, actor)


@require_GET
@person
def here(request: PersonRequest, uid: str) -> HttpResponse:
    """Who has the trees of the same part of the list open now."""
    actor, _ = access.get_grove(request.user, uid)
    listed = _listed(request, actor)
    shown = here_in(actor, list(listed.trees[listed.offset : listed.offset + PAGE]))
    return render(request, "parts/here.html", {"here": shown.items()})


@dataclass(frozen=True)
class Listed:
    """The trees that a page of the list is a part of."""

    trees: QuerySet[Tree]
    offset: int
    archived: bool
    tag: str


def _listed(request: PersonRequest, actor: Actor) -> Listed:
    """What the address asks for: `?archived=1`, `?tag=`, `?offset=`."""
    archived = request.GET.get("archived") == "1"
    tag = request.GET.get("tag", "").strip().removeprefix("#").replace("\0", "")
    asked = request.GET.get("offset", "")
    trees = Tree.objects.filter(
        grove=actor.grove, erasing_at__isnull=True, archived_at__isnull=not archived
    )
    if tag:
        trees = trees.filter(pk__in=trees_tagged(actor, tag))
    offset = int(asked) if asked.isdecimal() and len(asked) < 9 else 0
    return Listed(trees, offset, archived, tag)


def _page(request: PersonRequest, actor: Actor) -> HttpResponse:
    listed = _listed(request, actor)
    trees, offset = listed.trees, listed.offset
    context = {
        **frame(request, actor, "trees"),
        "trees": rows_shown(actor, list(trees[offset : offset + PAGE])),
        "archived": listed.archived,
        "tag": listed.tag,
        "tags": tags_of(actor),
        "has_archive": Tree.objects.filter(
            grove=actor.grove, erasing_at__isnull=True, archived_at__isnull=False
        ).exists(),
        "offset": offset,
        "next": offset + PAGE if trees.count() > offset + PAGE else 0,
        "before": max(0, offset - PAGE) if offset else None,
        "may_write": "W" in actor.letters,
        "cast": list(cast_of(actor).values()),
        **_found(request, actor),
    }
    return render(request, "pages/grove.html", context)


def frame(request: PersonRequest, actor: Actor, current: str) -> dict[str, object]:
    """What every page of a grove shows around its own part."""
    return {
        "grove": actor.grove,
        "groves": list(visible_groves(request.user)),
        "current": current,
        "is_owner": actor.is_owner,
    }


def _found(request: PersonRequest, actor: Actor) -> dict[str, object]:
    """What `?q=` finds in the trees of the grove."""
    query = request.GET.get("q", "")
    if not query.strip():
        return {}
    only = _only(request)
    found = find_in_grove(actor, query, limit=MAX_HITS, only=only)
    hits = [
        {
            "tree": hit.tree,
            "node": hit.node.local_id if hit.node else "",
            "by": hit.node.author_name if hit.node else "",
            "text": around(hit) if hit.node else "",
        }
        for hit in found.hits
    ]
    return {"query": query, "hits": hits, "total": found.total, "only": only}


def _only(request: PersonRequest) -> Filters:
    """The filters beside the search; what cannot be read lets everything through."""
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


@require_POST
@person
def make_tree(request: PersonRequest, uid: str) -> HttpResponse:
    """Makes a tree and opens it."""
    actor, grove = access.get_grove(request.user, uid, role="writer")
    try:
        title, mode = text_of(request, "title")[:300], request.POST.get("mode", "dialogue")
        made = forest.make_tree(actor, forest.NewTree(title=title, mode=mode))
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
        return HttpResponseRedirect(f"/groves/{grove.uid}")
    return HttpResponseRedirect(f"/trees/{made.uid}")
