"""The caller's own account over the API: who he is, his keys, his browsers."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom.commands import people
from loom.doors.api import shapes
from loom.doors.api.body import read
from loom.doors.api.paging import paged
from loom.models import ApiKey, UserSession
from loom.rules.hashes import instant


@extend_schema(tags=["account"], summary="Who calls", responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
def me(request: Request) -> Response:
    """The signed-in user."""
    user = request.user
    return Response({"user": user.username, "name": str(user), "theme": user.theme})


def _key(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.uid,
        "name": key.name,
        "hint": key.hint,
        "created_at": instant(key.created_at),
        "last_used_at": instant(key.last_used_at) if key.last_used_at else None,
    }


@extend_schema(methods=["GET"], tags=["account"], summary="API keys", responses=shapes.Page)
@extend_schema(
    methods=["POST"],
    tags=["account"],
    summary="Make an API key, shown once",
    request=shapes.KeyBody,
    responses={201: OpenApiTypes.OBJECT},
)
@api_view(["GET", "POST"])
def api_keys(request: Request) -> Response:
    """The caller's keys that are not revoked; or a new one with its secret."""
    if request.method == "GET":
        return paged(request, request.user.api_keys.filter(revoked_at__isnull=True), _key)
    key, secret = people.make_key(request.user, read(request, shapes.KeyBody).name)
    return Response({**_key(key), "key": secret}, status=201)


@extend_schema(tags=["account"], summary="Revoke an API key", responses=shapes.Gone)
@api_view(["DELETE"])
def api_key(request: Request, uid: str) -> Response:
    """Ends a key at once."""
    people.revoke_key(request.user, uid)
    return Response({"ok": True})


def _session(one: UserSession) -> dict[str, object]:
    return {
        "id": one.uid,
        "agent": one.agent,
        "created_at": instant(one.created_at),
        "seen_at": instant(one.seen_at),
    }


@extend_schema(tags=["account"], summary="Signed-in browsers", responses=shapes.Page)
@api_view(["GET"])
def sessions(request: Request) -> Response:
    """The browsers the caller is signed in with."""
    return paged(request, request.user.browsers.all(), _session)


@extend_schema(tags=["account"], summary="Sign a browser out", responses=shapes.Gone)
@api_view(["DELETE"])
def session(request: Request, uid: str) -> Response:
    """Signs one browser out."""
    people.end_session(request.user, uid)
    return Response({"ok": True})
