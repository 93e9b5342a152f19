"""Reading a tree over the API: nodes, paths, the skeleton, events and verification."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel
from pydantic_core import to_json
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.api import responses
from loom.api.auth import user_of
from loom.api.schema import operation
from loom.api.streaming import DEEP, packed, path_pieces
from loom.commands.windows import link_type
from loom.events import streams
from loom.models import Node, Tree, Workspace
from loom.queries import event_log, lookup, trees, verify
from loom.queries.links import graph_body, graph_of
from loom.queries.node_bodies import node_bodies
from loom.queries.node_rows import row_of
from loom.queries.provenance import provenance_of
from loom.rules.errors import CommandError, not_found
from loom.rules.identity import LINK_TYPES, looks_like_id
from loom.rules.windows import MOST_DEEP


def word(request: Request, name: str) -> str:
    """An id from the query; "" where it is left out. NOT_FOUND for what can be no id."""
    given = request.query_params.get(name, "")
    if given and not (given.isascii() and given.isalnum()):
        raise not_found(f"{name}={given[:40]!r}")
    return given


def needed(request: Request, name: str) -> str:
    """An id that may not be left out of the query."""
    given = word(request, name)
    if not given:
        raise CommandError("INVALID_SYNTAX", f"{name} is missing.", hint=f"?{name}=ID")
    return given


def an_id(name: str, says: str, *, required: bool = False) -> OpenApiParameter:
    """An id in the query, for the schema."""
    return OpenApiParameter(name, OpenApiTypes.STR, description=says, required=required)


def a_truth(name: str, says: str) -> OpenApiParameter:
    """A yes or no in the query, for the schema."""
    return OpenApiParameter(name, OpenApiTypes.BOOL, description=says, default=False)


def a_number(
    name: str,
    says: str,
    *,
    least: int = 0,
    most: int | None = None,
    default: int | None = None,
) -> OpenApiParameter:
    """A whole number in the query, for the schema."""
    bounds = {"type": "integer", "minimum": least}
    if most is not None:
        bounds["maximum"] = most
    return OpenApiParameter(name, bounds, description=says, default=default)


# Reading a tree over the API: nodes, paths, the skeleton, events and verification.


@operation(
    "GET",
    "trees",
    "Nodes in order of creation",
    id="tree_nodes",
    answers=responses.NodePage,
    asks=(
        a_number("after", "The `next` of the page before.", default=0),
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
    answers=responses.Node,
    asks=(a_truth("descendants", "Counts what hangs below, too."),),
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
    answers=responses.Path,
    asks=(an_id("node", "Its end; without it the caller's position."),),
)
@api_view(["GET"])
def path(request: Request, uid: str) -> HttpResponse:
    """The path from the root to a node, root first, by the caller's choice of versions."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = _own_workspace(actor, tree)
    end = _named(request, tree, "node") or position_of(tree, workspace)
    pieces = path_pieces(actor, tree, workspace, end)
    return packed(request, pieces, small=end.depth < DEEP)


@operation(
    "GET",
    "trees",
    "A whole tree in columns, without texts",
    id="tree_skeleton",
    answers=responses.Skeleton,
)
@api_view(["GET"])
def columns(request: Request, uid: str) -> HttpResponseBase:
    """Ids, parents, slots, kinds, authors, flags and lengths, in order of creation.

    `parents` and `slots` are indexes, `authors` indexes into `participants`. `flags` are
    bits: 1 pruned, 2 excluded, 4 sandbox, 8 this version pruned, 16 resolved.
    """
    actor, tree = access.get_tree(user_of(request), uid)
    heads = trees.heads_of(tree)
    etag = f'W/"{tree.uid}-{heads[0]}-{heads[1]}"'
    django_request: HttpRequest = request._request
    unchanged = get_conditional_response(django_request, etag=etag)
    if unchanged is not None:
        return unchanged
    answer = packed(request, [to_json(trees.skeleton(actor, tree))], small=False)
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
        an_id("node", "Only this node and what it rests on."),
        an_id("path", "Only the path to this node, as the caller reads it."),
    ),
)
@api_view(["GET"])
def verification(request: Request, uid: str) -> Response:
    """Recomputes every hash from the node's own fields and every seal from its bytes."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = _own_workspace(actor, tree)
    if "claim" in request.query_params:
        raise CommandError(
            "UNAVAILABLE", "claim= is not supported yet.", hint="use node=, path= or what=view"
        )
    if "what" in request.query_params:
        if word(request, "what") != "view":
            raise CommandError("INVALID_SYNTAX", "what= is view.", hint="?what=view")
        own = access.workspace_of(actor.participant, tree)
        return Response(verify.verify_view(actor, own))
    one, end = _named(request, tree, "node"), _named(request, tree, "path")
    if one is not None and end is not None:
        raise CommandError("INVALID_SYNTAX", "node= and path= exclude each other.", hint="use one")
    if one is not None:
        return Response(verify.verify_node(actor, tree, workspace, one))
    if end is not None:
        return Response(verify.verify_path(actor, tree, workspace, end))
    return Response(verify.verify_tree(actor, tree, workspace))


@operation(
    "GET",
    "trees",
    "Where a node came from",
    id="tree_node_provenance",
    answers=responses.Provenance,
)
@api_view(["GET"])
def provenance(request: Request, uid: str, local_id: str) -> Response:
    """A node's hash and proof, what it rests on, its call, and whether all of that holds."""
    actor, tree = access.get_tree(user_of(request), uid)
    found = get_node(tree, local_id)
    return Response(provenance_of(actor, tree, _own_workspace(actor, tree), found).body())


class GraphItem(BaseModel):
    """An item that was reached: how lines name it, and how many links away it is."""

    item: str
    depth: int


class GraphLink(BaseModel):
    """A link between two of them, as it is stored; `level` of its confidence."""

    source: str
    target: str
    type: str
    confidence: float | None
    level: Literal["high", "medium", "low"] | None


class GraphBody(BaseModel):
    """What can be reached over links; `cut`: there is more."""

    nodes: list[GraphItem]
    links: list[GraphLink]
    cut: bool


TYPES = OpenApiParameter(
    "types", OpenApiTypes.STR, description="Types of links, with commas; without it all."
)


@operation(
    "GET",
    "trees",
    "What can be reached over links",
    id="tree_node_graph",
    answers=GraphBody,
    asks=(
        TYPES,
        a_number("depth", f"How many links away, at most {MOST_DEEP}.", least=1, most=MOST_DEEP),
    ),
)
@api_view(["GET"])
def graph(request: Request, uid: str, local_id: str) -> Response:
    """Items and typed links with their confidence, as `→ graph` shows them."""
    actor, tree = access.get_tree(user_of(request), uid)
    found = get_node(tree, local_id)
    wanted = [one for one in request.query_params.get("types", "").split(",") if one]
    types = [link_type(one) for one in wanted] or LINK_TYPES
    depth = number(request, "depth", default=3, least=1, most=MOST_DEEP)
    return Response(graph_body(graph_of(actor, found, types, depth), tree))


def events_of(request: Request, actor: Actor, stream: str) -> dict[str, Any]:
    """The events of any stream, by the parameters `since` and `limit`."""
    since = number(request, "since", default=0)
    limit = number(
        request, "limit", default=event_log.MAX_EVENTS, least=1, most=event_log.MAX_EVENTS
    )
    return event_log.events_since(actor, stream, since=since, limit=limit)


def get_node(tree: Tree, local_id: str) -> Node:
    """The node of that local id, whatever its case; else NOT_FOUND."""
    found = lookup.find_node(tree, local_id.lower()) if looks_like_id(local_id) else None
    if found is None:
        raise not_found("This node", "GET …/nodes lists those of the tree.")
    return found


def number(
    request: Request, name: str, *, default: int, least: int = 0, most: int | None = None
) -> int:
    """A whole number from the query: INVALID_SYNTAX where it is none or below `least`,
    LIMIT_EXCEEDED above `most`."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal()) or len(given) > 18 or int(given) < least:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{name} must be a whole number of at least {least}.",
            hint=f"{name}={default}",
        )
    if most is not None and int(given) > most:
        raise CommandError(
            "LIMIT_EXCEEDED", f"{name} must be at most {most}.", hint=f"{name}={most}"
        )
    return int(given)


def truth(request: Request, name: str) -> bool:
    """A yes or no from the query: 1, true, 0, false, or nothing for no."""
    given = request.query_params.get(name, "0").lower()
    if given not in ("0", "1", "true", "false"):
        raise CommandError("INVALID_SYNTAX", f"{name} must be 1 or 0.", hint=f"{name}=1")
    return given in ("1", "true")


def _named(request: Request, tree: Tree, name: str) -> Node | None:
    given = request.query_params.get(name)
    return get_node(tree, given) if given else None


def _own_workspace(actor: Actor, tree: Tree) -> Workspace | None:
    """The caller's workspace, if they have one: reading makes none."""
    return Workspace.objects.filter(participant=actor.participant, tree=tree).first()


def position_of(tree: Tree, workspace: Workspace | None) -> Node:
    """The caller's position in this tree: the nearest node above that is not hidden."""
    if workspace is not None:
        node = lookup.rows().get(pk=workspace.position_id)
        if node.tree_id == tree.pk:
            return lookup.visible_at_or_above(node, workspace)
    return lookup.root_of(tree)


# Lists in pages: `{count, results}` by `limit` and `offset`.


USUAL, MOST = 100, 1000
PAGES = (
    a_number("limit", f"At most {MOST}; {USUAL} where it is left out.", least=1, most=MOST),
    a_number("offset", "How many to pass over."),
)


def paged(
    request: Request, rows: "QuerySet[Any]", body: Callable[[Any], dict[str, Any]]
) -> Response:
    """One page of the rows, each as `body` shows it."""
    return paged_at_once(request, rows, lambda page: [body(row) for row in page])


def paged_at_once(
    request: Request,
    rows: "QuerySet[Any]",
    bodies: Callable[[Sequence[Any]], list[dict[str, Any]]],
) -> Response:
    """One page of the rows, as `bodies` shows all of them."""
    limit = number(request, "limit", default=USUAL, least=1, most=MOST)
    offset = number(request, "offset", default=0)
    page = bodies(list(rows[offset : offset + limit]))
    return Response({"count": rows.count(), "results": page})
