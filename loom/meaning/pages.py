"""The grid in which the candidates below a node are skimmed."""

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET

from loom import access
from loom.errors import not_found
from loom.meaning.skimming import grid_of
from loom.permissions import WRITE
from loom.site.display import cast_of
from loom.site.page_requests import PersonRequest, is_part, person
from loom.trees.queries import lookup


@require_GET
@person
def candidates(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The candidates below a node, to be skimmed with keys; for scripts only the grid, and with
    `?said=1` only `{said, count}`."""
    actor, tree = access.get_tree(request.user, uid)
    node = lookup.find_node(tree, local_id)
    if node is None:
        raise not_found("This node")
    grid = grid_of(
        actor, lookup.with_tree(tree, node), access.workspace_of(actor.participant, tree)
    )
    if request.GET.get("said"):
        return JsonResponse({"said": grid.said, "count": grid.count})
    cast = cast_of(actor)
    context = {
        "grove": tree.grove,
        "tree": tree,
        "node": node,
        "grid": grid,
        "cells": [(cell, cast[cell.candidate.by]) for cell in grid.cells],
        "may_write": WRITE in actor.permissions and tree.archived_at is None,
    }
    name = "meaning/grid.html" if is_part(request) else "meaning/candidates.html"
    return render(request, name, context)


PATHS: list[URLPattern] = [
    path("trees/<uid:uid>/candidates/<local:local_id>", candidates),
]
