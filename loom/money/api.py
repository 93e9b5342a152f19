"""Usage in the API: tokens and money spent, and estimates."""

from datetime import date
from typing import Literal

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.money.days import today
from loom.money.queries import estimates, usage
from loom.site.api_items import get_node
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import an_id, operation, word
from loom.trees.models import Node, Tree, Workspace

# Responses.


class Sums(Returned):
    """Tokens of ended candidates, and of what programs were answered at the gateway, as counted by
    providers; `usd` null if no price was known."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None


class OfParticipant(Sums):
    """The sums of a model, or of the member who asked."""

    participant: str
    name: str


class TreeUsage(Returned):
    """A tree's sums; `node` and `path` if a node was named."""

    tree: Sums
    node: Sums | None
    path: Sums | None
    participants: list[OfParticipant]
    people: list[OfParticipant]


class Money(Returned):
    """A member's money for today (UTC); `left_usd` null if there is no limit."""

    limit_usd: float
    spent_usd: float
    reserved_usd: float
    left_usd: float | None


class Shared(Sums):
    """What a member asked of a model; without one `participant` is empty and `purpose` says what
    for."""

    person: str
    person_name: str
    participant: str
    participant_name: str
    purpose: Literal["", "search", "vectors"]


class OfDay(Sums):
    """The sums of a day."""

    day: str


class OfTree(Sums):
    """The sums of a tree."""

    tree: str
    title: str


class OfPerson(Returned):
    """What a member spent, erased trees included, and has left today."""

    participant: str
    name: str
    usd: float
    today: Money


class GroveUsage(Returned):
    """A grove's sums from a day to a day."""

    from_: str = Field(alias="from")
    to: str
    limit_usd: float
    total: Sums
    shares: list[Shared]
    days: list[OfDay]
    trees: list[OfTree]
    people: list[OfPerson]


class ToRead(Returned):
    """What one candidate of a model reads, and what that costs: `tokens` of the `whole` path and
    persona, at most `limit`; `prices` in USD per million tokens, null if unknown; `length` is
    reserved for the answer."""

    participant: str
    name: str
    tokens: int
    whole: int
    limit: int
    how: Literal["counted", "estimated"]
    length: int
    prices: dict[str, float] | None
    caches_from: int | None


class Estimate(Returned):
    """What continuing from a node would cost."""

    money: Money
    participants: list[ToRead]


def _a_day(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.DATE, description=says)


@operation(
    "GET",
    "trees usage",
    "Tokens and money of a tree",
    answers=TreeUsage,
    asks=(an_id("node", "Its own sums, and those of its path, too."),),
)
@api_view(["GET"])
def usage_of_tree(request: Request, uid: str) -> Response:
    """Tokens read and written, and money spent, in a tree, by model and by member."""
    actor, tree = access.get_tree(user_of(request), uid)
    named = word(request, "node")
    node = get_node(tree, named) if named else None
    return Response(usage.of_tree(actor, tree, _view(actor, tree), node))


@operation(
    "GET",
    "trees estimate",
    "What continuing would cost",
    answers=Estimate,
    asks=(an_id("node", "From where; without it the caller's position."),),
)
@api_view(["GET"])
def estimate(request: Request, uid: str) -> Response:
    """What a candidate below a node would read, by model, and the caller's money for today."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = access.workspace_of(actor.participant, tree)
    named = word(request, "node")
    node: Node = get_node(tree, named) if named else workspace.position
    return Response(estimates.estimate(actor, tree, workspace, node))


@operation(
    "GET",
    "groves usage",
    "Tokens and money of a grove",
    answers=GroveUsage,
    asks=(
        _a_day("day", "One day (UTC), such as 2026-11-21; without it today."),
        _a_day("to", "The last day, where there are several."),
    ),
)
@api_view(["GET"])
def usage_of_grove(request: Request, uid: str) -> Response:
    """The money spent, by participant and tree, between two days."""
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
        raise CommandError(
            "INVALID_SYNTAX", f"{name}: {asked[:20]!r} is not a date.", hint="such as 2026-11-21"
        ) from None
