"""A grove's page: its trees, the form for a new one, and the search over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor, visible_groves
from loom.commands import saved
from loom.commands import trees as tree_commands
from loom.events.streams import present
from loom.models import ORDINAL_BITS, Mark, Node, Stream, Tree
from loom.queries import trees as tag_queries
from loom.queries.event_log import counts_of
from loom.queries.search import Filters, Kind, Sort, find_in_grove, parse_since
from loom.rules.errors import CommandError
from loom.rules.node_text import beginning
from loom.rules.permissions import WRITE
from loom.web.display import Who, cast_of
from loom.web.node_parts import age_of
from loom.web.requests import PersonRequest, person, text_of
from loom.web.search import around

WORDS = 200
MAX_TAGS = 40


@dataclass(frozen=True)
class TreeShown:
    """One row of the list. `words` is the description, else the first text."""

    uid: str
    title: str
    mode: str
    words: str
    nodes: int
    age: str
    at: str
    tags: tuple[str, ...]
    here: tuple[Who, ...]
    news: int


def tags_of(actor: Actor) -> list[str]:
    """The tags of trees in the grove, at most 40, by name."""
    labels = _tags(actor).values_list("label", flat=True).distinct()
    return sorted(labels[:MAX_TAGS], key=str.casefold)


def trees_tagged(actor: Actor, tag: str) -> list[int]:
    """The keys of the trees of the grove that have a tag."""
    return list(_tags(actor).filter(label__iexact=tag).values_list("tree_id", flat=True))


def _tags(actor: Actor) -> QuerySet[Mark]:
    on_trees = Mark.objects.filter(tree__grove=actor.grove, kind="tag", removed_at__isnull=True)
    return on_trees.filter(item__kind="tree").order_by("label")


def rows_shown(actor: Actor, trees: Sequence[Tree]) -> list[TreeShown]:
    """The rows; four more queries, whatever their number."""
    names = {tree.pk: f"tree:{tree.uid}" for tree in trees}
    counts = dict(Stream.objects.filter(name__in=names.values()).values_list("name", "items"))
    openings = [(tree.pk << ORDINAL_BITS) + 2 for tree in trees]
    firsts = dict(Node.objects.filter(pk__in=openings).values_list("tree_id", "text"))
    tags = tag_queries.tags_on(trees)
    here = viewers_by_tree(actor, trees)
    fresh = counts_of(actor, trees)
    return [
        TreeShown(
            uid=tree.uid,
            title=tree.title,
            mode=tree.mode,
            words=beginning(tree.description or firsts.get(tree.pk, ""), WORDS),
            nodes=counts.get(names[tree.pk], 0),
            age=age_of(tree.touched_at),
            at=tree.touched_at.isoformat(),
            tags=tags.get(tree.pk, ()),
            here=here[tree.uid],
            news=fresh.get(tree.pk, 0),
        )
        for tree in trees
    ]


def tags_on(actor: Actor, tree: Tree) -> tuple[str, ...]:
    """The tags on the tree itself, by name."""
    return tag_queries.tags_on([tree]).get(tree.pk, ())


def viewers_by_tree(actor: Actor, trees: Sequence[Tree]) -> dict[str, tuple[Who, ...]]:
    """Who has each tree open now, by the tree's uid, without the reader's own other tabs."""
    names = {f"tree:{tree.uid}": tree.uid for tree in trees}
    here = present(names)
    cast = cast_of(actor)
    return {
        uid: tuple(cast[who] for who in here.get(name, ()) if who in cast and not cast[who].is_me)
        for name, uid in names.items()
    }


# A grove's page: its trees, the form for a new one, and the search over all of them.


PAGE = 50
MAX_HITS = 30


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
    """The rows of this part of the list as they are now: also who has the trees open."""
    actor, _ = access.get_grove(request.user, uid)
    listed = _listed(request, actor)
    trees = list(listed.trees[listed.offset : listed.offset + PAGE])
    context = {"grove": actor.grove, "trees": rows_shown(actor, trees)}
    return render(request, "parts/tree_rows.html", context)


@dataclass(frozen=True)
class Listed:
    """The part of the list of trees that a page shows."""

    trees: QuerySet[Tree]
    offset: int
    archived: bool
    tag: str


def _listed(request: PersonRequest, actor: Actor) -> Listed:
    """The part that the address asks for: `?archived=1`, `?tag=`, `?offset=`."""
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
    rows = rows_shown(actor, list(trees[offset : offset + PAGE]))
    context = {
        **frame(request, actor, "trees"),
        "trees": rows,
        "news_total": sum(row.news > 0 for row in rows),
        "archived": listed.archived,
        "tag": listed.tag,
        "tags": tags_of(actor),
        "has_archive": Tree.objects.filter(
            grove=actor.grove, erasing_at__isnull=True, archived_at__isnull=False
        ).exists(),
        "offset": offset,
        "next": offset + PAGE if trees.count() > offset + PAGE else 0,
        "before": max(0, offset - PAGE) if offset else None,
        "may_write": WRITE in actor.permissions,
        "cast": list(cast_of(actor).values()),
        "saved": saved.saved_by(actor, "search"),
        **_found(request, actor),
    }
    return render(request, "pages/grove.html", context)


def frame(request: PersonRequest, actor: Actor, current: str) -> dict[str, object]:
    """What every page of a grove shows around its own content."""
    return {
        "grove": actor.grove,
        "groves": list(visible_groves(request.user)),
        "current": current,
        "is_owner": actor.is_owner,
    }


def _found(request: PersonRequest, actor: Actor) -> dict[str, object]:
    """The results of `?q=` in the trees of the grove."""
    query, only = request.GET.get("q", ""), _only(request)
    if not query.strip() and not (only.tag and "q" in request.GET):
        return {}
    asked = request.GET.get("from", "")
    offset = int(asked) if asked.isdecimal() and len(asked) < 7 else 0
    found = find_in_grove(actor, query, limit=MAX_HITS, offset=offset, only=only)
    hits = [
        {
            "tree": hit.tree,
            "node": hit.node.local_id if hit.node else "",
            "by": hit.node.author_name if hit.node else "",
            "text": around(hit) if hit.node else "",
        }
        for hit in found.hits
    ]
    given = {name: value for name in saved.SEARCH if (value := request.GET.get(name, ""))}
    return {
        "query": query,
        "hits": hits,
        "total": found.total,
        "only": only,
        "search": given,
        "address": urlencode(given),
        "next": offset + MAX_HITS if found.total > offset + MAX_HITS else 0,
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


@require_POST
@person
def save_search(request: PersonRequest, uid: str) -> HttpResponse:
    """Keeps the search that the page shows under a name; or removes a kept one."""
    actor, grove = access.get_grove(request.user, uid)
    given = {name: value for name in saved.SEARCH if (value := text_of(request, name))}
    try:
        if request.POST.get("remove"):
            saved.remove(actor, text_of(request, "remove"))
            messages.success(request, gettext("The search has been removed."))
        else:
            saved.save_own(actor, "search", text_of(request, "name") or given.get("q", ""), given)
            messages.success(request, gettext("The search has been saved."))
    except CommandError as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
    return HttpResponseRedirect(f"/groves/{grove.uid}?{urlencode(given)}")


@require_POST
@person
def make_tree(request: PersonRequest, uid: str) -> HttpResponse:
    """Creates a tree and opens it."""
    actor, grove = access.get_grove(request.user, uid, role="writer")
    try:
        title, mode = text_of(request, "title")[:300], request.POST.get("mode", "dialogue")
        made = tree_commands.make_tree(actor, tree_commands.NewTree(title=title, mode=mode))
    except CommandError as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
        return HttpResponseRedirect(f"/groves/{grove.uid}")
    return HttpResponseRedirect(f"/trees/{made.uid}")
