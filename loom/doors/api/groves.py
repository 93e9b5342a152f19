"""Groves, members and invitations over the API."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.commands import groves as verbs
from loom.commands import invitations as invites
from loom.doors.api import shapes
from loom.doors.api.body import read
from loom.doors.api.paging import paged
from loom.doors.api.reading import events_of
from loom.log import streams
from loom.models import Grove
from loom.rules.hashes import instant
from loom.rules.refusals import Refused


def _body(actor: Actor, grove: Grove) -> dict[str, Any]:
    return {
        "id": grove.uid,
        "name": grove.name,
        "settings": grove.settings,
        "role": actor.role,
        "participant": actor.participant.uid,
        "created_at": instant(grove.created_at),
    }


@extend_schema(
    methods=["GET"], tags=["groves"], summary="The caller's groves", responses=shapes.Page
)
@extend_schema(
    methods=["POST"],
    tags=["groves"],
    summary="Make a grove",
    request=shapes.GroveBody,
    responses={201: OpenApiTypes.OBJECT},
)
@api_view(["GET", "POST"])
def groves(request: Request) -> Response:
    """Lists the groves one is a member of; or makes one, owned by its maker."""
    if request.method == "GET":
        rows = access.visible_groves(request.user).order_by("id")
        return paged(
            request, rows, lambda grove: _body(access.get_actor(request.user, grove), grove)
        )
    body = read(request, shapes.GroveBody)
    made = verbs.make_grove(request.user, body.name or "")
    return Response(_body(access.get_actor(request.user, made), made), status=201)


@extend_schema(methods=["GET"], tags=["groves"], summary="A grove", responses=OpenApiTypes.OBJECT)
@extend_schema(
    methods=["PATCH"],
    tags=["groves"],
    summary="Rename a grove or change its settings",
    request=shapes.GroveBody,
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET", "PATCH"])
def grove(request: Request, uid: str) -> Response:
    """A grove; changing it is for owners."""
    actor, found = access.get_grove(request.user, uid)
    if request.method == "PATCH":
        access.demand_role(actor, "owner")
        body = read(request, shapes.GroveBody)
        found = verbs.change_grove(actor, name=body.name, settings=body.settings)
    return Response(_body(actor, found))


@extend_schema(tags=["groves"], summary="What happened in a grove", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
def events(request: Request, uid: str) -> Response:
    """The events of a grove in order, after the last one known."""
    actor, found = access.get_grove(request.user, uid)
    return Response(events_of(request, actor, streams.name_of(found)))


@extend_schema(methods=["GET"], tags=["groves"], summary="Members", responses=shapes.Page)
@extend_schema(
    methods=["POST", "PATCH"],
    tags=["groves"],
    summary="Add a member, or change a role",
    request=shapes.MemberBody,
    responses=OpenApiTypes.OBJECT,
)
@extend_schema(
    methods=["DELETE"],
    tags=["groves"],
    summary="Remove a member",
    request=shapes.MemberGone,
    responses=shapes.Gone,
)
@api_view(["GET", "POST", "PATCH", "DELETE"])
def members(request: Request, uid: str) -> Response:
    """The members; changing them is for owners, and the last owner stays."""
    actor, found = access.get_grove(request.user, uid)
    if request.method == "GET":
        rows = found.memberships.select_related("user", "participant").order_by("id")
        return paged(request, rows, verbs.member_body)
    access.demand_role(actor, "owner")
    if request.method == "DELETE":
        verbs.remove_member(actor, read(request, shapes.MemberGone).user)
        return Response({"ok": True})
    body = read(request, shapes.MemberBody)
    if request.method == "PATCH":
        return Response(verbs.member_body(verbs.change_role(actor, body.user, body.role)))
    return Response(verbs.member_body(verbs.add_member(actor, body.user, body.role)), status=201)


@extend_schema(methods=["GET"], tags=["groves"], summary="Invitations", responses=shapes.Page)
@extend_schema(
    methods=["POST"],
    tags=["groves"],
    summary="Invite somebody by a link that is shown once",
    request=shapes.InvitationBody,
    responses={201: OpenApiTypes.OBJECT},
)
@extend_schema(
    methods=["DELETE"],
    tags=["groves"],
    summary="Revoke an invitation",
    request=shapes.InvitationGone,
    responses=shapes.Gone,
)
@api_view(["GET", "POST", "DELETE"])
def invitations(request: Request, uid: str) -> Response:
    """Invitations of a grove, for its owners."""
    actor, found = access.get_grove(request.user, uid, role="owner")
    if request.method == "GET":
        return paged(request, found.invitations.order_by("id"), invites.invitation_body)
    if request.method == "DELETE":
        given = request.query_params.get("id") or read(request, shapes.InvitationGone).id
        if not given:
            raise Refused("INVALID_SYNTAX", "Which invitation?", hint="send id")
        invites.revoke_invitation(actor, given)
        return Response({"ok": True})
    body = read(request, shapes.InvitationBody)
    made, secret = invites.make_invitation(actor, role=body.role, days=body.days, uses=body.uses)
    link = request.build_absolute_uri(f"/invitations/{secret}")
    return Response({**invites.invitation_body(made), "link": link}, status=201)
