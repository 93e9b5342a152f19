"""The models of a tree side by side, in the API."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.comparing.queries import FIGURES, compared, contributions
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import operation


class EstimateOf(Returned):
    """A value of `n` texts or places with its interval of 95 %; null where there is none."""

    n: int
    value: float | None
    low: float | None
    high: float | None


class ModelOf(Returned):
    """What a model was asked for: texts and places; for each text `length` in characters, `cost` in
    dollars and `speed` in characters a second; `variety`, the share of different answers among
    those of one place; `taken`, the share that somebody went on from; `failed`, the share that
    failed or broke off."""

    participant: str
    name: str
    asked: int
    places: int
    length: EstimateOf
    variety: EstimateOf
    cost: EstimateOf
    speed: EstimateOf
    taken: EstimateOf
    failed: EstimateOf


class ContributionOf(Returned):
    """The texts and characters that somebody added on a day (UTC)."""

    day: str
    participant: str
    texts: int
    characters: int


class ModelsOfTree(Returned):
    """The models of a tree, and who contributed when."""

    models: list[ModelOf]
    contributions: list[ContributionOf]


@operation(
    "GET",
    "trees models",
    "The models of a tree side by side",
    answers=ModelsOfTree,
    asks=(
        OpenApiParameter(
            "shared", str, enum=["0", "1"], description="1: only where several models were asked."
        ),
    ),
)
@api_view(["GET"])
def models_compared(request: Request, uid: str) -> Response:
    """What models wrote in a tree, with intervals, and who contributed when."""
    _, tree = access.get_tree(user_of(request), uid)
    rows = compared(tree, only_shared=request.query_params.get("shared") == "1")
    models: list[dict[str, Any]] = [
        {
            "participant": row.model.uid,
            "name": row.model.name,
            "asked": row.asked,
            "places": row.places,
            **{name: row.figure(name).body for name in FIGURES},
        }
        for row in rows
    ]
    added = [
        {
            "day": contribution.day.isoformat(),
            "participant": contribution.who.uid,
            "texts": contribution.texts,
            "characters": contribution.characters,
        }
        for contribution in contributions(tree)
    ]
    return Response({"models": models, "contributions": added})
