"""The caller in the API: who calls, and their groves."""

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.people.queries import grove_bodies
from loom.site import responses
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import operation


class Me(Returned):
    """The caller."""

    user: str
    name: str
    theme: str
    has_password: bool
    groves: list[responses.GroveSchema]


@operation("GET", "account me", "Who calls", answers=Me)
@api_view(["GET"])
def me(request: Request) -> Response:
    """The caller and their groves."""
    user = user_of(request)
    groves = access.visible_groves(user)
    return Response(
        {
            "user": user.username,
            "name": str(user),
            "theme": user.theme,
            "has_password": user.has_usable_password(),
            "groves": grove_bodies(access.get_actors(user, groves)),
        }
    )
