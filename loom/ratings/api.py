"""Ratings in the API."""

from typing import Literal

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.ratings.queries.candidate_counts import counts_in
from loom.ratings.queries.ratings import ratings_in
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import operation


class OwnRatings(Returned):
    """The caller's ratings in a tree, by local id."""

    ratings: dict[str, Literal["plus", "minus"]]


class AcceptanceRow(Returned):
    """What became of a model's candidates with these samplers. `accepted`: below how many of them
    somebody went on."""

    participant: str
    name: str
    samplers: str
    candidates: int
    accepted: int
    plus: int
    minus: int


class AcceptanceOfGrove(Returned):
    """By model and samplers, the most candidates first."""

    results: list[AcceptanceRow]


@operation("GET", "trees ratings", "The caller's ratings in a tree", answers=OwnRatings)
@api_view(["GET"])
def ratings(request: Request, uid: str) -> Response:
    """Which texts the caller rated, with + or −."""
    actor, tree = access.get_tree(user_of(request), uid)
    return Response({"ratings": ratings_in(actor, tree)})


@operation(
    "GET", "groves acceptance", "What became of each model's candidates", answers=AcceptanceOfGrove
)
@api_view(["GET"])
def acceptance(request: Request, uid: str) -> Response:
    """How many candidates of each model were accepted and rated, by samplers."""
    actor, _ = access.get_grove(user_of(request), uid)
    rows = [
        {
            "participant": row.model.uid,
            "name": row.model.name,
            "samplers": row.samplers,
            "candidates": row.candidates,
            "accepted": row.accepted,
            "plus": row.plus,
            "minus": row.minus,
        }
        for row in counts_in(actor)
    ]
    return Response({"results": rows})
