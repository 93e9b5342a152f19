"""The part of a new participant's form that says which models its address offers."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor
from loom.commands import catalogues
from loom.commands.catalogues import Listing, Source
from loom.doors.web.fields import word_of
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.shown import age_of
from loom.models import Participant
from loom.rules.provider_kinds import KINDS, LOCAL, kind_of
from loom.rules.refusals import Refused

PATIENCE = timedelta(seconds=90)
gettext_noop("OpenAI's shape, elsewhere")
gettext_noop("the embedded model")


@never_cache
@sensitive_post_parameters("api_key")
@require_POST
@person
def ask(request: PersonRequest, uid: str) -> HttpResponse:
    """Has a worker ask which models there are; the part says so. For owners."""
    actor, _ = access.get_grove(request.user, uid, role="owner")
    given = (word_of(request, name) for name in ("kind", "base_url", "api_key"))
    source = Source(*given)
    try:
        listing = catalogues.ask_models(actor, source, anew=bool(request.POST.get("anew")))
    except Refused as refused:
        return render(request, "parts/models_there.html", {"there_refused": refused})
    return _part(request, actor, listing)


@never_cache
@require_GET
@person
def look(request: PersonRequest, uid: str, listing: str) -> HttpResponse:
    """How far it is."""
    actor, _ = access.get_grove(request.user, uid, role="owner")
    return _part(request, actor, catalogues.listing_of(actor, listing))


def _part(request: HttpRequest, actor: Actor, listing: Listing) -> HttpResponse:
    at = datetime.fromisoformat(listing["at"])
    is_late = listing["status"] == "queued" and timezone.now() - at > PATIENCE
    context = {
        "grove": actor.grove,
        "listing": listing,
        "is_late": is_late,
        "waits": listing["status"] == "queued" and not is_late,
        "age": age_of(at),
    }
    return render(request, "parts/models_there.html", context)


def kinds_of(request: HttpRequest, one: Participant | None) -> dict[str, Any]:
    """What a new participant's form offers; nothing for one that is there."""
    if one is not None:
        return {}
    shown = [kind for kind in KINDS if kind.name != LOCAL or settings.LOCAL_MODEL_URL]
    return {
        "kinds": [{"kind": kind, "title": gettext(kind.title)} for kind in shown],
        "chosen": request.POST.get("kind", "openai"),
    }


def address_of(request: HttpRequest) -> dict[str, str]:
    """The model_ref and base_url of the form: of a kind and a name, or as they were written."""
    written, base_url = word_of(request, "model_ref"), word_of(request, "base_url")
    if written:
        return {"model_ref": written, "base_url": base_url}
    kind, name = kind_of(word_of(request, "kind")), word_of(request, "model")
    if not name:
        raise Refused("INVALID_SYNTAX", "Which model?", hint="Choose or write its name.")
    default = "" if kind.own else kind.url
    if not (base_url or default or kind.own):
        raise Refused("INVALID_SYNTAX", "Where is it?", hint="Write its base URL.")
    return {"model_ref": f"{kind.name}:{name}", "base_url": base_url or default}
