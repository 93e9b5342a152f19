"""Public links of a tree over the API. The page that they open is `loom.doors.web.public`."""

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import public_links as verbs
from loom.doors.api import bodies, public_shapes, shapes
from loom.doors.api.auth import user_of
from loom.doors.api.body import read
from loom.doors.api.paging import PAGES, paged
from loom.doors.api.schema import operation


@operation(
    "GET",
    "public links list",
    "Open public links, for owners",
    answers=public_shapes.PublicLinkPage,
    asks=PAGES,
)
@operation(
    "POST",
    "public links make",
    "Let anybody read a tree by a link that is shown this once",
    body=bodies.PublicLinkSent,
    answers=public_shapes.NewPublicLink,
    status=201,
)
@operation(
    "DELETE",
    "public links revoke",
    "Revoke a public link",
    body=bodies.PublicLinkNamed,
    answers=shapes.Gone,
)
@api_view(["GET", "POST", "DELETE"])
def public_links(request: Request, uid: str) -> Response:
    """The open public links of a tree, for owners of its grove."""
    actor, tree = access.get_tree(user_of(request), uid, role="owner")
    if request.method == "GET":
        return paged(request, verbs.open_links(actor, tree), verbs.public_link_body)
    if request.method == "DELETE":
        verbs.revoke_public_link(actor, tree, read(request, bodies.PublicLinkNamed).id)
        return Response({"ok": True})
    made, secret = verbs.make_public_link(
        actor, tree, days=read(request, bodies.PublicLinkSent).days
    )
    link = request.build_absolute_uri(f"/public/{secret}")
    return Response({**verbs.public_link_body(made), "link": link}, status=201)
