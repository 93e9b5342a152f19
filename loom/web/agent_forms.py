"""Parts of an agent's form: permissions, prices, and the probe of its endpoint."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from loom import access
from loom.commands import participants
from loom.commands.participants import CHOICES, RANGES
from loom.models import Participant
from loom.rules import budgets
from loom.rules.errors import CommandError
from loom.rules.permissions import NEEDS, PRESETS, Permission, preset_of
from loom.rules.prices import NAMES as PRICE_NAMES
from loom.rules.prices import listed, source
from loom.rules.provider_kinds import CHECKS, WAYS
from loom.web.requests import PersonRequest, number_of, person, text_of, whole_of, word_of

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


def permission_form(request: HttpRequest, one: Participant | None) -> dict[str, Any]:
    """The form's values: as they were sent, else those of the participant."""
    sent = request.method == "POST"
    held = request.POST.getlist("permission") if sent else list(one.permissions if one else [])
    given = {
        "archetype": one.archetype if one else "writer",
        "budget": one.budget if one else budgets.DEFAULT,
        "authority": one.authority if one else 0,
        "tool_filter": "\n".join(one.tool_filter) if one else "",
    }
    return {
        "may": [
            {
                "name": name,
                "said": gettext(said),
                "needs": NEEDS.get(Permission(name), ""),
                "held": name in held,
            }
            for name, said in PERMISSION_LABELS.items()
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
        "budgets": [(name, _said(budget)) for name, budget in budgets.PRESETS.items()],
    }


def _said(budget: budgets.Budget) -> str:
    words = {"n": budget.steps, "time": budgets.clock(budget.milliseconds)}
    return gettext("%(n)s steps, %(time)s") % words


def permissions_of(request: HttpRequest) -> list[str]:
    """The permissions asked for: those of the preset, else the selected ones."""
    for preset, names in PRESETS.items():
        if preset == request.POST.get("preset"):
            return list(names)
    return request.POST.getlist("permission")


def permission_fields(request: HttpRequest) -> dict[str, object]:
    """The other settings of this part of the form."""
    authority = whole_of(request, "authority") or 0
    low, high = RANGES["authority"]
    if not low <= authority <= high:
        raise CommandError(
            "LIMIT_EXCEEDED", f"Authority must be between {low} and {high}.", hint="try 0"
        )
    tools = text_of(request, "tool_filter").split("\n")
    return {
        "archetype": word_of(request, "archetype") or "writer",
        "budget": word_of(request, "budget") or budgets.DEFAULT,
        "authority": authority,
        "tool_filter": [tool.strip() for tool in tools if tool.strip()],
    }


# What an agent's tokens cost and how many requests its key allows, as a part of its form.


PRICE_LABELS = {
    "input": gettext_noop("Input tokens"),
    "output": gettext_noop("Output tokens"),
    "cached": gettext_noop("Cached input tokens"),
    "written": gettext_noop("Tokens written to the cache"),
}


def price_form(request: HttpRequest, one: Participant | None) -> dict[str, Any]:
    """The form's values: as they were sent, else those of the participant, with the prices of the
    table where it has some."""
    sent = request.method == "POST"
    known = listed(one.model_ref, one.base_url) if one else None
    listed_prices = known.body() if known else {}
    own = one.prices if one else {}
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
        "parallel": request.POST.get("parallel", "") if sent else one.parallel if one else 12,
        "price_source": source(),
    }


def price_fields(request: HttpRequest) -> dict[str, object]:
    """The settings of this part of the form; empty prices are the table's."""
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


@never_cache
@require_http_methods(["GET", "POST"])
@person
def probe(request: PersonRequest, uid: str, participant: str) -> HttpResponse:
    """The result of the last probe; a POST starts another one. For owners."""
    access.get_grove(request.user, uid, role="owner")
    actor, one = access.get_participant(request.user, participant, role="owner")
    if request.method == "POST":
        participants.ask_probe(actor, one)
        return HttpResponseRedirect(f"/groves/{actor.grove.uid}/participants/{one.uid}#probe")
    return render(request, "parts/probe.html", {"grove": actor.grove, **probe_form(request, one)})


def probe_form(request: HttpRequest, one: Participant | None) -> dict[str, object]:
    """The context of the part for a participant; for a new one, only the ways."""
    held = request.POST.getlist("way") if request.method == "POST" else _held(one)
    used = next((name for name in WAYS if name in held), "")
    ways = [
        {"name": name, "said": gettext(said), "held": name in held, "used": name == used}
        for name, said in PROBE_LABELS.items()
    ]
    seen = {} if one is None else {"one": one, "probe": one.probe, "checks": CHECKS}
    return {"ways": ways, **seen}


def capabilities_of(request: HttpRequest, one: Participant | None) -> list[str]:
    """A participant's capabilities with the ways selected in the form."""
    ways = request.POST.getlist("way")
    return [*(name for name in _held(one) if name not in WAYS), *(w for w in WAYS if w in ways)]


def _held(one: Participant | None) -> list[str]:
    return list(one.capabilities) if one else []
