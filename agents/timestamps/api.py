"""Time stamps of texts in the API."""

from typing import Literal

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.timestamps.models import REPLY
from agents.timestamps.queries import NodeStamp, node_stamp
from loom import access
from loom.errors import not_found
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import operation
from loom.trees.queries import lookup


class NodeStampOf(Returned):
    """The time stamp that speaks for a text. `waiting`: there is none yet, `broken`: it is none of
    the hash (`reason` says why), `none`: it will get none. `through` is the version whose hash was
    stamped, which is this one or was built upon it; `at` is the time in the stamp, `authority` the
    host that signed it."""

    node: str
    status: Literal["stamped", "broken", "waiting", "none"]
    reason: str
    through: str | None
    hash: str | None
    at: str | None
    authority: str | None


def _stamp(request: Request, uid: str, local_id: str) -> NodeStamp:
    _, tree = access.get_tree(user_of(request), uid)
    node = lookup.find_node(tree, local_id)
    if node is None:
        raise not_found("This node")
    return node_stamp(node)


@operation(
    "GET",
    "trees",
    "The time stamp of a text",
    id="tree_node_timestamp",
    answers=NodeStampOf,
)
@api_view(["GET"])
def timestamp(request: Request, uid: str, local_id: str) -> Response:
    """The time stamp (RFC 3161) that speaks for a text, checked again."""
    return Response(_stamp(request, uid, local_id).body())


@operation(
    "GET",
    "trees",
    "What the authority answered",
    id="tree_node_timestamp_answer",
    answers={(200, REPLY): OpenApiTypes.BINARY},
)
@api_view(["GET"])
def timestamp_answer(request: Request, uid: str, local_id: str) -> HttpResponse:
    """The bytes of the time stamp, for `openssl ts -verify -digest HASH -in FILE -CAfile …`."""
    stamp = _stamp(request, uid, local_id).stamp
    if stamp is None:
        raise not_found("A time stamp of this node")
    answer = HttpResponse(bytes(stamp.answer), content_type=REPLY)
    answer["Content-Disposition"] = f'attachment; filename="{stamp.node.local_id}.tsr"'
    return answer
