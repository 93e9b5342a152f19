"""Who belongs to a grove, over the API: members and invitations."""

from datetime import timedelta

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import groves as verbs
from loom.commands import invitations as invites
from loom.doors.api import bodies, shapes
from loom.doors.api.auth import user_of
from loom.doors.api.body import read
from loom.doors.api.paging import PAGES, paged
from loom.doors.api.schema import operation

DAY = timedelta(days=1)


@operation("GET", "members list", "Members", answers=shapes.MemberPage, asks=PAGES)
@operation(
    "POST",
    "members add",
    "Make an existing user a member",
    body=bodies.MemberSent,
    answers=shapes.Member,
    status=201,
)
@operation(
    "PATCH",
    "members change",
    "Give a member another role",
    body=bodies.MemberSent,
    answers=shapes.Member,
)
@operation(
    "DELETE", "members remove", "Remove a member", body=bodies.MemberNamed, answers=shapes.Gone
)
@api_view(["GET", "POST", "PATCH", "DELETE"])
def members(request: Request, uid: str) -> Response:
    """The members; changing them is for owners, and the last owner stays."""
    actor, found = access.get_grove(user_of(request), uid)
    if request.method == "GET":
        rows = found.memberships.select_related("user", "participant").order_by("id")
        return paged(request, rows, verbs.member_body)
    access.demand_role(actor, "owner")
    if request.method == "DELETE":
        verbs.remove_member(actor, read(request, bodies.MemberNamed).user)
        return Response({"ok": True})
    body = read(request, bodies.MemberSent)
    if request.method == "PATCH":
        return Response(verbs.member_body(verbs.change_role(actor, body.user, body.role)))
    return Response(verbs.member_body(verbs.add_member(actor, body.user, body.role)), status=201)


@operation(
    "GET",
    "invitations list",
    "Invitations, for owners",
    answers=shapes.InvitationPage,
    asks=PAGES,
)
@operation(
    "POST",
    "invitations make",
    "Invite somebody by a link that is shown this once",
    body=bodies.InvitationSent,
    answers=shapes.NewInvitation,
    status=201,
)
@operation(
    "DELETE",
    "invitations revoke",
    "Revoke an invitation",
    body=bodies.InvitationNamed,
    answers=shapes.Gone,
)
@api_view(["GET", "POST", "DELETE"])
def invitations(request: Request, uid: str) -> Response:
    """Invitations of a grove, for its owners."""
    actor, found = access.get_grove(user_of(request), uid, role="owner")
    if request.method == "GET":
        return paged(request, found.invitations.order_by("id"), invites.invitation_body)
    if request.method == "DELETE":
        invites.revoke_invitation(actor, read(request, bodies.InvitationNamed).id)
        return Response({"ok": True})
    body = read(request, bodies.InvitationSent)
    days = (body.expires_at - timezone.now()) / DAY if body.expires_at else body.days
    made, secret = invites.make_invitation(actor, role=body.role, days=days, uses=body.uses)
    link = request.build_absolute_uri(f"/invitations/{secret}")
    return Response({**invites.invitation_body(made), "link": link}, status=201)
