"""Maps by meaning in the API: drawing one, and where its texts stand."""

from typing import Literal

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from pydantic_core import to_json
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.errors import CommandError, not_found
from loom.landscape import asking, title_requests
from loom.landscape.models import Landscape
from loom.landscape.queries import (
    empty_view,
    landscape_of,
    points_body,
    status_body,
    trees_seen,
    view_of,
)
from loom.participants.prices import NANO
from loom.people.models import Grove
from loom.permissions import GENERATE, WRITE
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import operation
from loom.trees.models import Tree
from loom.trees.queries import lookup


class LandscapeOf(Returned):
    """How far a map has come: `done` of 1; `revision` counts how often it was drawn (0: there is
    nothing to see yet), `placed` the texts that found their place since, `titled` how often a model
    gave titles; `said` why it failed."""

    status: Literal["none", "waiting", "running", "done", "stopped", "failed"]
    done: float
    revision: int
    placed: int
    titled: int
    said: str
    at: str | None


class TreeOnMap(Returned):
    """A tree whose texts are on a map."""

    id: str
    title: str


class PersonOnMap(Returned):
    """Somebody who wrote texts of a map; `model` names the model of an agent."""

    id: str
    name: str
    kind: Literal["human", "model"]
    model: str


class BranchOnMap(Returned):
    """One of the largest branches: its tree and the text at its top, with its first words; on the
    map of a grove a tree with its title."""

    tree: str
    node: str
    words: str


class RegionOnMap(Returned):
    """A region of a map: `level` 0 is seen from afar, 2 from near; where its middle is; how many
    texts it has; the place of the region around it (-1: none); words that name it, and its title by
    a model ("": none)."""

    level: int
    x: int
    y: int
    count: int
    within: int
    words: list[str]
    title: str


class PointsOf(Returned):
    """The texts of a map in columns, as the caller may see them: each column has a value for each
    text, in the order of `ids`, which are local ids. `x` and `y` are from 1 to 65,535, y downwards;
    texts near each other are alike. `tree`, `authors` and `branch` are places in `trees`,
    `participants` and `branches` (-1: none of them; `tree` is empty on the map of one tree), `ups`
    the place of the nearest text above (-1: none), `times` seconds since 1970. `ratings` are
    [place, 1 or -1], the caller's own; `surprise` [place, mean bits of a token] where a provider
    gave probabilities. `lit` are the places that a branch or search leaves; null:
    all."""

    revision: int
    placed: int
    titled: int
    trees: list[TreeOnMap]
    participants: list[PersonOnMap]
    branches: list[BranchOnMap]
    ids: list[str]
    x: list[int]
    y: list[int]
    tree: list[int]
    ups: list[int]
    authors: list[int]
    times: list[int]
    branch: list[int]
    ratings: list[tuple[int, int]]
    surprise: list[tuple[int, float]]
    lit: list[int] | None
    regions: list[RegionOnMap]


_FIND = OpenApiParameter("find", str, description="Only what a search finds is lit.")
_BELOW = OpenApiParameter("below", str, description="Only this text and what is below is lit.")


@operation("GET", "landscape tree", "The map by meaning of a tree", answers=LandscapeOf)
@operation(
    "POST", "landscape tree", "Draw the map", answers=LandscapeOf, status=202, id="landscape_draw"
)
@api_view(["GET", "POST"])
def of_tree(request: Request, uid: str) -> Response:
    """How far the map of a tree has come. A POST has it drawn, or drawn anew."""
    actor, tree = access.get_tree(user_of(request), uid)
    return _map(request, actor, tree.grove, tree)


@operation("GET", "landscape grove", "The map by meaning of a grove", answers=LandscapeOf)
@operation(
    "POST",
    "landscape grove",
    "Draw the map of a grove",
    answers=LandscapeOf,
    status=202,
    id="landscape_draw_grove",
)
@api_view(["GET", "POST"])
def of_grove(request: Request, uid: str) -> Response:
    """How far the map of all trees of a grove has come. A POST has it drawn, or drawn anew."""
    actor, grove = access.get_grove(user_of(request), uid)
    return _map(request, actor, grove, None)


def _map(request: Request, actor: Actor, grove: Grove, tree: Tree | None) -> Response:
    if request.method != "POST":
        return Response(status_body(landscape_of(grove, tree)))
    access.demand(actor, {WRITE}, "drawing a map")
    return Response(status_body(asking.ask(actor, grove, tree)), status=202)


@operation("POST", "landscape stop", "Stop drawing a map", answers=LandscapeOf)
@api_view(["POST"])
def stop_of_tree(request: Request, uid: str) -> Response:
    """Stops the drawing of a tree's map; the one of before stays."""
    actor, tree = access.get_tree(user_of(request), uid)
    return _stopped(actor, tree.grove, tree)


@operation(
    "POST",
    "landscape stop",
    "Stop drawing the map of a grove",
    answers=LandscapeOf,
    id="landscape_stop_grove",
)
@api_view(["POST"])
def stop_of_grove(request: Request, uid: str) -> Response:
    """Stops the drawing of a grove's map; the one of before stays."""
    actor, grove = access.get_grove(user_of(request), uid)
    return _stopped(actor, grove, None)


def _stopped(actor: Actor, grove: Grove, tree: Tree | None) -> Response:
    access.demand(actor, {WRITE}, "stopping a map")
    row = landscape_of(grove, tree)
    return Response(status_body(asking.stop(row) if row is not None else None))


class TitlesOf(Returned):
    """What titles of the regions cost: the model that gives them (None: there is none, or the
    caller may not ask), how many regions, about how many tokens it reads, US dollars at most
    (None: not known); whether they are being made, and why the last ones were not made."""

    agent: str | None
    regions: int
    tokens: int
    usd: float | None
    going: bool
    said: str


@operation("GET", "landscape titles", "What titles by a model cost", answers=TitlesOf)
@operation(
    "POST",
    "landscape titles",
    "Ask for titles by a model",
    answers=TitlesOf,
    status=202,
    id="landscape_title",
)
@api_view(["GET", "POST"])
def titles(request: Request, uid: str) -> Response:
    """Titles of the regions of a tree's map, by a model: what they cost; a POST asks for them."""
    actor, tree = access.get_tree(user_of(request), uid)
    return _titles(request, actor, landscape_of(tree.grove, tree))


@operation(
    "GET",
    "landscape titles",
    "What titles of a grove's map by a model cost",
    answers=TitlesOf,
    id="landscape_titles_grove",
)
@operation(
    "POST",
    "landscape titles",
    "Ask for titles of a grove's map by a model",
    answers=TitlesOf,
    status=202,
    id="landscape_title_grove",
)
@api_view(["GET", "POST"])
def titles_of_grove(request: Request, uid: str) -> Response:
    """Titles of the regions of a grove's map, by a model: what they cost; a POST asks for them."""
    actor, grove = access.get_grove(user_of(request), uid)
    return _titles(request, actor, landscape_of(grove, None))


def _titles(request: Request, actor: Actor, row: Landscape | None) -> Response:
    if request.method == "POST":
        access.demand(actor, {WRITE, GENERATE}, "asking for titles")
        if row is None or not row.revision:
            raise CommandError("REJECTED", "The map is not drawn yet.", hint="draw it first")
        title_requests.ask_titles(actor, row)
        row.refresh_from_db()
    agent = title_requests.may_ask(actor, row) if row is not None else None
    view = empty_view()
    if row is not None and row.revision:
        view = view_of(actor, row, title_requests.trees_titled(actor, row), below=None, find="")
    offer = title_requests.offer_of(agent, view) if agent is not None else None
    body = {
        "agent": agent.uid if agent is not None else None,
        "regions": len(view.regions),
        "tokens": offer.reading if offer is not None else 0,
        "usd": offer.most / NANO if offer is not None and offer.most else None,
        "going": title_requests.is_asked(row) if row is not None else False,
        "said": title_requests.last_failure(row) if row is not None else "",
    }
    return Response(body, status=202 if request.method == "POST" else 200)


@operation(
    "GET",
    "landscape points",
    "Where the texts of a tree stand",
    answers=PointsOf,
    asks=(_BELOW, _FIND),
)
@api_view(["GET"])
def points_of_tree(request: Request, uid: str) -> HttpResponse:
    """The texts of a tree on its map by meaning, in columns."""
    actor, tree = access.get_tree(user_of(request), uid)
    named = request.query_params.get("below", "")[:16]
    below = lookup.find_node(tree, named) if named else None
    if named and below is None:
        raise not_found("This node")
    row = landscape_of(tree.grove, tree)
    if row is None or row.revision == 0:
        return _json(points_body(row, empty_view()))
    find = request.query_params.get("find", "")
    return _json(points_body(row, view_of(actor, row, [tree], below=below, find=find)))


@operation(
    "GET",
    "landscape points",
    "Where the texts of a grove stand",
    answers=PointsOf,
    asks=(_FIND,),
    id="landscape_points_grove",
)
@api_view(["GET"])
def points_of_grove(request: Request, uid: str) -> HttpResponse:
    """The texts of all trees of a grove on its map by meaning, in columns."""
    actor, grove = access.get_grove(user_of(request), uid)
    row = landscape_of(grove, None)
    if row is None or row.revision == 0:
        return _json(points_body(row, empty_view()))
    trees = trees_seen(actor, row)
    find = request.query_params.get("find", "")
    return _json(points_body(row, view_of(actor, row, trees, below=None, find=find)))


def _json(body: object) -> HttpResponse:
    return HttpResponse(to_json(body), content_type="application/json")
