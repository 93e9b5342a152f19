"""Reading a tree in the API: nodes, paths, the skeleton, events and verification."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic_core import to_json
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.engine import streams
from loom.errors import CommandError, not_found
from loom.links.queries import MOST_AWAY, MOST_REACHED, graph_body, graph_of, items_in
from loom.links.vocabulary import archetype_of, link_type, vocabulary_of
from loom.reading.queries import verify
from loom.reading.queries.node_bodies import node_bodies, nodes_json
from loom.reading.queries.provenance import provenance_of
from loom.site import responses
from loom.site.api_items import events_of, get_node
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import a_number, a_truth, an_id, number, operation, truth, word
from loom.trees import models
from loom.trees.models import Tree, Workspace
from loom.trees.queries import event_log, lookup, overview, skeleton_tiles, trees
from loom.trees.queries.lookup import NodeRow, path_of, rows_of
from loom.trees.queries.node_bodies import row_of
from loom.trees.queries.places import path_ids
from loom.workspace.queries.view_problems import verify_view

MOST_OF_PATH = 1_000  # nodes of a part of a path


# Responses.


class Author(Returned):
    """An author."""

    id: str
    name: str
    kind: Literal["human", "model"]


class SourceSchema(Returned):
    """A source of a node in addition to its parent: a local id, `tree:ID`, or `tree:ID
    node:x9y3`."""

    item: str
    role: Literal["primary", "context", "instruction", "parts"]


class BookmarkSchema(Returned):
    """Somebody's bookmark."""

    label: str
    participant: str


class CountsSchema(Returned):
    """Counts of what belongs to a node and is visible. `descendants` only on request: counted up to
    10,000, and if there are more `is_more`."""

    children: int
    annotations: int
    links: int
    versions: int
    descendants: int | None = None
    is_more: bool | None = None


class ProofSchema(Returned):
    """The values that the hash covers: SHA-256 of their JSON with sorted keys, without blanks."""

    author: str
    call: str | None
    configuration: str | None
    content: list[dict[str, Any]]
    created_at: str
    edited_from: str | None
    kind: str
    parent: str | None


class NodeSchema(Returned):
    """One version of one slot, in full."""

    id: str
    tree: str
    kind: Literal["text", "annotation", "thought", "claim"]
    form: str
    text: str
    content: list[dict[str, Any]]
    author: Author
    parent: str | None
    slot: str
    depth: int
    versions: list[str]
    edited_from: str | None
    sources: list[SourceSchema]
    created_at: str
    pruned: bool
    excluded: bool
    hidden: bool
    sandbox: bool
    resolved: bool
    finish: str
    generation: str | None
    call: str | None
    summary: str
    counts: CountsSchema
    bookmarks: list[BookmarkSchema]
    tags: list[str]
    hash: str
    proof: ProofSchema


class NodeLine(Returned):
    """A node without its text; `length` in code points."""

    id: str
    kind: str
    parent: str | None
    slot: str
    author: str
    pruned: bool
    excluded: bool
    length: int


class NodePage(responses.Page[NodeLine]):
    """Some nodes in order of creation; `next` is the next `after`, null at the end."""

    next: int | None


class Path(Returned):
    """A path, root first; `versions` names the selected version of each slot."""

    nodes: list[NodeSchema]
    versions: dict[str, str]


class Skeleton(Returned):
    """A whole tree in columns of the same length, in order of creation."""

    seq: int
    ids: list[str]
    parents: list[int | None]
    slots: list[int]
    kinds: list[str]
    authors: list[int]
    participants: list[Author]
    flags: list[int]
    lengths: list[int]
    orders: list[tuple[int, list[int]]]
    rests: list[tuple[int, int]]


class SkeletonTile(Returned):
    """Some nodes of a tree: columns whose values are joined by commas, and [ordinal, value] where
    something is said of a node. `ordinals` only where some are missing after `first`."""

    first: int
    ids: str
    ups: str
    authors: str
    lengths: str
    participants: list[Author]
    slots: list[tuple[int, int]]
    kinds: list[tuple[int, str]]
    places: list[tuple[int, int]]
    wholes: list[tuple[int, int]]
    ordinals: list[int] | None = None


class Overview(Returned):
    """The largest branches of a tree in columns of the same length, parents first: `parents` are
    places in them (-1: the root), `sizes` the texts of each branch, `rows` how many texts one below
    the other a place stands for. The texts up to the ordinal `last` are counted."""

    last: int
    ids: list[str]
    parents: list[int]
    authors: list[int]
    participants: list[Author]
    sizes: list[int]
    rows: list[int]


@operation(
    "GET",
    "trees",
    "Nodes in order of creation",
    id="tree_nodes",
    answers=NodePage,
    asks=(
        a_number("after", "The `next` of the previous page.", default=0),
        a_number("limit", "At most 1000.", least=1, most=1000, default=trees.MAX_ROWS),
    ),
)
@api_view(["GET"])
def nodes(request: Request, uid: str) -> Response:
    """All nodes of a tree without their texts, in pages; the root is the first."""
    actor, tree = access.get_tree(user_of(request), uid)
    after = number(request, "after", default=0)
    limit = number(request, "limit", default=trees.MAX_ROWS, least=1, most=trees.MAX_ROWS)
    return Response(trees.page(actor, tree, after=after, limit=limit))


@operation(
    "GET",
    "trees",
    "One node",
    id="tree_node",
    answers=NodeSchema,
    asks=(a_truth("descendants", "Also counts the descendants."),),
)
@api_view(["GET"])
def node(request: Request, uid: str, local_id: str) -> Response:
    """A node with its author, place, versions, counts, marks, hash and proof."""
    actor, tree = access.get_tree(user_of(request), uid)
    row = row_of(get_node(tree, local_id))
    descendants = truth(request, "descendants")
    return Response(node_bodies(actor, tree, [row], descendants=descendants)[0])


@operation(
    "GET",
    "trees",
    "The path to a node",
    id="tree_path",
    answers=Path,
    asks=(
        an_id("node", "Its end; default: the caller's position."),
        a_number(
            "limit",
            "Only the last so many nodes, which cost the same on any path. What is above them is"
            " the path to the `parent` of the first.",
            least=1,
            most=MOST_OF_PATH,
        ),
    ),
)
@api_view(["GET"])
def path(request: Request, uid: str) -> HttpResponse:
    """The path from the root to a node, root first, by the caller's choice of versions."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = _own_workspace(actor, tree)
    end = _named(request, tree, "node") or position_of(tree, workspace)
    limit = number(request, "limit", default=0, least=1, most=MOST_OF_PATH)
    pieces = path_pieces(actor, tree, workspace, end, most=limit or None)
    return packed(request, pieces, small=bool(limit) or end.depth < DEEP)


@operation(
    "GET",
    "trees",
    "A whole tree in columns, without texts",
    id="tree_skeleton",
    answers=Skeleton,
    asks=(a_truth("tiles", "Of a big tree `{seq, tiles, flags}`, with `tile` if it has one."),),
)
@api_view(["GET"])
def columns(request: Request, uid: str) -> HttpResponseBase:
    """Ids, parents, slots, kinds, authors, flags and lengths, in order of creation.

    `parents` and `slots` are indexes, `authors` indexes into `participants`. `flags` are
    bits: 1 pruned, 2 excluded, 4 sandbox, 8 this version pruned, 16 resolved.
    """
    actor, tree = access.get_tree(user_of(request), uid)
    heads = trees.heads_of(tree)
    last, name = skeleton_tiles.last_ordinal(tree), f"{tree.uid}-{heads[0]}-{heads[1]}"
    if truth(request, "tiles") and last >= skeleton_tiles.TILED:
        tiles = partial(skeleton_tiles.head_with_tile, actor, tree, heads[0])
        return _unless_known(request, f"{name}-tiles", lambda: to_json(tiles()))
    return _unless_known(request, name, lambda: to_json(trees.skeleton(actor, tree)))


@operation(
    "GET",
    "trees",
    "A part of a big tree in columns",
    id="tree_skeleton_tile",
    answers=SkeletonTile,
)
@api_view(["GET"])
def tile(request: Request, uid: str, tile: int) -> HttpResponseBase:
    """So many nodes in order of creation; nothing of them changes once a tile is full.

    `ids`, `ups`, `authors` and `lengths` have a value for each node, joined by commas.
    """
    actor, tree = access.get_tree(user_of(request), uid)
    last, size = skeleton_tiles.last_ordinal(tree), skeleton_tiles.TILE
    if tile > last // size:
        raise not_found("This tile", hint=f"the last one is {last // size}")
    name = f"{tree.uid}-tile-{tile}-{min(last, (tile + 1) * size)}"
    return _unless_known(request, name, lambda: skeleton_tiles.tile_of(actor, tree, tile).encode())


@operation(
    "GET",
    "trees",
    "A tree from afar",
    id="tree_overview",
    answers=Overview,
)
@api_view(["GET"])
def from_afar(request: Request, uid: str) -> HttpResponseBase:
    """The branches that have at least one text in 2,000, for a picture of the whole tree."""
    actor, tree = access.get_tree(user_of(request), uid)
    name = f"{tree.uid}-overview-{skeleton_tiles.last_ordinal(tree)}"
    return _unless_known(request, name, lambda: overview.overview_of(actor, tree).encode())


def _unless_known(request: Request, name: str, make: Callable[[], bytes]) -> HttpResponseBase:
    """The JSON of `make`, unless the client has the one of this name already."""
    etag = f'W/"{name}"'
    django_request: HttpRequest = request._request
    unchanged = get_conditional_response(django_request, etag=etag)
    if unchanged is not None:
        return unchanged
    answer = packed(request, [make()], small=False)
    answer["ETag"] = etag
    return answer


@operation(
    "GET",
    "trees",
    "What happened in a tree",
    id="tree_events",
    answers=responses.Events,
    asks=(
        a_number("since", "The last seq that is known.", default=0),
        a_number("limit", "At most 1000.", least=1, most=1000, default=event_log.MAX_EVENTS),
    ),
)
@api_view(["GET"])
def events(request: Request, uid: str) -> Response:
    """The events of a tree in order, without gaps, after the last one known."""
    actor, tree = access.get_tree(user_of(request), uid)
    return Response(events_of(request, actor, streams.name_of(tree)))


@operation(
    "GET",
    "trees",
    "Whether what is stored is what was written",
    id="tree_verify",
    answers=responses.Verification,
    asks=(
        an_id("node", "Only this node and what it depends on."),
        an_id("path", "Only the path to this node, as the caller reads it."),
        *(an_id(name, says) for name, (says, _) in verify.VERIFIERS.items()),
    ),
)
@api_view(["GET"])
def verification(request: Request, uid: str) -> Response:
    """Recomputes every hash from the node's own fields and every seal from its bytes."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = _own_workspace(actor, tree)
    for name, (_, verifier) in verify.VERIFIERS.items():
        node = _named(request, tree, name)
        if node is not None:
            return Response(verifier(node))
    if "what" in request.query_params:
        if word(request, "what") != "view":
            raise CommandError("INVALID_SYNTAX", "what= is view.", hint="?what=view")
        own = access.workspace_of(actor.participant, tree)
        return Response(verify_view(actor, own))
    node, end = _named(request, tree, "node"), _named(request, tree, "path")
    if node is not None and end is not None:
        raise CommandError("INVALID_SYNTAX", "node= and path= exclude each other.", hint="use one")
    if node is not None:
        return Response(verify.verify_node(actor, tree, workspace, node))
    if end is not None:
        return Response(verify.verify_path(actor, tree, workspace, end))
    return Response(verify.verify_tree(actor, tree, workspace))


class Above(Returned):
    """One version that a node depends on; `call` if a model wrote it, else empty."""

    id: str
    by: str
    at: str
    hash: str
    call: str


class ProvenanceSchema(Returned):
    """Where a node came from. `above` goes from the root downwards, without the `left_out`
    furthest ones; `call` is as in GET /api/calls/{id}; `verify.said` are sentences."""

    node: str
    hash: str
    proof: dict[str, Any]
    finish: str
    above: list[Above]
    left_out: int
    generation: str | None
    note: str
    ended_at: str | None
    call: dict[str, Any] | None
    verify: dict[str, Any]


@operation(
    "GET",
    "trees",
    "Where a node came from",
    id="tree_node_provenance",
    answers=ProvenanceSchema,
)
@api_view(["GET"])
def provenance(request: Request, uid: str, local_id: str) -> Response:
    """A node's hash and proof, what it depends on, its call, and the result of its verification."""
    actor, tree = access.get_tree(user_of(request), uid)
    node = get_node(tree, local_id)
    return Response(provenance_of(actor, tree, _own_workspace(actor, tree), node).body())


class GraphItem(Returned):
    """A reached item: how lines name it (`erased` for one that is gone), its distance in links, its
    first words or title, whether the graph does not pass through it, and what became of it."""

    item: str
    depth: int
    words: str
    stop: bool
    state: Literal["", "pruned", "erased"]


class GraphLink(Returned):
    """A link between two of them, as it is stored; `level` of its confidence."""

    source: str
    target: str
    type: str
    confidence: float | None
    level: Literal["high", "medium", "low"] | None


class GraphBody(Returned):
    """What can be reached over links; `cut`: there is more."""

    nodes: list[GraphItem]
    links: list[GraphLink]
    cut: bool


TYPES = OpenApiParameter(
    "types", OpenApiTypes.STR, description="Types of links, with commas; without it all."
)


STOP = OpenApiParameter(
    "stop", OpenApiTypes.STR, description="Items that it does not pass through, with commas."
)
THROUGH = OpenApiParameter(
    "through",
    OpenApiTypes.STR,
    description="Items that it passes through although they have many links, with commas.",
)


@operation(
    "GET",
    "trees",
    "What can be reached over links",
    id="tree_node_graph",
    answers=GraphBody,
    asks=(
        TYPES,
        a_number("depth", f"How many links away, at most {MOST_AWAY}.", least=1, most=MOST_AWAY),
        STOP,
        THROUGH,
    ),
)
@api_view(["GET"])
def graph(request: Request, uid: str, local_id: str) -> Response:
    """Items and typed links with their confidence, as `→ graph` shows them."""
    actor, tree = access.get_tree(user_of(request), uid)
    node = get_node(tree, local_id)
    wanted = [name for name in request.query_params.get("types", "").split(",") if name]
    known = vocabulary_of(tree.grove).words(archetype_of(actor))
    types = [link_type(actor, name) for name in wanted] or known
    depth = number(request, "depth", default=3, least=1, most=MOST_AWAY)
    named = {
        name: items_in(tree, request.query_params.get(name, "").split(",")[:MOST_REACHED])
        for name in ("stop", "through")
    }
    reached = graph_of(actor, node, types, depth, stops=named["stop"], through=named["through"])
    return Response(graph_body(actor, reached, tree))


def _named(request: Request, tree: Tree, name: str) -> models.Node | None:
    given = request.query_params.get(name)
    return get_node(tree, given) if given else None


def _own_workspace(actor: Actor, tree: Tree) -> Workspace | None:
    """The caller's workspace, if they have one: reading makes none."""
    return Workspace.objects.filter(participant=actor.participant, tree=tree).first()


def position_of(tree: Tree, workspace: Workspace | None) -> models.Node:
    """The caller's position in this tree: the nearest node above that is not hidden."""
    if workspace is not None:
        node = lookup.rows().get(pk=workspace.position_id)
        if node.tree_id == tree.pk:
            return lookup.visible_at_or_above(node, workspace)
    return lookup.root_of(tree)


# A path may be too large for a renderer: its JSON is written in pieces, compressed if worthwhile.

# Smaller paths are not compressed: for 2,000 nodes it costs as much as reading them. For larger
# ones it keeps the memory of a process small.
DEEP = 5_000
_BATCH = 1_000
_PIECE = 50
_LEVEL = 3  # measured on a skeleton of 100,000 nodes: 31 ms, and within 1% of level 6


def packed(request: Request, pieces: Iterable[bytes], *, small: bool) -> HttpResponse:
    """The JSON response made of `pieces`, compressed with gzip piece by piece if the client
    accepts that and it is not small."""
    is_plain = small or "gzip" not in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(pieces if is_plain else _gzip(pieces), content_type="application/json")
    if not is_plain:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def _gzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def path_pieces(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    end: models.Node,
    *,
    most: int | None = None,
) -> Iterator[bytes]:
    """`{"nodes": […], "versions": {…}}` of a path or its last `most` nodes, the texts read a
    thousand at a time."""
    versions: dict[str, str] = {}
    opening = '{"nodes":['
    is_pruned = False
    for rows in _rows(actor, tree, workspace, end, most):
        hidden = None  # has to be asked for, where what is above is not read
        if most is None:
            hidden, is_pruned = _hidden_in(rows, is_pruned)
        nodes, selected = nodes_json(actor, tree, rows, hidden)
        versions.update(selected)
        # Small pieces: one of several megabytes would be copied again.
        while some := ",".join(islice(nodes, _PIECE)):
            yield (opening + some).encode()
            opening = ","
    yield b'],"versions":' + to_json(versions) + b"}"


def _hidden_in(rows: Iterable[NodeRow], is_pruned: bool) -> tuple[set[int], bool]:
    """The slots of a piece of a path that are below a pruned one, and whether what follows is."""
    hidden = set()
    for row in rows:
        if is_pruned:
            hidden.add(row.slot_id)
        is_pruned = is_pruned or row.pruned
    return hidden, is_pruned


def _rows(
    actor: Actor, tree: Tree, workspace: Workspace | None, end: models.Node, most: int | None
) -> Iterator[list[NodeRow]]:
    if most is None and end.depth < DEEP:
        yield path_of(actor, tree, workspace, end)
        return
    ids = [key for _, key in path_ids(actor, tree, workspace, end, most=most)]
    for first in range(0, len(ids), _BATCH):
        yield rows_of(ids[first : first + _BATCH])
