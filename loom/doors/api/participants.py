"""Participants over the API: who writes in a grove, and the settings of its models."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import participants as verbs
from loom.doors.api import shapes
from loom.doors.api.body import read
from loom.doors.api.paging import paged
from loom.doors.api.reading import truth
from loom.models import Participant

_NOT_FIELDS = {"grove", "kind", "permissions", "loom_aware", "api_key"}


def _body(one: Participant) -> dict[str, Any]:
    member = one.membership_set.first() if one.kind == "human" else None
    return verbs.participant_body(one, member.role if member else "")


def _changes(body: shapes.ParticipantBody) -> verbs.Changes:
    sent = body.model_fields_set - _NOT_FIELDS
    dumped = body.model_dump(include=sent)
    nullable = {"temperature", "max_tokens"}
    fields = {
        name: value for name, value in dumped.items() if value is not None or name in nullable
    }
    return verbs.Changes(
        fields=fields,
        api_key=body.api_key,
        permissions=body.permissions,
        loom_aware=body.loom_aware,
    )


@extend_schema(
    methods=["GET"],
    tags=["participants"],
    summary="Who takes part in a grove",
    parameters=[OpenApiParameter("grove", OpenApiTypes.STR)],
    responses=shapes.Page,
)
@extend_schema(
    methods=["POST"],
    tags=["participants"],
    summary="Add a model",
    request=shapes.ParticipantBody,
    responses={201: OpenApiTypes.OBJECT},
)
@api_view(["GET", "POST"])
def participants(request: Request) -> Response:
    """People and models of a grove (without `grove`: the caller's first); owners add models."""
    body = read(request, shapes.ParticipantBody) if request.method == "POST" else None
    uid = body.grove if body else request.query_params.get("grove")
    grove = access.get_grove(request.user, uid)[1] if uid else access.first_grove(request.user)
    actor = access.get_actor(request.user, grove)
    if body is not None:
        access.demand_role(actor, "owner")
        return Response(_body(verbs.make_participant(actor, _changes(body))), status=201)
    rows = grove.participants.select_related("grove").prefetch_related("membership_set")
    if not truth(request, "archived"):
        rows = rows.filter(archived_at__isnull=True)
    return paged(request, rows.order_by("id"), _body)


@extend_schema(
    methods=["GET", "DELETE"],
    tags=["participants"],
    summary="A participant",
    responses=OpenApiTypes.OBJECT,
)
@extend_schema(
    methods=["PATCH"],
    tags=["participants"],
    summary="Change a model",
    request=shapes.ParticipantBody,
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET", "PATCH", "DELETE"])
def participant(request: Request, uid: str) -> Response:
    """A participant; owners change models, and DELETE archives one."""
    actor, one = access.get_participant(request.user, uid)
    if request.method == "GET":
        return Response(_body(one))
    access.demand_role(actor, "owner")
    if request.method == "DELETE":
        verbs.archive_participant(actor, one)
        return Response(_body(one))
    changed = verbs.change_participant(actor, one, _changes(read(request, shapes.ParticipantBody)))
    return Response(_body(changed))
