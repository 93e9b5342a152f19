"""A grove's money: what was spent by whom on what. The limit stands in the grove's settings."""

from datetime import date, timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from loom import access
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.groves import frame
from loom.doors.web.who import cast_of
from loom.queries import usage
from loom.queries.money import today
from loom.rules.prices import NANO, dollars

SPANS = {
    "day": (0, gettext_noop("Today")),
    "week": (6, gettext_noop("7 days")),
    "month": (29, gettext_noop("30 days")),
}


@never_cache
@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """What was spent today, in `?span=week` or `?span=month`."""
    actor, _ = access.get_grove(request.user, uid)
    span = request.GET.get("span", "day")
    back, _ = SPANS.get(span, SPANS["day"])
    first, last = _days(back)
    spent = usage.of_grove(actor, first, last)
    cast = cast_of(actor)
    context: dict[str, object] = {
        **frame(request, actor, "money"),
        "span": span if span in SPANS else "day",
        "spans": [(name, gettext(said)) for name, (_, said) in SPANS.items()],
        "limit": _shown(spent["limit_usd"]) if spent["limit_usd"] else "",
        "total": _row(spent["total"]),
        "shares": [
            {**_row(one), "who": cast[one["person"]], "model": cast[one["participant"]]}
            for one in spent["shares"]
        ],
        "people": [{**_left(one), "who": cast[one["participant"]]} for one in spent["people"]],
        "trees": [{**_row(one), "uid": one["tree"]} for one in spent["trees"][:20]],
        "days": [_row(one) for one in sorted(spent["days"], key=_day, reverse=True)],
    }
    return render(request, "pages/money.html", context)


def _days(back: int) -> tuple[date, date]:
    return today() - timedelta(days=back), today()


def _day(one: dict[str, Any]) -> str:
    return str(one["day"])


def _row(one: dict[str, Any]) -> dict[str, Any]:
    """Sums with the money as it is read; a dash where no price was known."""
    counts = {name: f"{value:,}" for name, value in one.items() if isinstance(value, int)}
    return {**one, **counts, "money": "–" if one["usd"] is None else _shown(one["usd"])}


def _left(one: dict[str, Any]) -> dict[str, Any]:
    left = one["today"]["left_usd"]
    return {
        "spent": _shown(one["usd"]),
        "reserved": _shown(one["today"]["reserved_usd"]),
        "left": gettext("no limit") if left is None else _shown(left),
    }


def _shown(usd: float) -> str:
    return dollars(round(usd * NANO))
