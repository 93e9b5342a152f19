"""A person's own choices in the API."""

from typing import Any, Literal

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.choices import commands
from loom.choices.export import FORMATS, exported
from loom.choices.queries import MOST_SHOWN, learned_from, logged_of, settings_of
from loom.choices.words import honest, leanings
from loom.errors import CommandError
from loom.site import api_requests as requests
from loom.site.api_requests import read, user_of
from loom.site.responses import Returned
from loom.site.schema import operation
from loom.text.hashes import instant_or_none


class ExposureSent(requests.Body):
    """What was shown below a node, in its order; or which of them was opened."""

    point: str = Field(min_length=1, max_length=8)
    shown: list[str] = Field([], max_length=MOST_SHOWN)
    opened: str = Field("", max_length=8)
    where: Literal["tree", "grid"] = "tree"
    order: Literal["siblings", "nearness", "taste"] = "siblings"


class ExposureLogged(Returned):
    """Whether it was logged: not if the person has switched that off."""

    logged: bool


class RivalOf(Returned):
    """How often something put the taken text first, with its interval of 95 %."""

    share: float
    low: float
    high: float


class FiguresOf(Returned):
    """How good the order is on `n` later choices that were not shown in it: how often it put the
    taken text first, how often it ranked it above another (`auc`), and what chance, the longest
    and the first shown text do there; `better` names those that it beats beyond luck."""

    n: int
    taste: RivalOf
    auc: float
    chance: float
    longest: RivalOf
    first: RivalOf
    better: list[Literal["chance", "longest", "first"]]


class ChoicesOf(Returned):
    """What the caller has decided about their choices, how much is logged and since when, how many
    choices there are, what was learned from them (weights by name; `author:` with the id of who
    wrote; `why` in words), and how good it is."""

    logs: bool
    keep_days: Literal[30, 90, 365]
    orders: bool
    consents: bool
    logged: int
    oldest: str | None
    choices: int
    why: str
    said: str
    weights: dict[str, float]
    figures: FiguresOf | None


class ChoicesChanged(requests.PartialBody):
    """The changes: whether what is shown is logged, after how many days it is deleted, whether
    candidates may be ordered, whether one's own words may be in what other members export for
    training."""

    logs: bool = True
    keep_days: Literal[30, 90, 365] = 365
    orders: bool = False
    consents: bool = False


@operation("POST", "choices log", "Log what was shown", body=ExposureSent, answers=ExposureLogged)
@api_view(["POST"])
def exposures(request: Request, uid: str) -> Response:
    """Logs, for the caller alone, which candidates they saw below a node and in which order, or
    which of them they opened."""
    actor, tree = access.get_tree(user_of(request), uid)
    sent = read(request, ExposureSent)
    point = sent.point.lower()
    if sent.opened:
        row = commands.log_opened(actor, tree, point, sent.opened.lower())
    else:
        row = commands.log_shown(
            actor,
            tree,
            point,
            [uid.lower() for uid in sent.shown],
            where=sent.where,
            order=sent.order,
        )
    return Response({"logged": row is not None})


@operation("GET", "choices one", "The caller's choices", answers=ChoicesOf)
@operation("PATCH", "choices change", "Decide about them", body=ChoicesChanged, answers=ChoicesOf)
@operation("DELETE", "choices forget", "Forget what was logged", answers=ChoicesOf)
@api_view(["GET", "PATCH", "DELETE"])
def choices(request: Request, uid: str) -> Response:
    """What is known of the caller's choices in a grove, and what they have decided about it. A
    DELETE forgets all of it."""
    actor, _ = access.get_grove(user_of(request), uid)
    if request.method == "PATCH":
        commands.change_settings(actor, **read(request, ChoicesChanged).sent)
    if request.method == "DELETE":
        commands.forget(actor)
    return Response(choices_body(actor))


def choices_body(actor: Actor) -> dict[str, Any]:
    """The body of the caller's choices."""
    settings, known = settings_of(actor.participant), learned_from(actor)
    logged = logged_of(actor)
    figures = known.figures
    return {
        "logs": settings.logs,
        "keep_days": settings.keep_days,
        "orders": settings.orders,
        "consents": settings.consents,
        "logged": logged.count,
        "oldest": instant_or_none(logged.oldest),
        "choices": known.n,
        "why": leanings(known) if known.taste is not None else "",
        "said": honest(known),
        "weights": dict(known.taste.leanings()) if known.taste is not None else {},
        "figures": None
        if figures is None
        else {
            "n": figures.n,
            "taste": _rival(figures.taste),
            "auc": figures.auc,
            "chance": figures.chance,
            "longest": _rival(figures.longest),
            "first": _rival(figures.first),
            "better": list(figures.better),
        },
    }


def _rival(measure: Any) -> dict[str, float]:
    low, high = measure.interval
    return {"share": measure.share, "low": low, "high": high}


@operation(
    "GET",
    "choices export",
    "The caller's choices as training data",
    answers={(200, "application/jsonl"): OpenApiTypes.BINARY},
    asks=(
        OpenApiParameter(
            "format", str, enum=list(FORMATS), description="Default: preference. The columns."
        ),
    ),
)
@api_view(["GET"])
def export(request: Request, uid: str) -> StreamingHttpResponse:
    """The caller's own choices as lines of JSON. `X-Left-Out` counts the rows that were left out
    because an author has not consented."""
    actor, _ = access.get_grove(user_of(request), uid)
    form = request.query_params.get("format", "preference")
    if form not in FORMATS:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no format {form[:40]!r}.", hint=", ".join(FORMATS)
        )
    export = exported(actor, form)
    answer = StreamingHttpResponse(export.lines, content_type="application/jsonl; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{form}.jsonl"'
    answer["X-Left-Out"] = str(export.left_out)
    return answer
