"""What an agent's tokens cost and how much its key bears, as a part of its form."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext, gettext_noop

from loom.doors.web.fields import number_of, whole_of
from loom.models import Participant
from loom.rules.prices import NAMES, listed, table

SAID = {
    "input": gettext_noop("Tokens read"),
    "output": gettext_noop("Tokens written"),
    "cached": gettext_noop("Tokens read from its cache"),
    "written": gettext_noop("Tokens kept in its cache"),
}


def form_of(request: HttpRequest, one: Participant | None) -> dict[str, Any]:
    """What the form shows: as it was sent, else as the participant is; and the table's prices
    where it has some."""
    sent = request.method == "POST"
    known = listed(one.model_ref, one.base_url) if one else None
    listed_prices = known.body() if known else {}
    own = one.prices if one else {}
    return {
        "costs": [
            {
                "name": f"price_{name}",
                "said": gettext(SAID[name]),
                "value": request.POST.get(f"price_{name}", "") if sent else own.get(name, ""),
                "listed": listed_prices.get(name, ""),
            }
            for name in NAMES
        ],
        "caches_from": request.POST.get("caches_from", "") if sent else own.get("caches_from", ""),
        "parallel": request.POST.get("parallel", "") if sent else one.parallel if one else 12,
        "price_table": table(),
    }


def fields_of(request: HttpRequest) -> dict[str, object]:
    """The settings of this part of the form; empty prices are the table's."""
    prices = {name: number_of(request, f"price_{name}") for name in NAMES}
    prices["caches_from"] = whole_of(request, "caches_from")
    set_ones = {name: price for name, price in prices.items() if price is not None}
    return {"prices": set_ones, "parallel": whole_of(request, "parallel") or 12}
