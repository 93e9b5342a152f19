"""The part of a participant's page that asks its endpoint what it can do."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from loom import access
from loom.commands import participants
from loom.doors.web.gate import PersonRequest, person
from loom.models import Participant
from loom.rules.probes import CHECKS, WAYS

SAID = {
    "prefill": gettext_noop("it goes on with a turn of its own that has begun"),
    "continue_final": gettext_noop("the same, where the request says so (vLLM, SGLang)"),
    "few_shot": gettext_noop("it is asked to, and shown three examples"),
    "instruction": gettext_noop("it is asked to"),
}


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
    """What the parts show of a participant; of one that is not there yet, the ways alone."""
    held = request.POST.getlist("way") if request.method == "POST" else _held(one)
    used = next((name for name in WAYS if name in held), "")
    ways = [
        {"name": name, "said": gettext(said), "held": name in held, "used": name == used}
        for name, said in SAID.items()
    ]
    seen = {} if one is None else {"one": one, "probe": one.probe, "checks": CHECKS}
    return {"ways": ways, **seen}


def capabilities_of(request: HttpRequest, one: Participant | None) -> list[str]:
    """A participant's capabilities with the ways that the form sent."""
    ways = request.POST.getlist("way")
    return [*(name for name in _held(one) if name not in WAYS), *(w for w in WAYS if w in ways)]


def _held(one: Participant | None) -> list[str]:
    return list(one.capabilities) if one else []
