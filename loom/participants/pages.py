"""The participants of a grove, and the form with which owners add and change models: its
permissions, prices, and the probe of its endpoint."""

import json
from collections.abc import Mapping
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
from loom.participants import budgets
from loom.participants import commands as participants
from loom.participants.addresses import private_entry, why_refused
from loom.participants.commands import (
    CHOICES,
    Listing,
    ParticipantChangeArgs,
    ProviderAddress,
)
from loom.participants.forms import ENDPOINTS, PRICES, ParticipantForm, initial_of
from loom.participants.prices import list_version, listed
from loom.participants.provider_failures import failure_shown
from loom.participants.provider_kinds import (
    CHECKS,
    KINDS,
    LOCAL,
    SAMPLERS,
    WAYS,
    Kind,
    kind_of,
)
from loom.participants.provider_tools import EXAMPLE
from loom.participants.seen_values import ChangedMeanwhile, marks_of
from loom.participants.templates import TEMPLATES, begun
from loom.people.models import Participant
from loom.people.participant_fields import DEFAULT_CONTEXT
from loom.permissions import NEEDS, PRESETS, Permission, preset_of
from loom.site.display import age_of, cast_of
from loom.site.page_requests import (
    PersonRequest,
    as_shown,
    frame,
    person,
)
from loom.text.tokens import thousands

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
    given = ParticipantForm.read(request)
    source = _source_of(request, actor, given)
    try:
        listing = participants.ask_models(actor, source, again=given["again"])
    except CommandError as refused:
        context = {"there_refused": as_shown(refused), **private_of(actor, source.url)}
        return render(request, "parts/models_there.html", context)
    return _part(request, actor, listing)


def _source_of(request: PersonRequest, actor: Actor, given: Mapping[str, Any]) -> ProviderAddress:
    """The address and key for listing models. Where the form leaves them out, the stored key of
    its participant, and the permission for its private address, are used."""
    kind, base_url, uid = given["kind"], given["base_url"], given["participant"]
    participant = access.get_participant(request.user, uid, role="owner")[1] if uid else None
    is_kept = (
        participant is not None
        and base_url in ("", participant.base_url)
        and participant.allow_private
    )
    own = base_url or (participant.base_url if is_kept and participant else "")
    allowed = is_kept or _allows(given, own or kind_of(kind).url)
    of = participant.uid if participant and participant.grove == actor.grove else ""
    return ProviderAddress(kind, own, given["api_key"], allowed, of, given["auth"])


def _allows(given: Mapping[str, Any], url: str) -> bool:
    """Whether the form allows this private address: the checkbox names the address it is about."""
    entry = private_entry(url)
    return entry != "" and given["allow_private"] == entry


def private_of(actor: Actor, url: str) -> dict[str, Any]:
    """The form's text about a private address that is not allowed yet; nothing for other
    addresses."""
    refused = why_refused(url, settings.PROVIDER_ALLOW) if url else ""
    if not refused:
        return {}
    why = participants.why_not_allowed_by(actor)
    # Only that it is not https stands against an address that could be called with it.
    is_plain = url.startswith("http://") and not why_refused(
        url.replace("http://", "https://", 1), settings.PROVIDER_ALLOW
    )
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
        "failure": failure_shown(listing["error"]) if listing["error"] else None,
        "offered": [(name, listing["contexts"].get(name)) for name in listing["models"]],
        "allowed": private_entry(listing["base_url"]) if listing["allow_private"] else "",
        "is_late": is_late,
        "waits": listing["status"] == "queued" and not is_late,
        "age": age_of(at),
    }
    return render(request, "parts/models_there.html", context)


def kinds_of(form: ParticipantForm, participant: Participant | None) -> dict[str, Any]:
    """The provider kinds that the form offers, including the participant's own if it is another
    one."""
    own = participant.model_ref.partition(":")[0] if participant else ""
    has_local = bool(settings.LOCAL_MODEL_URL) or own == LOCAL
    shown = [kind for kind in KINDS if kind.name != LOCAL or has_local]
    if own and own not in {kind.name for kind in shown}:
        shown.insert(0, Kind(own, own, model="model"))
    return {
        "kinds": [{"kind": kind, "title": gettext(kind.title)} for kind in shown],
        "chosen": form["kind"].value() or own or "openai",
    }


# The participants of a grove, and the form with which owners add and change models.


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
    }
    return render(request, "pages/participants.html", context)


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
    form = ParticipantForm(request.POST if request.method == "POST" else None)
    template = str(form["template"].value() or request.GET.get("template", ""))
    like = participant or begun(actor.grove, template, {})
    form.initial = initial_of(like)
    context: dict[str, object] = {
        **frame(request, actor, "participants"),
        "form": form,
        "one": participant,
        "like": like,
        "template": template,
        "templates": [(name, gettext(TEMPLATES_SAID[name])) for name in TEMPLATES],
        "endpoints": ENDPOINTS,
        "default_context": DEFAULT_CONTEXT,
        "provider_tools_example": EXAMPLE,
    }
    refusal: CommandError | None = None
    if form.is_bound:
        try:
            stored = _store(actor, form, participant)
            messages.success(request, gettext("%(name)s has been saved.") % {"name": stored.name})
            return HttpResponseRedirect(_next(actor, form, participant, stored))
        except CommandError as refused:
            refusal = refused
            form.show(refused)
            context |= {"refused": as_shown(refused)}
            context |= private_of(actor, _url_of(form))
    if participant is not None:
        context["seen"] = json.dumps(_seen_in(form, participant, refusal))
    context |= {
        **permission_form(form),
        **price_form(form, like),
        **probe_form(form, participant),
        **kinds_of(form, like),
    }
    status = 400 if "refused" in context else 200
    return render(request, "pages/participant.html", context, status=status)


def _next(
    actor: Actor, form: ParticipantForm, participant: Participant | None, stored: Participant
) -> str:
    """Where a saved form redirects: to the list, where the row of a new model says what its test
    found."""
    people = f"/groves/{actor.grove.uid}/participants"
    if participant is not None or not form.values["probe"]:
        return people
    participants.ask_probe(actor, stored)
    return f"{people}?added={stored.uid}#model-{stored.uid}"


def _store(actor: Actor, form: ParticipantForm, participant: Participant | None) -> Participant:
    is_new = participant is None
    fields = form.fields_of(None) if participant is None else form.changed_fields(participant)
    changes = ParticipantChangeArgs(
        fields=fields | _private_fields(form, participant, fields),
        api_key=form.values["api_key"] or None,
        permissions=form.permissions() if is_new else form.changed_permissions(),
        template=form.values["template"],
        seen={} if is_new else {name: str(mark) for name, mark in form.values["seen"].items()},
    )
    if participant is None:
        return participants.make_participant(actor, changes)
    return participants.change_participant(actor, participant, changes)


def _seen_in(
    form: ParticipantForm, participant: Participant, refused: CommandError | None
) -> dict[str, str]:
    """Marks of the values that the page shows. Of a refused form they stay those that it was sent
    with, as its values do, but for the field that somebody else has changed: the refusal says what
    it is now, so that it is known once the form is sent again."""
    now = marks_of(participant)
    if not form.is_bound:
        return now
    seen: dict[str, str] = form.cleaned_data.get("seen", {})
    if isinstance(refused, ChangedMeanwhile):
        participant.refresh_from_db(fields=[refused.field])
        seen = {**seen, refused.field: marks_of(participant)[refused.field]}
    return seen


def _url_of(form: ParticipantForm) -> str:
    typed = form.typed("base_url", "kind")
    return typed["base_url"] or kind_of(typed["kind"]).url


def _private_fields(
    form: ParticipantForm, participant: Participant | None, fields: Mapping[str, object]
) -> dict[str, object]:
    """The field that allows this private address, if the form sets it; other changes leave it as
    it was. An address that somebody else has changed meanwhile is not allowed by what was ticked
    for the one before."""
    base_url = str(fields.get("base_url", participant.base_url if participant else ""))
    url = base_url or (kind_of(participant.model_ref.partition(":")[0]).url if participant else "")
    if _allows(form.values, url):
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


def permission_form(form: ParticipantForm) -> dict[str, Any]:
    """The boxes and choices of the form, with those that are selected."""
    held = form["permission"].value() or []
    preset = form["preset"].value() or "" if form.is_bound else preset_of(held) or ""
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
        "preset": preset,
        "presets": [
            {"name": name, "said": gettext(PRESETS_SAID[name]), "names": " ".join(names)}
            for name, names in PRESETS.items()
        ],
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


# The prices of an agent's tokens and the number of parallel requests, as a part of its form.


PRICE_LABELS = {
    "input": gettext_noop("Input tokens"),
    "output": gettext_noop("Output tokens"),
    "cached": gettext_noop("Cached input tokens"),
    "written": gettext_noop("Tokens written to the cache"),
}


def price_form(form: ParticipantForm, participant: Participant | None) -> dict[str, Any]:
    """The fields of prices, with those of the table where it has some."""
    known = listed(participant.model_ref, participant.base_url) if participant else None
    listed_prices = known.body() if known else {}
    return {
        "costs": [
            {
                "field": form[f"price_{name}"],
                "said": gettext(PRICE_LABELS[name]),
                "listed": listed_prices.get(name, ""),
            }
            for name in PRICES
        ],
        "price_source": gettext("the price list in litellm %(version)s")
        % {"version": list_version()},
    }


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
    kept = participants.probe_of(participant)
    status = kept.get("status", "")
    if status in ("queued", "running"):
        return ProbeSaid("testing", gettext("Testing what it can do…"))
    if not status:
        return ProbeSaid()
    if error := kept.get("error"):
        return ProbeSaid("failed", *failure_shown(error))
    found_by_probe = kept.get("found", {})
    can = [gettext(CHECKS_SAID[name]) for name in _TOLD if found_by_probe.get(name)]
    continues = any(found_by_probe.get(name) for name in ("completion", *WAYS))
    can += [gettext("continues texts")] if continues else []
    samplers = [sampler.name for sampler in SAMPLERS if found_by_probe.get(sampler.name)]
    sampler_words = gettext("samplers: %(names)s") if samplers else gettext("no samplers")
    words = "; ".join(
        [", ".join(can), sampler_words % {"names": ", ".join(samplers)}] if can else [sampler_words]
    )
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
    form = ParticipantForm(initial=initial_of(model))
    return render(request, "parts/probe.html", {"grove": actor.grove, **probe_form(form, model)})


def probe_form(form: ParticipantForm, participant: Participant | None) -> dict[str, object]:
    """The context of the part for a participant; for a new one, only the ways."""
    held = form["way"].value() or []
    used = next((name for name in WAYS if name in held), "")
    ways = [
        {"name": name, "said": gettext(words), "held": name in held, "used": name == used}
        for name, words in PROBE_LABELS.items()
    ]
    if participant is None:
        return {"ways": ways}
    probed = participants.probe_of(participant)
    message, hint = failure_shown(probed.get("error") or {})
    checked = participant.probe.get("found", {})
    checks = [(name, gettext(CHECKS_SAID.get(name, name)), can) for name, can in checked.items()]
    return {
        "ways": ways,
        "one": participant,
        "probe": probed,
        "failure": {"message": message, "hint": hint} if message else None,
        "checks": CHECKS,
        "found": checks,
    }
