"""The page of one node's provenance: its call, its hash, and what it rests on."""

import json

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from loom import access
from loom.commands import growth
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.groves import frame
from loom.doors.web.places import known_node
from loom.queries.provenance import provenance_of
from loom.rules.refusals import not_found


@require_GET
@person
def page(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """Where a node came from, for people; the same as the API's `…/provenance`."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    found = provenance_of(actor, tree, growth.workspace_of(actor.participant, tree), node)
    call = found.call.body() if found.call else None
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "origin": found,
        "node": found.node,
        "call": call,
        "sent": _pretty(call["request"]) if call else "",
        "usage": _pretty(call["usage"]) if call else "",
        "proof": _pretty(found.node["proof"]),
    }
    return render(request, "pages/provenance.html", context)


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
