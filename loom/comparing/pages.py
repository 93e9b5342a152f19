"""The page on which the models of a tree are compared, asked at the same places, and on which it
is seen who contributed when."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from io import StringIO
from urllib.parse import urlencode
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.comparing.queries import (
    FIGURES,
    ModelCompared,
    behind,
    by_author,
    coming_in,
    compared,
    contributed,
    contributions,
)
from loom.comparing.rules import ModelFigure
from loom.engine.arguments import checked
from loom.engine.context import Request
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.refs import Ref
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.permissions import GENERATE
from loom.site.forms import PageForm, Word, Words
from loom.site.page_requests import PersonRequest, frame, in_one_line, person, place_at
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import nodes_in
from loom.turns.commands.continuing import Continue, continue_

MOST_PLACES = 20
_ID = re.compile(r"[a-z0-9]{4,8}")
NAMES = {
    "length": gettext_noop("Characters"),
    "variety": gettext_noop("Variety"),
    "cost": gettext_noop("Cost"),
    "speed": gettext_noop("Characters a second"),
    "taken": gettext_noop("Gone on from"),
    "failed": gettext_noop("Failed"),
}


@dataclass(frozen=True)
class FigureShown:
    """A figure of the table: its name, the value, and the interval in words."""

    name: str
    value: str
    interval: str


@require_http_methods(["GET", "HEAD", "POST"])
@person
def models_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The models of a tree side by side, with `?by=settings` apart for each temperature and other
    settings; `?figure=&model=` shows the texts behind a figure (`with=`: of these settings),
    `?csv=1` is the table as a file, and a POST asks several models at the same places."""
    place = place_at(request, uid)
    actor, tree = place.actor, place.tree
    if request.method == "POST":
        return _asked(request, actor, tree)
    only_shared = request.GET.get("shared") == "1"
    # First: what ends while the rest is read is in it, or the page asks once more.
    coming = coming_in(tree)
    by_settings = request.GET.get("by") == "settings"
    rows = compared(tree, only_shared=only_shared, by_settings=by_settings)
    if request.GET.get("csv"):
        return _file(tree, rows)
    added = contributions(tree)
    most = max((contribution.characters for contribution in added), default=1)
    agents = Participant.objects.filter(grove=tree.grove, kind="model", archived_at__isnull=True)
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "places": _offered(tree, place.node),
        "rows": [
            (row, [_figure(row, name) for name in FIGURES], _query(row, only_shared, by_settings))
            for row in rows
        ],
        "by_settings": by_settings,
        "names": [gettext(NAMES[name]) for name in FIGURES],
        "only_shared": only_shared,
        "coming": coming,
        "behind": _behind(request, actor, tree),
        "authors": [
            (
                who,
                sum(contribution.texts for contribution in own),
                sum(contribution.characters for contribution in own),
                [
                    (contribution, max(1, round(100 * contribution.characters / most)))
                    for contribution in own
                ],
            )
            for who, own in by_author(added)
        ],
        "agents": list(agents.order_by("name")),
        "may_ask": GENERATE in actor.permissions and tree.archived_at is None,
    }
    return render(request, "comparing/models.html", context)


def _query(row: ModelCompared, only_shared: bool, by_settings: bool) -> str:
    """What leads to the texts behind the figures of a row."""
    query = {"model": row.model.uid}
    if only_shared:
        query["shared"] = "1"
    if by_settings:
        query |= {"by": "settings", "with": row.asked_with}
    return urlencode(query)


def _offered(tree: Tree, here: Node) -> list[Node]:
    """The texts at which models are asked by a press: the reader's, then those with bookmarks."""
    marks = Mark.objects.filter(tree=tree, kind="bookmark", removed_at__isnull=True)
    ids = list(marks.order_by("-at", "-id").values_list("item_id", flat=True)[:MOST_PLACES])
    marked = nodes_in(tree.pk).filter(pk__in=ids, kind="text")
    marked = marked.exclude(pk=here.pk)
    return [here, *marked.order_by("pk")]


def _behind(request: PersonRequest, actor: Actor, tree: Tree) -> dict[str, object] | None:
    figure, uid = request.GET.get("figure", ""), request.GET.get("model", "")[:32]
    day = request.GET.get("day", "")
    if day and uid:
        return _of_day(actor, tree, uid, day)
    if (figure not in FIGURES and figure != "asked") or not uid:
        return None
    model = Participant.objects.filter(grove=tree.grove, uid=uid).first()
    if model is None:
        raise not_found("This model")
    texts = behind(actor, tree, model, figure, settings=request.GET.get("with"))
    name = gettext(NAMES[figure]) if figure in NAMES else gettext("Asked")
    return {"model": model, "figure": name, "texts": texts}


def _of_day(actor: Actor, tree: Tree, uid: str, day: str) -> dict[str, object]:
    """What somebody added on a day."""
    who = Participant.objects.filter(grove=tree.grove, uid=uid).first()
    try:
        on = date.fromisoformat(day[:10])
    except ValueError:
        raise not_found("This day") from None
    if who is None:
        raise not_found("This participant")
    return {"model": who, "figure": on.isoformat(), "texts": contributed(actor, tree, who, on)}


def _figure(row: ModelCompared, name: str) -> FigureShown:
    figure = row.figure(name)
    return FigureShown(name, _value(name, figure.value), _interval(name, figure))


def _value(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name in ("variety", "taken", "failed"):
        return f"{round(100 * value)} %"
    return f"${value:.4f}" if name == "cost" else f"{value:,.0f}"


def _interval(name: str, figure: ModelFigure) -> str:
    if figure.low is None or figure.high is None:
        return f"n = {figure.n}" if figure.n else ""
    low, high = _value(name, max(0.0, figure.low)), _value(name, figure.high)
    return f"{low} – {high}, n = {figure.n}"


def _file(tree: Tree, rows: Sequence[ModelCompared]) -> HttpResponse:
    text = StringIO()
    writer = csv.writer(text)
    parts = ("n", "value", "low", "high")
    writer.writerow(
        [
            "model",
            "settings",
            "asked",
            "places",
            *(f"{name}_{part}" for name in FIGURES for part in parts),
        ]
    )
    for row in rows:
        name = row.model.name
        safe = f"'{name}" if name[:1] in "=+-@\t" else name  # no formula for a spreadsheet
        values = [row.figure(figure).body[part] for figure in FIGURES for part in parts]
        writer.writerow([safe, row.asked_with, row.asked, row.places, *values])
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = content_disposition_header(True, f"models-{tree.uid}.csv")
    return answer


class AskedForm(PageForm):
    """The nodes (`place`, and ids in `places`), the models, and how many texts each writes."""

    place = Words()
    places = Word()
    using = Words()
    n = Word(empty="3")


def _asked(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    """Asks each chosen model for n texts at each place that the form names."""
    access.demand(actor, {GENERATE}, "asking models")
    given = AskedForm.read(request)
    named = " ".join([*given["place"][:MOST_PLACES], given["places"]]).lower()
    places = list(dict.fromkeys(_ID.findall(named)))[:MOST_PLACES]
    models = tuple(Ref("agent", name=name) for name in given["using"][:20])
    act = uuid4().hex
    asked = 0
    try:
        if not places or not models:
            raise CommandError(
                "INVALID_SYNTAX",
                "Choose a place and a model.",
                hint="One of each is the least.",
            )
        for place in places:
            args = checked(Continue, {"ref": place, "n": given["n"], "using": models})
            together = Request("", act=act, doing=gettext("comparing models"))
            answer = execute(actor, tree, continue_, args, request=together)
            asked += len(answer.body["generations"])
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    if asked:
        messages.success(request, gettext("%(n)s texts are being written.") % {"n": asked})
    return HttpResponseRedirect(f"/trees/{tree.uid}/models?shared=1")
