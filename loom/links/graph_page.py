"""The graph of what is linked around one node: local, at most MOST_REACHED items, with an outline
beside it that says and does the same."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor
from loom.errors import not_found
from loom.language.refs import document_named, tree_named
from loom.links.link_types import GROUPS, Type
from loom.links.queries import MOST_REACHED, graph_body, graph_of, items_in
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.people.names import TAG_COLOURS
from loom.site.page_requests import PersonRequest, abilities, frame, known_node, person
from loom.trees.models import Node, Tree
from loom.trees.queries.item_names import ERASED

MOST_DEPTH = 2  # links away from the node in the middle


@dataclass(frozen=True)
class GraphRow:
    """An item in the outline: as lines and as readers name it, its address, the links to items
    that are as near or nearer, as they are read from it, whether the graph stops there, and what
    became of it. Without an address for what is erased."""

    item: str
    shown: str
    words: str
    href: str
    id: str
    depth: int
    is_stop: bool
    links: list[str]
    state: str = ""


@require_GET
@person
def graph_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The graph around the node `?node=`, `?depth=` 1 or 2, over the types `?types=` (all, if none
    is named); `?stop=` and `?through=` as `→ graph` takes them."""
    actor, tree = access.get_tree(request.user, uid)
    node = _middle(actor, tree, request.GET.get("node", ""))
    depth = 1 if request.GET.get("depth") == "1" else MOST_DEPTH
    kinds = _types(actor, tree)
    words = {kind.name for kind in kinds} | {kind.reverse for kind in kinds}
    asked = [word for word in request.GET.getlist("types") if word in words]
    stops, through = (_names(request, name) for name in ("stop", "through"))
    both = [end for kind in kinds for end in (kind.name, kind.reverse) if kind.name in asked]
    graph = graph_of(
        actor,
        node,
        both or words,
        depth,
        stops=items_in(tree, stops),
        through=items_in(tree, through),
    )
    body = graph_body(actor, graph, tree)
    colours = {kind.name: TAG_COLOURS.index(kind.colour) for kind in kinds if kind.colour}
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "node": node,
        "around": body["nodes"][0]["words"],
        "depth": depth,
        "groups": [
            (
                group,
                [
                    (kind, not asked or kind.name in asked, colours.get(kind.name))
                    for kind in kinds
                    if kind.group == group and not kind.archived
                ],
            )
            for group in GROUPS
        ],
        "rows": _rows(tree, body, {kind.name: kind.reverse for kind in kinds}),
        "graph": {**body, "colours": colours, "tree": tree.uid, "node": node.local_id},
        "most": MOST_REACHED,
        "stops": stops,
        "through": through,
        "can": abilities(actor, tree),
    }
    return render(request, "pages/graph.html", context)


def _middle(actor: Actor, tree: Tree, name: str) -> Node:
    """The node in the middle: the one that is named, else where the reader is."""
    if not name:
        return access.workspace_of(actor.participant, tree).position
    node = known_node(tree, name)
    if node is None:
        raise not_found(f"[{name[:20]}]")
    return node


def _types(actor: Actor, tree: Tree) -> list[Type]:
    archetype = archetype_of(actor)
    return [kind for kind in vocabulary_of(tree.grove).types if archetype in kind.archetypes]


def _names(request: PersonRequest, name: str) -> list[str]:
    """The items that the address names, with commas or one at a time."""
    given = (word for value in request.GET.getlist(name) for word in value.split(","))
    return list(dict.fromkeys(item for item in given if item))[:MOST_REACHED]


def _rows(tree: Tree, body: dict[str, Any], reverses: dict[str, str]) -> list[GraphRow]:
    """The outline: each item after the one that it was reached from."""
    depths = {entry["item"]: entry["depth"] for entry in body["nodes"]}
    names = {entry["item"]: _quoted(entry["item"], entry["words"]) for entry in body["nodes"]}
    described: dict[str, list[str]] = {item: [] for item in depths}
    below: dict[str, list[str]] = {item: [] for item in depths}
    placed = {body["nodes"][0]["item"]}
    for link in body["links"]:
        source, target, kind = link["source"], link["target"], link["type"]
        for near, far, read in ((source, target, reverses.get(kind, kind)), (target, source, kind)):
            if depths[far] >= depths[near]:
                described[far].append(f"{read.replace('_', ' ')} {names[near]}")
            if depths[far] == depths[near] + 1 and far not in placed:
                placed.add(far)
                below[near].append(far)
    by_item = {entry["item"]: entry for entry in body["nodes"]}
    rows: list[GraphRow] = []
    waiting = [body["nodes"][0]["item"]]
    while waiting:
        item = waiting.pop()
        waiting += reversed(below[item])
        rows.append(_row(tree, by_item[item], described[item]))
    return rows


def _named(item: str, words: str) -> str:
    """An item as readers name it: `[a7x2]`, `doc:"notes"`, a tree by its title, `erased`."""
    if item.startswith(ERASED):
        return item
    if item.startswith("doc:"):
        return document_named(words)
    if item.startswith("tree:"):
        node = item.partition(" node:")[2]
        return f"[{node}]" if node else tree_named(words)
    return f"[{item}]"


def _quoted(item: str, words: str) -> str:
    """An item in the list of another's links: the first words of a text, else as `_named`."""
    named = _named(item, words)
    return f"“{words}”" if words and named.startswith("[") else named


def _row(tree: Tree, entry: dict[str, Any], links: Iterable[str]) -> GraphRow:
    item, words = entry["item"], entry["words"]
    shown, href, local = _named(item, words), f"/trees/{tree.uid}?node={item}", item
    if entry["state"] == ERASED:
        href, local = "", ""
    elif item.startswith("doc:"):
        href, local = f"/documents/{item[4:]}", ""
    elif item.startswith("tree:"):
        home, _, node = item[5:].partition(" node:")
        href, local = (f"/trees/{home}?node={node}" if node else f"/trees/{home}"), ""
    words = words if shown == f"[{local}]" or " node:" in item else ""
    described = list(dict.fromkeys(links))
    state = "" if entry["state"] == ERASED else entry["state"]
    return GraphRow(
        item, shown, words, href, local, entry["depth"], entry["stop"], described, state
    )
