"""Links and their types over the API. Making and removing them are lines: link, unlink."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.doors.api import reading_shapes as shapes
from loom.doors.api.asking import an_id, needed
from loom.doors.api.auth import user_of
from loom.doors.api.paging import MOST, PAGES, USUAL
from loom.doors.api.reading import get_node, number
from loom.doors.api.schema import operation
from loom.queries.links import link_bodies, links_in
from loom.rules import link_types

_NODE = OpenApiParameter("node", OpenApiTypes.STR, description="Only those at this node.")


@operation(
    "GET",
    "links list",
    "Links that start in a tree, or start or end at a node",
    answers=shapes.LinkPage,
    asks=(an_id("tree", "The tree.", required=True), _NODE, *PAGES),
)
@api_view(["GET"])
def links(request: Request) -> Response:
    """Links as they are stored, from source to target, oldest first."""
    actor, tree = access.get_tree(user_of(request), needed(request, "tree"))
    named = request.query_params.get("node")
    found = links_in(actor, tree, get_node(tree, named) if named else None)
    limit = number(request, "limit", default=USUAL, least=1, most=MOST)
    offset = number(request, "offset", default=0)
    page = found[offset : offset + limit]
    return Response({"count": len(found), "results": link_bodies(page, tree)})


@operation("GET", "link-types list", "The types a link may have", answers=shapes.LinkTypePage)
@api_view(["GET"])
def types(request: Request) -> Response:
    """Every stored type with how it reads from its target's side."""
    listed = [_type(name) for name in link_types.STORED]
    return Response({"count": len(listed), "results": listed})


def _type(name: str) -> dict[str, Any]:
    reverse = link_types.reverse_of(name)
    return {"name": name, "reverse": reverse, "symmetric": name in link_types.SYMMETRIC}
