"""Workspaces and steps over the API."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import growth
from loom.doors.api import shapes
from loom.doors.api.reading import events_of, number
from loom.log import streams
from loom.models import Participant, Step
from loom.queries.workspaces import workspace_body
from loom.rules.hashes import instant
from loom.rules.refusals import Refused, not_found


@extend_schema(
    tags=["workspaces"],
    summary="Somebody's workspace in a tree",
    parameters=[
        OpenApiParameter("tree", OpenApiTypes.STR, required=True),
        OpenApiParameter("participant", OpenApiTypes.STR),
    ],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
def workspaces(request: Request) -> Response:
    """The caller's own workspace, or that of a model of the grove; made on first use."""
    tree_uid = request.query_params.get("tree")
    if not tree_uid:
        raise Refused("INVALID_SYNTAX", "Of which tree?", hint="?tree=ID")
    actor, tree = access.get_tree(request.user, tree_uid)
    wanted = request.query_params.get("participant")
    whose: Participant | None = actor.participant
    if wanted and wanted != actor.participant.uid:
        whose = Participant.objects.filter(grove=tree.grove, uid=wanted, kind="model").first()
    if whose is None:
        raise not_found("This workspace")
    return Response(workspace_body(actor, growth.workspace_of(whose, tree)))


@extend_schema(tags=["workspaces"], summary="A workspace", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
def workspace(request: Request, uid: str) -> Response:
    """Position, versions chosen and revision of a workspace."""
    actor, found = access.get_workspace(request.user, uid)
    return Response(workspace_body(actor, found))


@extend_schema(
    tags=["workspaces"], summary="What happened in a workspace", responses=OpenApiTypes.OBJECT
)
@api_view(["GET"])
def events(request: Request, uid: str) -> Response:
    """The events of a workspace's view."""
    actor, found = access.get_workspace(request.user, uid)
    return Response(events_of(request, actor, streams.name_of(found)))


def _step(step: Step) -> dict[str, Any]:
    return {
        "seq": step.seq,
        "actor": step.actor.uid,
        "on_behalf_of": step.on_behalf_of.uid if step.on_behalf_of else None,
        "line": step.line,
        "canonical": step.canonical,
        "because": step.because,
        "outcome": step.outcome,
        "message": step.message,
        "stream": step.stream,
        "events": step.events,
        "undone": step.is_undone,
        "at": instant(step.at),
    }


@extend_schema(
    tags=["workspaces"],
    summary="Steps of a workspace",
    parameters=[
        OpenApiParameter("workspace", OpenApiTypes.STR, required=True),
        OpenApiParameter("after", OpenApiTypes.INT),
        OpenApiParameter("limit", OpenApiTypes.INT),
    ],
    responses=shapes.Page,
)
@api_view(["GET"])
def steps(request: Request) -> Response:
    """Who tried what, with what outcome, in order, after a step's number."""
    uid = request.query_params.get("workspace")
    if not uid:
        raise Refused("INVALID_SYNTAX", "Of which workspace?", hint="?workspace=ID")
    found = access.get_workspace(request.user, uid)[1]
    after = number(request, "after", default=0)
    limit = number(request, "limit", default=100, least=1, most=1000)
    rows = found.steps.filter(seq__gt=after).select_related("actor", "on_behalf_of").order_by("seq")
    return Response({"count": rows.count(), "results": [_step(step) for step in rows[:limit]]})
