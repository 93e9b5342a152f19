"""Explorations in the API. One begins with a line, `explore`."""

from typing import Any, Literal

from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.exploring import commands
from loom.exploring.access import get_exploration
from loom.exploring.queries import exploration_body, explorations_in, whole_body
from loom.permissions import GENERATE
from loom.site import responses
from loom.site.api_requests import user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, operation, paged


class BudgetOfExploration(Returned):
    """What an exploration may use, or has used: calls of models, tokens read and written, dollars
    (null: no limit of its own)."""

    steps: int
    tokens: int
    usd: float | None


class TextOfExploration(Returned):
    """A text that it asked for: `node` is null while it is written or if it failed; `score` from 0
    to 10 with the reason; `kept` is null until the round is decided."""

    round: int
    point: str
    generation: str
    node: str | None
    score: float | None
    reason: str
    kept: bool | None


class ExplorationOf(Returned):
    """An exploration: in each of `depth` rounds `agent` writes `n` texts below each text that is
    kept, and `keep` of them are kept. `round` counts the complete ones; `said` is why it ended
    early; `note` sums up what was kept. `begun_by` is the agent whose line began it for
    `asked_by`; null: they began it themselves."""

    id: str
    tree: str
    point: str
    asked_by: str
    begun_by: str | None
    agent: str
    judge: str | None
    n: int
    depth: int
    keep: int
    by: Literal["judge", "check", "taste", "variety"]
    goal: str
    length: int
    budget: BudgetOfExploration
    status: Literal["running", "done", "stopped", "failed"]
    phase: str
    round: int
    said: str
    note: str | None
    created_at: str
    ended_at: str | None


class WholeExploration(ExplorationOf):
    """An exploration with its texts and what it has used."""

    used: BudgetOfExploration
    texts: list[TextOfExploration]


@operation(
    "GET",
    "explorations list",
    "The explorations of a tree",
    answers=responses.Page[ExplorationOf],
    asks=PAGES,
)
@api_view(["GET"])
def explorations(request: Request, uid: str) -> Response:
    """The explorations of a tree, newest first."""
    _, tree = access.get_tree(user_of(request), uid)
    return paged(request, explorations_in(tree), exploration_body)


@operation("GET", "explorations one", "An exploration", answers=WholeExploration)
@api_view(["GET"])
def exploration(request: Request, uid: str) -> Response:
    """An exploration, as far as it has come."""
    _, row = get_exploration(user_of(request), uid)
    return Response(whole_body(row))


@operation("POST", "explorations stop", "Stop an exploration", answers=WholeExploration)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Stops an exploration: nothing more is asked for, and what it has written is kept."""
    actor, row = get_exploration(user_of(request), uid)
    access.demand(actor, {GENERATE}, "stop")
    body: dict[str, Any] = whole_body(commands.stop(actor, row))
    return Response(body)
