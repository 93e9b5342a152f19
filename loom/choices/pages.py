"""The page of a person's own choices: what is known, how good it is, and what they decide."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.choices import commands
from loom.choices.export import FORMATS
from loom.choices.models import KEEP_DAYS
from loom.choices.queries import MOST_KEPT, Learned, learned_from, logged_of, settings_of
from loom.choices.words import honest, leanings
from loom.site.forms import Flag, PageForm, Text
from loom.site.page_requests import PersonRequest, frame, person

if TYPE_CHECKING:  # NumPy is loaded with the first measure
    from loom.choices.taste import Measure

SWITCHES = ("logs", "orders", "consents")


@dataclass(frozen=True)
class MeasureShown:
    """A row of the table: a name, and percents."""

    name: str
    share: int
    low: int | None = None
    high: int | None = None


class ChoicesForm(PageForm):
    """Switches that are on (1), or the button `forget`."""

    forget = Flag()
    logs = Text()
    orders = Text()
    consents = Text()
    keep_days = Text()


@require_http_methods(["GET", "HEAD", "POST"])
@person
def choices_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A person's own choices in a grove; a POST changes what they have decided, or forgets."""
    actor, _ = access.get_grove(request.user, uid)
    if request.method == "POST":
        given = ChoicesForm.read(request)
        if given["forget"]:
            commands.forget(actor)
            messages.success(request, gettext("What was logged is forgotten."))
        else:
            sent = {name: given[name] == "1" for name in SWITCHES}
            days = given["keep_days"]
            kept = {"keep_days": int(days)} if days in map(str, KEEP_DAYS) else {}
            commands.change_settings(actor, **sent, **kept)
            messages.success(request, gettext("Saved."))
        return HttpResponseRedirect(request.path)
    known = learned_from(actor)
    context = {
        **frame(request, actor, "choices"),
        "settings": settings_of(actor.participant),
        "logged": logged_of(actor),
        "keeps": KEEP_DAYS,
        "most": MOST_KEPT,
        "n": known.n,
        "why": leanings(known) if known.taste is not None else "",
        "said": honest(known),
        "rows": _rows(known),
        "auc": f"{known.figures.auc:.2f}" if known.figures is not None else "",
        "later": known.figures.n if known.figures is not None else 0,
        "formats": FORMATS,
    }
    return render(request, "choices/choices.html", context)


def _rows(known: Learned) -> list[MeasureShown]:
    figures = known.figures
    if figures is None:
        return []
    return [
        _row(gettext("As you tend to choose"), figures.taste),
        MeasureShown(gettext("Chance"), round(100 * figures.chance)),
        _row(gettext("The longest"), figures.longest),
        _row(gettext("The first shown"), figures.first),
    ]


def _row(name: str, measure: "Measure") -> MeasureShown:
    low, high = measure.interval
    return MeasureShown(name, round(100 * measure.share), round(100 * low), round(100 * high))
