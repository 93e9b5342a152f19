"""The text of a buffer tree for the editor: node by node, and whose each character is."""

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from loom import access
from loom.commands import growth
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.places import place_of
from loom.models import Node, Tree
from loom.queries.authorship import pieces_of
from loom.queries.path import path_of
from loom.queries.rows import NodeRow, rows_of
from loom.rules.authorship import Pieces
from loom.rules.ids import looks_like_id

MAX_IDS = 200


@require_GET
@person
def text(request: PersonRequest, uid: str) -> HttpResponse:
    """`{nodes: [{id, slot, at, text, by: [[participant, length]…], excluded}]}`: the path to
    `?node=` without the root, or the nodes `?ids=a,b`. Lengths in UTF-16 units."""
    actor, tree = access.get_tree(request.user, uid)
    if "ids" in request.GET:
        rows = _named(tree, request.GET["ids"].split(","))
    else:
        workspace = growth.workspace_of(actor.participant, tree)
        place = place_of(actor, tree, workspace, request.GET.get("node", ""))
        rows = path_of(actor, tree, workspace, place.node)[1:]
    pieces = pieces_of(rows)
    slots = dict(
        Node.objects.filter(pk__in={row.slot_id for row in rows}).values_list("id", "local_id")
    )
    return JsonResponse({"nodes": [_node(row, slots, pieces[row.id]) for row in rows]})


def _named(tree: Tree, ids: list[str]) -> list[NodeRow]:
    wanted = [one.lower() for one in ids[:MAX_IDS] if looks_like_id(one)]
    found = Node.objects.filter(tree=tree, local_id__in=wanted).values_list("id", flat=True)
    return rows_of(list(found))


def _node(row: NodeRow, slots: dict[int, str], pieces: Pieces) -> dict[str, Any]:
    return {
        "id": row.local_id,
        "slot": slots[row.slot_id],
        "at": row.at,
        "text": row.text,
        "by": _units(row.text, pieces),
        "excluded": row.excluded,
    }


def _units(text: str, pieces: Pieces) -> list[tuple[str, int]]:
    """Lengths as browsers count: a character outside the first plane is two."""
    if len(pieces) == 1:
        return [(pieces[0][0], _length(text))]
    found, at = [], 0
    for author, length in pieces:
        found.append((author, _length(text[at : at + length])))
        at += length
    return found


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
