"""A grove's page: its trees, a new one, search over all of them."""

from dataclasses import dataclass
from typing import get_args

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor, visible_groves
from loom.commands import growth
from loom.doors.web.fields import text_of
from loom.doors.web.finding import around
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.shown import age_of
from loom.doors.web.who import cast_of
from loom.models import ORDINAL_BITS, Node, Stream, Tree
from loom.queries.filters import Filters, Kind, Sort, parse_since
from loom.queries.find import find_in_grove
from loom.rules.refusals import Refused

PAGE = 50
MAX_HITS = 30
WORDS = 200


@dataclass(frozen=True)
class TreeShown:
    """One row of the list. `words` are the description, else the first text."""

    uid: str
    title: str
    mode: str
    words: str
    nodes: int
    age: str
    at: str


@require_GET
@person
def home(request: PersonRequest) -> HttpResponse:
    """The first grove's page; without a grove, what to do about it."""
    grove = visible_groves(request.user).order_by("id").first()
    if grove is None:
        return render(request, "pages/no_grove.html")
    return _page(request, access.get_actor(request.user, grove))


@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """One grove's trees; `?q=` searches them, `?archived=1` shows the archive."""
    actor, _ = access.get_grove(request.user, uid)
    return _page(request, actor)


def _page(request: PersonRequest, actor: Actor) -> HttpResponse:
    archived = request.GET.get("archived") == "1"
    asked = request.GET.get("offset", "")
    offset = int(asked) if asked.isdecimal() and len(asked) < 9 else 0
    trees = Tree.objects.filter(
        grove=actor.grove, erasing_at__isnull=True, archived_at__isnull=not archived
    )
    context = {
        **frame(request, actor, "trees"),
        "trees": _shown(list(trees[offset : offset + PAGE])),
        "archived": archived,
        "has_archive": trees.model.objects.filter(
            grove=actor.grove, erasing_at__isnull=True, archived_at__isnull=False
        ).exists(),
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
        "groves": list(visible_groves(request.user).order_by("id")),
        "current": current,
        "is_owner": actor.is_owner,
    }


def _shown(trees: list[Tree]) -> list[TreeShown]:
    """The rows; two queries more, whatever their number."""
    names = {f"tree:{tree.uid}": tree.pk for tree in trees}
    counts = dict(Stream.objects.filter(name__in=names).values_list("name", "items"))
    firsts = dict(
        Node.objects.filter(pk__in=[(tree.pk << ORDINAL_BITS) + 2 for tree in trees]).values_list(
            "tree_id", "text"
        )
    )
    return [
        TreeShown(
            uid=tree.uid,
            title=tree.title,
            mode=tree.mode,
            words=" ".join((tree.description or firsts.get(tree.pk, ""))[:WORDS].split()),
            nodes=counts.get(f"tree:{tree.uid}", 0),
            age=age_of(tree.touched_at),
            at=tree.touched_at.isoformat(),
        )
        for tree in trees
    ]


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
        made = growth.make_tree(
            actor,
            title=text_of(request, "title")[:300],
            mode=request.POST.get("mode", "dialogue"),
        )
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
        return HttpResponseRedirect(f"/groves/{grove.uid}")
    return HttpResponseRedirect(f"/trees/{made.uid}")
