"""A grove's own settings: its name, the colours of tags, and how much a day may cost."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.commands import groves
from loom.doors.web.fields import number_of, text_of, word_of
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.groves import frame
from loom.doors.web.who import TAG_COLOURS
from loom.models import Grove, Mark
from loom.queries.money import limit_of
from loom.rules.prices import NANO
from loom.rules.refusals import Refused

MAX_TAGS = 60


@require_http_methods(["GET", "HEAD", "POST"])
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """The settings; a POST by an owner changes them."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        access.demand_role(actor, "owner")
        try:
            groves.change_grove(actor, name=text_of(request, "name"), settings=_given(request))
            messages.success(request, gettext("Saved."))
        except Refused as refused:
            messages.error(request, f"{refused.message} {refused.hint}".strip())
        return HttpResponseRedirect(f"/groves/{grove.uid}/settings")
    chosen = grove.settings.get("tag_colours", {})
    context = {
        **frame(request, actor, "settings"),
        "limit": limit_of(grove) / NANO or "",
        "tags": [(tag, chosen.get(tag, "")) for tag in _tags(grove)],
        "colours": [(name, gettext(name)) for name in TAG_COLOURS],
    }
    return render(request, "pages/grove_settings.html", context)


def _tags(grove: Grove) -> list[str]:
    """The tags that are used in the grove, and those that have a colour."""
    rows = Mark.objects.filter(tree__grove=grove, kind="tag", removed_at__isnull=True)
    used = rows.values_list("label", flat=True).distinct().order_by("label")[:MAX_TAGS]
    return sorted({*used, *grove.settings.get("tag_colours", {})})


def _given(request: PersonRequest) -> dict[str, Any]:
    """The settings of the form."""
    names = request.POST.getlist("tag")
    chosen = request.POST.getlist("colour")
    colours = {tag: colour for tag, colour in zip(names, chosen, strict=False) if colour}
    if any(colour not in TAG_COLOURS for colour in colours.values()):
        raise Refused("INVALID_SYNTAX", "There is no such colour.", hint=" or ".join(TAG_COLOURS))
    limit = number_of(request, "limit") if word_of(request, "limit") else 0
    return {"tag_colours": colours, "daily_budget_usd": limit}
