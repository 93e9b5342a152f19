"""The time stamp of a text on the page of its provenance."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from agents.timestamps.queries import node_stamp
from loom import access
from loom.errors import not_found
from loom.site.page_requests import PersonRequest, known_node, person


@require_GET
@person
def timestamp_part(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """What is known of the time stamp of a text, as a part of a page."""
    _, tree = access.get_tree(request.user, uid)
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    known = node_stamp(node)
    stamp = known.stamp
    context = {
        "tree": tree,
        "node": node,
        "status": known.status,
        "reason": known.reason,
        "stamp": stamp,
        # The moment itself: how long ago it was is no evidence.
        "at": f"{stamp.at:%Y-%m-%d %H:%M:%S} UTC" if stamp else "",
        "authority": stamp.host if stamp else "",
    }
    return render(request, "timestamps/stamp.html", context)
