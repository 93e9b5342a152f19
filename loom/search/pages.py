"""What a text can be linked to, by words: for the picker of a page."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef
from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor
from loom.permissions import CROSS_TREE, READ_DOCUMENTS
from loom.search.filters import Filters
from loom.search.grove_texts import find_texts
from loom.search.queries import MAX_QUERY, Hit, find_in_grove, find_in_tree
from loom.site.page_requests import PersonRequest, known_node, person
from loom.text.shortening import excerpt
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree, Workspace
from loom.trees.queries.lookup import NodeRow, withheld

MOST_TEXTS = 6  # of each kind
MOST_TREES = 4
BEFORE = 40  # characters before the first match that are shown
SHOWN = 160


@require_GET
@person
def link_targets(request: PersonRequest, uid: str) -> HttpResponse:
    """`{targets: [{ref, kind, words, soft}]}`: what can be linked from a tree and has the words
    `?q=`: texts of this tree, documents, texts of other trees, and trees by their titles. `kind` is
    here, documents, elsewhere or trees; `soft` says by whom or where. Without words the documents
    and trees that were used last."""
    actor, tree = access.get_tree(request.user, uid)
    query = " ".join(request.GET.get("q", "").replace("\0", "").split())[:MAX_QUERY]
    return JsonResponse({"targets": list(_targets(actor, tree, query))})


def _targets(actor: Actor, tree: Tree, query: str) -> Iterator[dict[str, Any]]:
    named = known_node(tree, query.strip("[]")) if query else None
    if named is not None:
        gone = withheld(actor, [named.pk])
        words = "" if named.pk in gone else excerpt(named.text).strip('"')
        by = gettext("You") if named.author_id == actor.participant.pk else named.author.name
        yield _target(named.local_id, "here", words, by)
    if query:
        workspace = access.workspace_of(actor.participant, tree)
        here = find_in_tree(actor, tree, workspace, query, limit=MOST_TEXTS, by="words")
        for hit in here.hits:
            if hit.node is not None and (named is None or hit.node.local_id != named.local_id):
                yield _target(hit.node.local_id, "here", _around(hit), _by(actor, hit.node))
    yield from _documents(actor, tree, query)
    if CROSS_TREE in actor.permissions:
        yield from _elsewhere(actor, tree, query)


def _documents(actor: Actor, tree: Tree, query: str) -> Iterator[dict[str, Any]]:
    if READ_DOCUMENTS not in actor.permissions:
        return
    if not query:
        for text in grove_texts().every(actor, MOST_TEXTS):
            yield _target(f"doc:{text.uid}", "documents", text.title, "")
        return
    for hit in find_texts(actor, query, Filters())[:MOST_TEXTS]:
        yield _target(f"doc:{hit.of.uid}", "documents", hit.of.title, _plain(hit.text))


def _elsewhere(actor: Actor, tree: Tree, query: str) -> Iterator[dict[str, Any]]:
    if query:
        wanted = Filters(type="text", archived=False)
        matches = find_in_grove(actor, query, limit=MOST_TEXTS * 3, only=wanted, by="words")
        others = [(hit, hit.node) for hit in matches.hits if hit.tree.pk != tree.pk]
        for hit, node in others[:MOST_TEXTS]:
            if node is not None:
                ref = f"tree:{hit.tree.uid} node:{node.local_id}"
                yield _target(ref, "elsewhere", _around(hit), _title(hit.tree))
    rows = access.trees_for(actor).filter(archived_at__isnull=True).exclude(pk=tree.pk)
    if query:
        rows = rows.filter(title__icontains=query)
    opened = Workspace.objects.filter(tree=OuterRef("pk"), participant=actor.participant)
    rows = rows.annotate(is_opened=Exists(opened)).order_by("-is_opened", "-touched_at", "-id")
    for row in rows.select_related("grove")[:MOST_TREES]:
        soft = "" if row.grove_id == tree.grove_id else row.grove.name
        yield _target(f"tree:{row.uid}", "trees", _title(row), soft)


def _target(ref: str, kind: str, words: str, soft: str) -> dict[str, str]:
    return {"ref": ref, "kind": kind, "words": words, "soft": soft}


def _plain(text: str) -> str:
    """An excerpt without the marks of headings."""
    words = text.lstrip("#… ")
    return words[:SHOWN]


def _title(tree: Tree) -> str:
    return tree.title or gettext("Untitled tree")


def _by(actor: Actor, row: NodeRow) -> str:
    return gettext("You") if row.author_uid == actor.participant.uid else row.author_name


def _around(hit: Hit) -> str:
    """The text around the first match, on one line."""
    text = hit.node.text if hit.node is not None else ""
    start = max(0, hit.at - BEFORE)
    words = " ".join(text[start : start + SHOWN].split())
    return f"…{words}" if start else words
