"""Link types and trails in the API."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.engine.execute import execute
from loom.links.commands import trails as trail_verbs
from loom.links.commands import types as verbs
from loom.links.link_types import STANDARD, Type
from loom.links.markdown import trail_markdown
from loom.links.models import Trail
from loom.links.trail_steps import steps_of, way_of
from loom.links.trails import (
    get_trail,
    open_trail,
    step_bodies,
    stops_of,
    trail_body,
    trails_for,
)
from loom.links.vocabulary import types_for
from loom.links.written_portals import OpenedPortals
from loom.people.participant_fields import ARCHETYPES
from loom.site import responses
from loom.site.api_requests import Body, PartialBody, read, user_of
from loom.site.downloads import attachment
from loom.site.schema import PAGES, an_id, operation, paged
from loom.turns.access import get_turn


class TypeSent(Body):
    """A new link type. Without `reverse` it is symmetric."""

    grove: str = ""
    name: str = Field(min_length=1, max_length=60)
    reverse: str = Field("", max_length=60)
    group: str = Field("semantic", max_length=20)
    colour: str = Field("", max_length=20)
    archetypes: list[str] = Field(list(ARCHETYPES), max_length=10)


class TypeChangedSchema(PartialBody):
    """The changes to the link type `type`; what is left out stays."""

    grove: str = ""
    type: str = Field("", min_length=1, max_length=60)
    name: str = Field("", min_length=1, max_length=60)
    reverse: str = Field("", min_length=1, max_length=60)
    group: str = Field("", max_length=20)
    colour: str = Field("", max_length=20)
    archetypes: list[str] = Field([], max_length=10)
    archived: bool = False


def _actor(request: Request, grove: str) -> Actor:
    user = user_of(request)
    if grove:
        return access.get_grove(user, grove)[0]
    return access.get_actor(user, access.first_grove(user))


@operation(
    "GET",
    "link-types list",
    "The link types of a grove",
    answers=responses.Page[responses.LinkTypeSchema],
    asks=(an_id("grove", "Its grove; the caller's first, if it is left out."),),
)
@operation(
    "POST",
    "link-types add",
    "Add a link type",
    body=TypeSent,
    answers=responses.LinkTypeSchema,
    status=201,
)
@operation(
    "PATCH",
    "link-types change",
    "Rename, colour, archive or restore a link type",
    body=TypeChangedSchema,
    answers=responses.LinkTypeSchema,
)
@api_view(["GET", "POST", "PATCH"])
def types(request: Request) -> Response:
    """The link types that the caller's archetype sees, archived ones included: by group, those that
    the caller uses most first; adds or changes one."""
    if request.method == "POST":
        sent = read(request, TypeSent)
        values = sent.model_dump(exclude={"grove"})
        return Response(
            _body(verbs.add_type(_actor(request, sent.grove), verbs.NewType(**values))), status=201
        )
    if request.method == "PATCH":
        part = read(request, TypeChangedSchema)
        values = part.model_dump(exclude={"grove"}, exclude_unset=True)
        change = verbs.TypeChange(**{"type": "", **values})
        return Response(_body(verbs.change_type(_actor(request, part.grove), change)))
    named = request.query_params.get("grove", "")
    listed = [_body(kind) for kind in _seen(request, named)]
    return Response({"count": len(listed), "results": listed})


def _seen(request: Request, grove: str) -> list[Type]:
    """The types that the caller sees; the standard list for somebody without a grove."""
    if not grove and not access.visible_groves(user_of(request)).exists():
        return list(STANDARD.types)
    return types_for(_actor(request, grove))


def _body(kind: Type) -> dict[str, Any]:
    return verbs.type_body(kind)


class TrailSent(Body):
    """The tree in which the steps were taken, and the name of the trail."""

    tree: str = Field(min_length=1, max_length=32)
    name: str = Field(min_length=1, max_length=100)


@operation(
    "GET",
    "trails list",
    "The caller's trails and the shared ones of a grove",
    answers=responses.Page[responses.TrailSummary],
    asks=(an_id("grove", "Its grove; the caller's first, if it is left out."), *PAGES),
)
@operation(
    "POST",
    "trails save",
    "Keep the steps since the last switch in a tree",
    body=TrailSent,
    answers=responses.TrailSummary,
    status=201,
)
@api_view(["GET", "POST"])
def trails(request: Request) -> Response:
    """Trails, the newest first; saving one runs `trail save`."""
    if request.method == "GET":
        actor = _actor(request, request.query_params.get("grove", ""))
        return paged(request, trails_for(actor), lambda row: trail_body(actor, row))
    sent = read(request, TrailSent)
    actor, tree = access.get_tree(user_of(request), sent.tree)
    args = trail_verbs.Save(save="save", name=sent.name)
    execute(actor, tree, trail_verbs.trail_save, args)
    trail = get_trail(actor, " ".join(sent.name.split()))
    return Response(trail_body(actor, trail, with_steps=True), status=201)


@operation("GET", "trails read", "A trail with its steps", answers=responses.TrailWithSteps)
@api_view(["GET"])
def trail(request: Request, uid: str) -> Response:
    """A trail, with what became of the items that it leads to, as far as the caller may see."""
    actor, trail = open_trail(user_of(request), uid)
    return Response(trail_body(actor, trail, with_steps=True))


@operation(
    "GET", "trails export", "A trail as Markdown", answers=OpenApiTypes.STR, id="trail_export"
)
@api_view(["GET"])
def trail_export(request: Request, uid: str) -> HttpResponse:
    """The exploration as a document: the steps in order, their items as nested quotes."""
    actor, trail = open_trail(user_of(request), uid)
    return markdown_of(actor, trail)


def markdown_of(actor: Actor, trail: Trail) -> HttpResponse:
    """A trail as a Markdown file."""
    steps = steps_of(trail)
    stops, opened = (
        stops_of(actor, trail.tree, steps),
        OpenedPortals(actor, trail.tree, pruned=True),
    )
    text = trail_markdown(trail.name, steps, stops, opened=opened.text)
    headers = {"Content-Disposition": attachment(trail.name, "md", otherwise="trail")}
    return HttpResponse(text, content_type="text/markdown; charset=utf-8", headers=headers)


@operation(
    "GET",
    "turns trail",
    "Where the steps of a turn led",
    answers=responses.TrailSteps,
    id="turn_trail",
)
@api_view(["GET"])
def turn_trail(request: Request, uid: str) -> Response:
    """The trail that led to the node of a turn, as far as the caller may see it."""
    actor, turn = get_turn(user_of(request), uid)
    workspace = access.workspace_of(turn.participant, turn.tree)
    steps = way_of(workspace, turn=turn.uid) if workspace.pk else []
    return Response({"steps": step_bodies(steps, stops_of(actor, turn.tree, steps))})
