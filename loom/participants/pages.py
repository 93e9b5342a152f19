"""The participants of a grove, and the form with which owners add and change models: its
permissions, prices, and the probe of its endpoint."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.money.prices import NAMES as PRICE_NAMES
from loom.money.prices import listed, source
from loom.participants import commands as participants
from loom.participants.addresses import private_entry, why_refused
from loom.participants.commands import (
    CHOICES,
    RANGES,
    Listing,
    ParticipantChangeArgs,
    ProviderAddress,
)
from loom.participants.provider_kinds import (
    CHECKS,
    DEFAULT_CONTEXT,
    KINDS,
    LOCAL,
    SAMPLERS,
    WAYS,
    Kind,
    kind_of,
    usual_limits,
)
from loom.participants.templates import TEMPLATES, begun
from loom.people.models import Participant
from loom.permissions import NEEDS, PRESETS, Permission, preset_of
from loom.site.display import cast_of
from loom.site.page_requests import (
    PersonRequest,
    as_shown,
    frame,
    number_of,
    person,
    text_of,
    whole_of,
    word_of,
)
from loom.text.tokens import thousands
from loom.trees.pages.node_parts import age_of
from loom.turns import budgets

PATIENCE = timedelta(seconds=90)
gettext_noop("OpenAI-compatible")
gettext_noop("the embedded model")


@never_cache
@sensitive_post_parameters("api_key")
@require_POST
@person
def ask(request: PersonRequest, uid: str) -> HttpResponse:
    """Makes a worker list the available models; the part shows the progress. For owners."""
    actor, _ = access.get_grove(request.user, uid, role="owner")
    source = _source_of(request, actor)
    try:
        listing = participants.ask_models(actor, source, again=bool(request.POST.get("again")))
    except CommandError as refused:
        context = {"there_refused": as_shown(refused), **private_of(request, actor, source.url)}
        return render(request, "parts/models_there.html", context)
    return _part(request, actor, listing)


def _source_of(request: PersonRequest, actor: Actor) -> ProviderAddress:
    """The address and key for listing models. Where the form leaves them out, the stored key of
    its participant, and the permission for its private address, are used."""
    kind, base_url, api_key = (word_of(request, field) for field in ("kind", "base_url", "api_key"))
    uid = word_of(request, "participant")
    participant = access.get_participant(request.user, uid, role="owner")[1] if uid else None
    is_kept = (
        participant is not None
        and base_url in ("", participant.base_url)
        and participant.allow_private
    )
    own = base_url or (participant.base_url if is_kept and participant else "")
    allowed = is_kept or _allows(request, own or kind_of(kind).url)
    of = participant.uid if participant and participant.grove == actor.grove else ""
    return ProviderAddress(kind, own, api_key, allowed, of, word_of(request, "auth") or "bearer")


def _allows(request: HttpRequest, url: str) -> bool:
    """Whether the form allows this private address: the checkbox names the address it is about."""
    entry = private_entry(url)
    return entry != "" and word_of(request, "allow_private") == entry


def private_of(request: HttpRequest, actor: Actor, url: str) -> dict[str, Any]:
    """The form's text about a private address that is not allowed yet; nothing for other
    addresses."""
    refused = why_refused(url, settings.PROVIDER_ALLOW) if url else ""
    if not refused:
        return {}
    why = participants.why_not_allowed_by(actor)
    is_plain = "it is not https" in refused
    shown = {"entry": private_entry(url), "is_plain": is_plain, "may": not why, "why": why}
    return {"private": shown}


@never_cache
@require_GET
@person
def listing_progress(request: PersonRequest, uid: str, listing: str) -> HttpResponse:
    """The progress of that listing."""
    actor, _ = access.get_grove(request.user, uid, role="owner")
    return _part(request, actor, participants.listing_of(actor, listing))


def _part(request: HttpRequest, actor: Actor, listing: Listing) -> HttpResponse:
    at = datetime.fromisoformat(listing["at"])
    is_late = listing["status"] == "queued" and timezone.now() - at > PATIENCE
    context = {
        "grove": actor.grove,
        "listing": listing,
        "offered": [(name, listing["contexts"].get(name)) for name in listing["models"]],
        "allowed": private_entry(listing["base_url"]) if listing["allow_private"] else "",
        "is_late": is_late,
        "waits": listing["status"] == "queued" and not is_late,
        "age": age_of(at),
    }
    return render(request, "parts/models_there.html", context)


def kinds_of(request: HttpRequest, participant: Participant | None) -> dict[str, Any]:
    """The provider kinds that the form offers, including the participant's own if it is another
    one."""
    own = participant.model_ref.partition(":")[0] if participant else ""
    has_local = bool(settings.LOCAL_MODEL_URL) or own == LOCAL
    shown = [kind for kind in KINDS if kind.name != LOCAL or has_local]
    if own and own not in {kind.name for kind in shown}:
        shown.insert(0, Kind(own, own, model="model"))
    return {
        "kinds": [{"kind": kind, "title": gettext(kind.title)} for kind in shown],
        "chosen": request.POST.get("kind") or own or "openai",
    }


def address_of(request: HttpRequest, participant: Participant | None = None) -> dict[str, str]:
    """The model_ref and base_url from the form: from a kind and a name, or as they were entered."""
    written, base_url = word_of(request, "model_ref"), word_of(request, "base_url")
    if written:
        return {"model_ref": written, "base_url": base_url}
    given, name = word_of(request, "kind"), word_of(request, "model")
    if not name:
        raise CommandError(
            "INVALID_SYNTAX", "The model is missing.", hint="Choose a model or enter its name."
        )
    kind = kind_of(given)
    if (
        participant is not None
        and given
        and given == participant.model_ref.partition(":")[0] != kind.name
    ):
        kind = Kind(given, given)
    default = "" if kind.own else kind.url
    if not (base_url or default or kind.own):
        raise CommandError("INVALID_SYNTAX", "The base URL is missing.", hint="Enter the base URL.")
    return {"model_ref": f"{kind.name}:{name}", "base_url": base_url or default}


# The participants of a grove, and the form with which owners add and change models.


ENDPOINTS = ("chat", "completion")
TEMPLATES_SAID = {
    "collaborator": gettext_noop("collaborator: writes in its own turns"),
    "analyst": gettext_noop("analyst: looks, reads and answers, and changes nothing"),
    "editor": gettext_noop("editor: suggests other wordings"),
    "narrator": gettext_noop("narrator: continues when asked, is sent text only"),
    "base": gettext_noop("base model: continues the bare text"),
}


@never_cache
@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """The participants: people and models."""
    actor, grove = access.get_grove(request.user, uid)
    cast = cast_of(actor)
    rows = Participant.objects.filter(grove=grove, archived_at__isnull=True).order_by("kind", "id")
    context = {
        **frame(request, actor, "participants"),
        "models": [(row, cast[row.uid], probe_said(row)) for row in rows if row.kind == "model"],
        "people": [(row, cast[row.uid]) for row in rows if row.kind == "human"],
        "added": request.GET.get("added", ""),
        "newest": _newest_tree(actor) if "added" in request.GET else "",
    }
    return render(request, "pages/participants.html", context)


def _newest_tree(actor: Actor) -> str:
    """The uid of a tree in which a new model can be tried; "" if there is none."""
    rows = access.trees_for(actor).filter(grove=actor.grove, archived_at__isnull=True)
    return rows.order_by("-pk").values_list("uid", flat=True).first() or ""


@never_cache
@sensitive_post_parameters("api_key")
@require_http_methods(["GET", "POST"])
@person
def add(request: PersonRequest, uid: str) -> HttpResponse:
    """The form for a new model."""
    actor, _ = access.get_grove(request.user, uid, role="owner")
    return _form(request, actor, None)


@never_cache
@sensitive_post_parameters("api_key")
@require_http_methods(["GET", "POST"])
@person
def change(request: PersonRequest, uid: str, participant: str) -> HttpResponse:
    """The form for an existing model."""
    access.get_grove(request.user, uid, role="owner")
    actor, model = access.get_participant(request.user, participant, role="owner")
    return _form(request, actor, model)


@require_POST
@person
def archive(request: PersonRequest, uid: str, participant: str) -> HttpResponse:
    """Archives a model."""
    actor, model = access.get_participant(request.user, participant, role="owner")
    participants.archive_participant(actor, model)
    words = gettext("%(name)s has been archived. Its texts stay.")
    messages.success(request, words % {"name": model.name})
    return HttpResponseRedirect(f"/groves/{actor.grove.uid}/participants")


def _form(request: PersonRequest, actor: Actor, participant: Participant | None) -> HttpResponse:
    template = word_of(request, "template") or request.GET.get("template", "")
    like = participant or begun(actor.grove, template, {})
    context: dict[str, object] = {
        **frame(request, actor, "participants"),
        "one": participant,
        "like": like,
        "template": template,
        "templates": [(name, gettext(TEMPLATES_SAID[name])) for name in TEMPLATES],
        "endpoints": ENDPOINTS,
        "given": _shown(like),
        "default_context": DEFAULT_CONTEXT,
        **permission_form(request, like),
        **price_form(request, like),
        **probe_form(request, participant),
        **kinds_of(request, like),
    }
    if request.method == "POST":
        try:
            stored = _store(request, actor, participant)
            messages.success(request, gettext("%(name)s has been saved.") % {"name": stored.name})
            return HttpResponseRedirect(_next(request, actor, participant, stored))
        except CommandError as refused:
            context |= {"refused": as_shown(refused), "given": request.POST}
            context |= private_of(request, actor, _url_of(request))
    status = 400 if "refused" in context else 200
    return render(request, "pages/participant.html", context, status=status)


def _next(
    request: HttpRequest, actor: Actor, participant: Participant | None, stored: Participant
) -> str:
    """Where a saved form redirects: to the list, where the row of a new model says what its test
    found."""
    people = f"/groves/{actor.grove.uid}/participants"
    if participant is not None or not request.POST.get("probe"):
        return people
    participants.ask_probe(actor, stored)
    return f"{people}?added={stored.uid}#model-{stored.uid}"


def _shown(participant: Participant) -> dict[str, object]:
    names = "name base_url auth endpoint persona temperature max_tokens context_limit".split()
    fresh = {"context_limit": ""} if not participant.model_ref else {}
    return {
        **{name: getattr(participant, name) for name in names},
        **fresh,
        "model": participant.model_ref.partition(":")[2],
        "stop": "\n".join(str(stop).replace("\n", "\\n") for stop in participant.stop),
    }


def _store(request: HttpRequest, actor: Actor, participant: Participant | None) -> Participant:
    key = word_of(request, "api_key")
    fields = {
        **_fields(request, participant),
        **permission_fields(request),
        **price_fields(request),
    }
    names = permissions_of(request)
    template = word_of(request, "template")
    changes = ParticipantChangeArgs(
        fields=fields, api_key=key or None, permissions=names, template=template
    )
    if participant is None:
        return participants.make_participant(actor, changes)
    return participants.change_participant(actor, participant, changes)


def _fields(request: HttpRequest, participant: Participant | None) -> dict[str, object]:
    endpoint = request.POST.get("endpoint", "chat")
    temperature = number_of(request, "temperature")
    address = address_of(request, participant)
    usual, length = usual_limits(address["model_ref"], address["base_url"])
    limit = whole_of(request, "context_limit") or usual
    most = whole_of(request, "max_tokens") or (length if participant is None else None)
    if endpoint not in ENDPOINTS:
        raise CommandError(
            "INVALID_SYNTAX", "This kind of endpoint does not exist.", hint="chat or completion"
        )
    _demand_between("temperature", temperature, 0, 2, 0.9)
    _demand_between("context_limit", limit, 256, 10_000_000, 32_768)
    _demand_between("max_tokens", most, 1, 1_000_000, 2048)
    stops = text_of(request, "stop").split("\n")
    return {
        "name": word_of(request, "name"),
        **address,
        **_private_fields(request, participant, address["base_url"]),
        "auth": word_of(request, "auth") or "bearer",
        "endpoint": endpoint,
        "persona": text_of(request, "persona"),
        "temperature": temperature,
        "max_tokens": most,
        "context_limit": limit,
        "stop": [stop.replace("\\n", "\n") for stop in stops if stop],
        "capabilities": capabilities_of(request, participant),
    }


def _demand_between(name: str, value: float | None, low: int, high: int, usual: float) -> None:
    if value is not None and not low <= value <= high:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"{name} must be between {low:,} and {high:,}.",
            hint=f"try {usual}",
        )


def _url_of(request: HttpRequest) -> str:
    return word_of(request, "base_url") or kind_of(word_of(request, "kind")).url


def _private_fields(
    request: HttpRequest, participant: Participant | None, base_url: str
) -> dict[str, object]:
    """The field that allows this private address, if the form sets it; other changes leave it as
    it was."""
    if _allows(request, base_url):
        return {"allow_private": True}
    is_new = participant is None or participant.base_url != base_url
    return {"allow_private": False} if is_new else {}


# -- parts of the form


PERMISSION_LABELS = {
    "loom_aware": gettext_noop("see the tree: look, move, keep, think"),
    "loom_write": gettext_noop("write: respond, annotate, link, edit, prune"),
    "loom_generate": gettext_noop("ask models to continue"),
    "doc_read": gettext_noop("read linked documents"),
    "doc_write": gettext_noop("write documents"),
    "cross_tree": gettext_noop("access other trees of the grove"),
    "web_search": gettext_noop("search the web"),
}
PRESETS_SAID = {
    "collaborator": gettext_noop("all of these permissions"),
    "analysis": gettext_noop("can look and read, but not write"),
    "subject": gettext_noop("is sent text only; its answers are never parsed for commands"),
}


def permission_form(request: HttpRequest, participant: Participant | None) -> dict[str, Any]:
    """The form's values: as they were sent, else those of the participant."""
    sent = request.method == "POST"
    held = (
        request.POST.getlist("permission")
        if sent
        else list(participant.permissions if participant else [])
    )
    given = {
        "archetype": participant.archetype if participant else "writer",
        "budget": participant.budget if participant else budgets.USUAL_BUDGET,
        "authority": participant.authority if participant else 0,
        "tool_filter": "\n".join(participant.tool_filter) if participant else "",
    }
    return {
        "may": [
            {
                "name": name,
                "said": gettext(words),
                "needs": NEEDS.get(Permission(name), ""),
                "held": name in held,
            }
            for name, words in PERMISSION_LABELS.items()
        ],
        "preset": request.POST.get("preset", "") if sent else preset_of(held) or "",
        "presets": [
            {"name": name, "said": gettext(PRESETS_SAID[name]), "names": " ".join(names)}
            for name, names in PRESETS.items()
        ],
        "rules": {
            **given,
            **({name: request.POST.get(name, "") for name in given} if sent else {}),
        },
        "archetypes": CHOICES["archetype"],
        "budgets": [(name, _said(budget)) for name, budget in budgets.BUDGETS.items()],
    }


def _said(budget: budgets.Budget) -> str:
    words = {
        "n": budget.steps,
        "tokens": thousands(budget.tokens),
        "time": budgets.clock(budget.milliseconds),
    }
    return gettext("%(n)s steps, %(tokens)s tokens, %(time)s") % words


def permissions_of(request: HttpRequest) -> list[str]:
    """The permissions in the form: those of the preset, else the selected ones."""
    for preset, names in PRESETS.items():
        if preset == request.POST.get("preset"):
            return list(names)
    return request.POST.getlist("permission")


def permission_fields(request: HttpRequest) -> dict[str, object]:
    """The other settings of this part of the form."""
    authority = whole_of(request, "authority") or 0
    low, high = RANGES["authority"]
    _demand_between("authority", authority, low, high, 0)
    tools = text_of(request, "tool_filter").split("\n")
    return {
        "archetype": word_of(request, "archetype") or "writer",
        "budget": word_of(request, "budget") or budgets.USUAL_BUDGET,
        "authority": authority,
        "tool_filter": [tool.strip() for tool in tools if tool.strip()],
    }


# The prices of an agent's tokens and the number of parallel requests, as a part of its form.


PRICE_LABELS = {
    "input": gettext_noop("Input tokens"),
    "output": gettext_noop("Output tokens"),
    "cached": gettext_noop("Cached input tokens"),
    "written": gettext_noop("Tokens written to the cache"),
}


def price_form(request: HttpRequest, participant: Participant | None) -> dict[str, Any]:
    """The form's values: as sent, else those of the participant, with prices of the table where it
    has some."""
    sent = request.method == "POST"
    known = listed(participant.model_ref, participant.base_url) if participant else None
    listed_prices = known.body() if known else {}
    own = participant.prices if participant else {}
    return {
        "costs": [
            {
                "name": f"price_{name}",
                "said": gettext(PRICE_LABELS[name]),
                "value": request.POST.get(f"price_{name}", "") if sent else own.get(name, ""),
                "listed": listed_prices.get(name, ""),
            }
            for name in PRICE_NAMES
        ],
        "caches_from": request.POST.get("caches_from", "") if sent else own.get("caches_from", ""),
        "parallel": request.POST.get("parallel", "")
        if sent
        else participant.parallel
        if participant
        else 12,
        "price_source": source(),
    }


def price_fields(request: HttpRequest) -> dict[str, object]:
    """The settings in this part of the form; for empty prices those of the table."""
    prices = {name: number_of(request, f"price_{name}") for name in PRICE_NAMES}
    prices["caches_from"] = whole_of(request, "caches_from")
    set_ones = {name: price for name, price in prices.items() if price is not None}
    return {"prices": set_ones, "parallel": whole_of(request, "parallel") or 12}


# The part of a participant's page that tests what its endpoint can do.


PROBE_LABELS = {
    "prefill": gettext_noop("it continues a message that has begun (prefill)"),
    "continue_final": gettext_noop("the same, with a flag in the request (vLLM, SGLang)"),
    "few_shot": gettext_noop("with an instruction and three examples"),
    "instruction": gettext_noop("with an instruction"),
}


# What each check is about, in words.
CHECKS_SAID = {
    "chat": gettext_noop("answers messages"),
    "completion": gettext_noop("continues a bare text"),
    "streaming": gettext_noop("sends its answer word by word"),
    "n": gettext_noop("gives several answers at once"),
    "logprobs": gettext_noop("reports probabilities"),
    "system": gettext_noop("takes instructions"),
    "prefill": gettext_noop("continues a message that has begun"),
    "continue_final": gettext_noop("continues the last message, with a flag"),
    "few_shot": gettext_noop("continues a text by examples"),
    "instruction": gettext_noop("continues a text by instruction"),
    "usage": gettext_noop("counts tokens"),
    "grammar": gettext_noop("keeps to a grammar"),
    "images": gettext_noop("reads images"),
    "logit_bias": gettext_noop("takes wishes for single tokens"),
}
_TOLD = ("chat", "images", "logprobs")  # of these, where it can; continuing is told in any case


@dataclass(frozen=True)
class ProbeSaid:
    """What a row of the list says of the last test of a model. `state`: "" (never tested),
    testing, failed or works."""

    state: str = ""
    words: str = ""
    hint: str = ""


def probe_said(participant: Participant) -> ProbeSaid:
    """The result of the last test in a sentence."""
    status = participant.probe.get("status", "")
    if status in ("queued", "running"):
        return ProbeSaid("testing", gettext("Testing what it can do…"))
    if not status:
        return ProbeSaid()
    if error := participant.probe.get("error"):
        return ProbeSaid("failed", str(error.get("message", "")), str(error.get("hint", "")))
    found_by_probe = participant.probe.get("found", {})
    can = [gettext(CHECKS_SAID[name]) for name in _TOLD if found_by_probe.get(name)]
    continues = any(found_by_probe.get(name) for name in ("completion", *WAYS))
    can += [gettext("continues texts")] if continues else []
    samplers = [sampler.name for sampler in SAMPLERS if found_by_probe.get(sampler.name)]
    said = gettext("samplers: %(names)s") if samplers else gettext("no samplers")
    words = "; ".join([", ".join(can), said % {"names": ", ".join(samplers)}] if can else [said])
    return ProbeSaid("works", gettext("It works: %(what)s.") % {"what": words})


@never_cache
@require_http_methods(["GET", "POST"])
@person
def probe(request: PersonRequest, uid: str, participant: str) -> HttpResponse:
    """The result of the last probe; a POST starts another one. For owners."""
    access.get_grove(request.user, uid, role="owner")
    actor, model = access.get_participant(request.user, participant, role="owner")
    if request.method == "POST":
        participants.ask_probe(actor, model)
        return HttpResponseRedirect(f"/groves/{actor.grove.uid}/participants/{model.uid}#probe")
    if "said" in request.GET:
        row = {"grove": actor.grove, "one": model, "said": probe_said(model)}
        return render(request, "parts/probe_said.html", row)
    return render(request, "parts/probe.html", {"grove": actor.grove, **probe_form(request, model)})


def probe_form(request: HttpRequest, participant: Participant | None) -> dict[str, object]:
    """The context of the part for a participant; for a new one, only the ways."""
    held = request.POST.getlist("way") if request.method == "POST" else _held(participant)
    used = next((name for name in WAYS if name in held), "")
    ways = [
        {"name": name, "said": gettext(words), "held": name in held, "used": name == used}
        for name, words in PROBE_LABELS.items()
    ]
    if participant is None:
        return {"ways": ways}
    checked = participant.probe.get("found", {})
    checks = [(name, gettext(CHECKS_SAID.get(name, name)), can) for name, can in checked.items()]
    return {
        "ways": ways,
        "one": participant,
        "probe": participant.probe,
        "checks": CHECKS,
        "found": checks,
    }


def capabilities_of(request: HttpRequest, participant: Participant | None) -> list[str]:
    """A participant's capabilities with the ways selected in the form."""
    ways = request.POST.getlist("way")
    return [
        *(name for name in _held(participant) if name not in WAYS),
        *(w for w in WAYS if w in ways),
    ]


def _held(participant: Participant | None) -> list[str]:
    return list(participant.capabilities) if participant else []
