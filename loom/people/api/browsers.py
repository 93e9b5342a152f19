"""The browsers that the caller is signed in with, in the API: listed, and signed out."""

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom.people.commands import accounts as people
from loom.people.models import UserSession
from loom.people.queries import browsers_of
from loom.site import responses
from loom.site.api_requests import demand_browser, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, operation, paged
from loom.text.hashes import instant


class SessionSchema(Returned):
    """A signed-in browser; `here` marks the one that sent the request."""

    id: str
    agent: str
    created_at: str
    seen_at: str
    here: bool


@operation(
    "GET",
    "account sessions",
    "Signed-in browsers",
    answers=responses.Page[SessionSchema],
    asks=PAGES,
)
@api_view(["GET"])
def sessions(request: Request) -> Response:
    """The browsers the caller is signed in with."""
    here = request._request.session.session_key

    def body(row: UserSession) -> dict[str, object]:
        return {
            "id": row.uid,
            "agent": row.agent,
            "created_at": instant(row.created_at),
            "seen_at": instant(row.seen_at),
            "here": row.session_key == here,
        }

    return paged(request, browsers_of(user_of(request)), body)


@operation("DELETE", "account end_session", "Sign a browser out", answers=responses.Gone)
@api_view(["DELETE"])
def session(request: Request, uid: str) -> Response:
    """Signs one browser out."""
    demand_browser(request, "cannot end a session")
    people.end_session(user_of(request), uid)
    return Response({"ok": True})
