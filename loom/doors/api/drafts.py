"""Drafts over the API: what a person has typed and not yet made a node of."""

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.commands import drafting
from loom.doors.api import bodies, draft_shapes
from loom.doors.api.auth import user_of
from loom.doors.api.body import read
from loom.doors.api.schema import operation
from loom.models import Node
from loom.queries import lookup
from loom.queries.drafts import draft_body, drafts_of
from loom.rules.ids import looks_like_id
from loom.rules.refusals import not_found


@operation("GET", "workspaces drafts", "Somebody's drafts in a tree", answers=draft_shapes.Drafts)
@api_view(["GET"])
def drafts(request: Request, uid: str) -> Response:
    """The drafts of the caller's workspace; an agent's has none."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    found = drafts_of(actor, workspace)
    return Response({"count": len(found), "results": found})


@operation(
    "PUT",
    "workspaces keep_draft",
    "Keep a draft, or end it with an empty text",
    body=bodies.DraftSent,
    answers=draft_shapes.Draft,
)
@api_view(["PUT"])
def draft(request: Request, uid: str, slot: str) -> Response:
    """The draft as it is kept now; `at` is null where it was ended."""
    actor, workspace = access.get_workspace(user_of(request), uid)
    given = read(request, bodies.DraftSent)
    wanted = slot.lower()
    node = lookup.find_node(workspace.tree, wanted) if looks_like_id(wanted) else None
    if node is None:
        raise not_found(f"[{slot}]")
    first: Node = node.slot
    kept = drafting.save(actor, workspace, first, drafting.Kept(given.kind, given.text, given.seen))
    gone = {"slot": first.local_id, "kind": given.kind, "text": "", "at": None}
    return Response(draft_body(kept) if kept else gone)
