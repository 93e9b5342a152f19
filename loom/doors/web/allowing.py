"""What an agent may do, as a part of its form: permissions, presets, archetype, budget."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext, gettext_noop

from loom.commands.participants import CHOICES, RANGES
from loom.doors.web.fields import text_of, whole_of, word_of
from loom.models import Participant
from loom.rules import budgets
from loom.rules.permissions import LETTERS, NAMES, NEEDS, PRESETS, preset_of
from loom.rules.refusals import Refused

SAID = {
    "loom_aware": gettext_noop("know the tree: look, move, keep, think"),
    "loom_write": gettext_noop("write: respond, annotate, link, edit, prune"),
    "loom_generate": gettext_noop("ask models to continue"),
    "doc_read": gettext_noop("read documents that are linked here"),
    "doc_write": gettext_noop("write documents"),
    "cross_tree": gettext_noop("reach the other trees of the grove"),
    "web_search": gettext_noop("search the web"),
}
PRESETS_SAID = {
    "collaborator": gettext_noop("all of it"),
    "analysis": gettext_noop("looks and reads, writes nothing"),
    "subject": gettext_noop("is sent text only, its answer is never read for lines"),
}


def form_of(request: HttpRequest, one: Participant | None) -> dict[str, Any]:
    """What the form shows: as it was sent, else as the participant is."""
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
                "needs": NAMES[NEEDS[LETTERS[name]]] if LETTERS[name] in NEEDS else "",
                "held": name in held,
            }
            for name, said in SAID.items()
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
    """The permissions asked for: a preset's, else those that are ticked."""
    for preset, names in PRESETS.items():
        if preset == request.POST.get("preset"):
            return list(names)
    return request.POST.getlist("permission")


def fields_of(request: HttpRequest) -> dict[str, object]:
    """The other settings of this part of the form."""
    authority = whole_of(request, "authority") or 0
    low, high = RANGES["authority"]
    if not low <= authority <= high:
        raise Refused("LIMIT_EXCEEDED", f"Authority is from {low} to {high}.", hint="0 is usual")
    tools = text_of(request, "tool_filter").split("\n")
    return {
        "archetype": word_of(request, "archetype") or "writer",
        "budget": word_of(request, "budget") or budgets.DEFAULT,
        "authority": authority,
        "tool_filter": [tool.strip() for tool in tools if tool.strip()],
    }
