"""Groves over the API. Who belongs to them: `members`."""

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import groves as verbs
from loom.doors.api import bodies, reading_shapes, shapes
from loom.doors.api.asking import a_number
from loom.doors.api.auth import demand_scope, user_of
from loom.doors.api.body import read
from loom.doors.api.paging import PAGES, paged
from loom.doors.api.reading import events_of
from loom.doors.api.schema import operation
from loom.log import streams
from loom.queries.accounts import grove_body
from loom.queries.feed import MAX_EVENTS

CURSOR = (
    a_number("since", "The last seq that is known."),
    a_number("limit", f"At most {MAX_EVENTS}.", least=1, most=MAX_EVENTS),
)


@operation("GET", "groves list", "The caller's groves", answers=shapes.GrovePage, asks=PAGES)
@operation(
    "POST",
    "groves make",
    "Make a grove, owned by its maker",
    body=bodies.GroveSent,
    answers=shapes.Grove,
    status=201,
)
@api_view(["GET", "POST"])
def groves(request: Request) -> Response:
    """Lists the groves one is a member of; or makes one."""
    user = user_of(request)
    if request.method == "POST":
        demand_scope(request, "owner")
        made = verbs.make_grove(user, read(request, bodies.GroveSent).name)
        return Response(grove_body(access.get_actor(user, made), made), status=201)
    rows = access.visible_groves(user)
    return paged(request, rows, lambda grove: grove_body(access.get_actor(user, grove), grove))


@operation("GET", "groves one", "A grove", answers=shapes.Grove)
@operation(
    "PATCH",
    "groves change",
    "Rename a grove or change its settings",
    body=bodies.GroveChanged,
    answers=shapes.Grove,
)
@api_view(["GET", "PATCH"])
def grove(request: Request, uid: str) -> Response:
    """A grove; changing it is for owners."""
    actor, found = access.get_grove(user_of(request), uid)
    if request.method == "PATCH":
        access.demand_role(actor, "owner")
        found = verbs.change_grove(actor, **read(request, bodies.GroveChanged).sent)
    return Response(grove_body(actor, found))


@operation(
    "GET",
    "groves events",
    "What happened in a grove",
    answers=reading_shapes.Events,
    asks=CURSOR,
)
@api_view(["GET"])
def events(request: Request, uid: str) -> Response:
    """The events of a grove in order, after the last one known."""
    actor, found = access.get_grove(user_of(request), uid)
    return Response(events_of(request, actor, streams.name_of(found)))
