"""The part of a participant's page that asks its endpoint what it can do."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from loom import access
from loom.commands import participants
from loom.doors.web.gate import PersonRequest, person
from loom.models import Participant
from loom.rules.probes import CHECKS


@never_cache
@require_http_methods(["GET", "POST"])
@person
def probe(request: PersonRequest, uid: str, participant: str) -> HttpResponse:
    """What the last probe found; POST begins another one. For owners."""
    access.get_grove(request.user, uid, role="owner")
    actor, one = access.get_participant(request.user, participant, role="owner")
    if request.method == "POST":
        participants.ask_probe(actor, one)
        return HttpResponseRedirect(f"/groves/{actor.grove.uid}/participants/{one.uid}#probe")
    return render(request, "parts/probe.html", {"grove": actor.grove, **form_of(request, one)})


def form_of(request: HttpRequest, one: Participant | None) -> dict[str, object]:
    """What the part shows of a participant; nothing of one that is not there yet."""
    return {} if one is None else {"one": one, "probe": one.probe, "checks": CHECKS}
