"""Trees over the API: list, make, change, archive, erase."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import forest, growth
from loom.doors.api import shapes
from loom.doors.api.body import read
from loom.doors.api.paging import paged
from loom.doors.api.reading import truth
from loom.models import Tree
from loom.queries.counts import tree_body


def _body(request: Request, tree: Tree) -> dict[str, Any]:
    actor = access.get_actor(request.user, tree.grove)
    return tree_body(actor, tree, growth.workspace_of(actor.participant, tree))


@extend_schema(
    methods=["GET"],
    tags=["trees"],
    summary="The caller's trees",
    parameters=[
        OpenApiParameter("grove", OpenApiTypes.STR),
        OpenApiParameter("archived", OpenApiTypes.BOOL),
        OpenApiParameter("limit", OpenApiTypes.INT),
        OpenApiParameter("offset", OpenApiTypes.INT),
    ],
    responses=shapes.Page,
)
@extend_schema(
    methods=["POST"],
    tags=["trees"],
    summary="Make a tree",
    request=shapes.TreeBody,
    responses={201: OpenApiTypes.OBJECT, "4XX": shapes.Problem},
)
@api_view(["GET", "POST"])
def trees(request: Request) -> Response:
    """Lists trees, the latest touched first; or makes one with its empty root."""
    if request.method == "GET":
        return paged(request, _listed(request), lambda tree: _body(request, tree))
    body = read(request, shapes.TreeBody)
    grove = access.get_grove(request.user, body.grove)[1] if body.grove else None
    grove = grove or access.first_grove(request.user)
    actor = access.get_actor(request.user, grove)
    access.demand_role(actor, "writer")
    tree = growth.make_tree(
        actor,
        title=body.title,
        mode=body.mode,
        description=body.description,
        system_context=body.system_context,
    )
    return Response(_body(request, tree), status=201)


def _listed(request: Request) -> "QuerySet[Tree]":
    rows = access.visible_trees(request.user).select_related("grove")
    rows = rows.filter(archived_at__isnull=not truth(request, "archived"))
    grove = request.query_params.get("grove")
    if grove:
        rows = rows.filter(grove=access.get_grove(request.user, grove)[1])
    return rows.order_by("-touched_at", "-id")


@extend_schema(methods=["GET"], tags=["trees"], summary="A tree", responses=OpenApiTypes.OBJECT)
@extend_schema(
    methods=["PATCH"],
    tags=["trees"],
    summary="Change or archive a tree",
    request=shapes.TreeChanges,
    responses=OpenApiTypes.OBJECT,
)
@extend_schema(
    methods=["DELETE"],
    tags=["trees"],
    summary="Erase an archived tree, its title typed again",
    request=shapes.TreeGone,
    responses=shapes.Gone,
)
@api_view(["GET", "PATCH", "DELETE"])
def tree(request: Request, uid: str) -> Response:
    """A tree with its sizes and the caller's workspace; PATCH for writers, DELETE for owners."""
    actor, found = access.get_tree(request.user, uid)
    if request.method == "PATCH":
        access.demand_role(actor, "writer")
        changes = read(request, shapes.TreeChanges).model_dump(exclude_none=True)
        found = forest.change_tree(actor, found, changes)
    if request.method == "DELETE":
        access.demand_role(actor, "owner")
        forest.erase(actor, found, read(request, shapes.TreeGone).title)
        return Response({"ok": True})
    return Response(_body(request, found))
