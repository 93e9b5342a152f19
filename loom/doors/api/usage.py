"""Tokens and money over the API: what was used, and what asking would cost."""

from datetime import date

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.commands import growth
from loom.doors.api import usage_shapes as shapes
from loom.doors.api.asking import an_id, word
from loom.doors.api.auth import user_of
from loom.doors.api.reading import get_node
from loom.doors.api.schema import operation
from loom.models import Node, Tree, Workspace
from loom.queries import usage
from loom.queries.money import today
from loom.rules.refusals import Refused


def _a_day(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.DATE, description=says)


@operation(
    "GET",
    "trees usage",
    "Tokens and money of a tree",
    answers=shapes.TreeUsage,
    asks=(an_id("node", "Its own sums, and those of its path, too."),),
)
@api_view(["GET"])
def of_tree(request: Request, uid: str) -> Response:
    """What was read, written and spent in a tree, by model and by member."""
    actor, tree = access.get_tree(user_of(request), uid)
    named = word(request, "node")
    node = get_node(tree, named) if named else None
    return Response(usage.of_tree(actor, tree, _view(actor, tree), node))


@operation(
    "GET",
    "trees estimate",
    "What continuing would cost",
    answers=shapes.Estimate,
    asks=(an_id("node", "From where; without it the caller's position."),),
)
@api_view(["GET"])
def estimate(request: Request, uid: str) -> Response:
    """What a candidate would read below a node, by model, and the caller's money of today."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = growth.workspace_of(actor.participant, tree)
    named = word(request, "node")
    node: Node = get_node(tree, named) if named else workspace.position
    return Response(usage.estimate(actor, tree, workspace, node))


@operation(
    "GET",
    "groves usage",
    "Tokens and money of a grove",
    answers=shapes.GroveUsage,
    asks=(
        _a_day("day", "One day (UTC), such as 2026-11-21; without it today."),
        _a_day("to", "The last day, where there are several."),
    ),
)
@api_view(["GET"])
def of_grove(request: Request, uid: str) -> Response:
    """What was spent by whom on what, from a day to a day."""
    actor, _ = access.get_grove(user_of(request), uid)
    first = _day(request, "day", today())
    return Response(usage.of_grove(actor, first, _day(request, "to", first)))


def _view(actor: Actor, tree: Tree) -> Workspace | None:
    return Workspace.objects.filter(participant=actor.participant, tree=tree).first()


def _day(request: Request, name: str, default: date) -> date:
    asked = request.query_params.get(name, "")
    try:
        return date.fromisoformat(asked) if asked else default
    except ValueError:
        raise Refused(
            "INVALID_SYNTAX", f"{name}: {asked[:20]!r} is no day.", hint="such as 2026-11-21"
        ) from None
