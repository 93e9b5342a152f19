"""The tree page and its parts: path, weave, one node's details, bookmarks, search."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from loom import access
from loom.commands import growth
from loom.doors.web import keys
from loom.doors.web.candidates import agents_of, weave_of
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.places import Place, place_of, stretch_of
from loom.doors.web.portals import portals_out
from loom.doors.web.shown import Drawn, drawn_of, reader_of
from loom.doors.web.turns import actors_of
from loom.doors.web.who import Who, cast_of
from loom.models import Node, VersionChoice, Workspace
from loom.queries.counts import head_of
from loom.queries.drafts import text_at
from loom.rules.budgets import PRESETS

PAGE_NODES = 60


def _place(request: PersonRequest, uid: str) -> Place:
    """Who asks, for which tree, and where he stands. NOT_FOUND for an unknown node."""
    actor, tree = access.get_tree(request.user, uid)
    workspace = growth.workspace_of(actor.participant, tree)
    return place_of(actor, tree, workspace, request.GET.get("node", ""))


@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """A tree, standing at `?node=`, else where the reader stood last."""
    place = _place(request, uid)
    # The cursor is read first: what happens while the page is made comes again as events.
    seq = head_of(place.tree)
    cast = cast_of(place.actor)
    context = {
        **_path_context(place, cast, after="", before=""),
        "weave": weave_of(place.actor, place.tree, place.workspace, place.node, cast),
        "cast": list(cast.values()),
        "me": cast[place.actor.participant.uid],
        "agents": agents_of(cast),
        "actors": actors_of(place.actor, cast),
        "budgets": tuple(PRESETS),
        "settings": {
            **_settings(place, cast, seq),
            "keys": keys.for_scripts(request.user, place.tree.mode),
            "edits": request.user.likes.edits,
        },
        "shares": place.actor.is_owner,
        "tail": text_at(place.workspace, place.node, "buffer"),
    }
    return render(request, "pages/tree.html", context)


def _settings(place: Place, cast: dict[str, Who], seq: int) -> dict[str, Any]:
    """What the page's scripts start from."""
    return {
        "tree": place.tree.uid,
        "title": place.tree.title,
        "grove": place.actor.grove.uid,
        "mode": place.tree.mode,
        "seq": seq,
        "node": place.node.local_id,
        "slot": place.node.slot.local_id,
        "workspace": place.workspace.uid,
        "me": place.actor.participant.uid,
        "can": access.abilities(place.actor, place.tree),
        "versions": _choices(place.workspace),
        "cast": [
            {
                "id": who.uid,
                "name": who.name,
                "kind": who.kind,
                "colour": who.colour,
                "initials": who.initials,
            }
            for who in cast.values()
        ],
    }


def _choices(workspace: Workspace) -> dict[str, str]:
    """The versions the reader chose, slot → version, by local ids."""
    chosen = VersionChoice.objects.filter(workspace=workspace).order_by("id")
    return dict(chosen.values_list("slot__local_id", "node__local_id"))


def _path_context(place: Place, cast: dict[str, Who], *, after: str, before: str) -> dict[str, Any]:
    stretch = stretch_of(place, after=after, before=before, limit=PAGE_NODES)
    drawn = drawn_of(place.tree, stretch.spots, cast)
    return {
        "tree": place.tree,
        "grove": place.actor.grove,
        "node": place.node.local_id,
        "nodes": _elements(place, drawn, stretch.above),
        "first": drawn[0].id if drawn else "",
        "has_above": stretch.has_above,
        "can": access.abilities(place.actor, place.tree),
    }


def _elements(place: Place, drawn: Sequence[Drawn], above: int) -> list[SafeString]:
    """The nodes of a stretch for the reader: his own name, marks, keys and wordings."""
    reader = reader_of(place.actor)
    over = ""
    if drawn and drawn[0].wordings is not None:
        over = Node.objects.filter(pk=above).values_list("local_id", flat=True).first() or ""
    out = portals_out(place.actor, place.tree, [one for one in drawn if one.is_linked_out])
    return [
        one.element(reader, above=before, portals=out.get(one.id, ""))
        for one, before in zip(drawn, [over, *(one.id for one in drawn)], strict=False)
    ]


@require_GET
@person
def path(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` with its weave; only below `?after=`, a node of that path."""
    place = _place(request, uid)
    cast = cast_of(place.actor)
    context = _path_context(place, cast, after=request.GET.get("after", ""), before="")
    context["weave"] = weave_of(place.actor, place.tree, place.workspace, place.node, cast)
    return render(request, "parts/path.html", context)


@require_GET
@person
def above(request: PersonRequest, uid: str) -> HttpResponse:
    """The stretch of the path to `?node=` that lies above `?before=`."""
    place = _place(request, uid)
    before = request.GET.get("before", "")
    context = _path_context(place, cast_of(place.actor), after="", before=before)
    return render(request, "parts/stretch.html", context)


@require_GET
@person
def weave(request: PersonRequest, uid: str) -> HttpResponse:
    """What hangs below `?node=`."""
    place = _place(request, uid)
    cast = cast_of(place.actor)
    drawn = weave_of(place.actor, place.tree, place.workspace, place.node, cast)
    context = {"weave": drawn, "tree": place.tree, "can": access.abilities(place.actor, place.tree)}
    return render(request, "parts/weave.html", context)
