"""Pages: the explorations of a tree, the form that begins one and says what it costs before, and
one exploration while it grows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from loom import access
from loom.access import Actor
from loom.choices.queries import learned_from
from loom.choices.words import honest, leanings
from loom.engine.arguments import checked
from loom.engine.context import Answer, Request
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.exploring import commands
from loom.exploring.access import get_exploration
from loom.exploring.commands import WAYS, Explore, explore
from loom.exploring.models import Exploration, ExploredText
from loom.exploring.queries import budget_of, explorations_in, texts_of, used_by
from loom.language.refs import Ref
from loom.participants.prices import NANO, dollars
from loom.people.models import Participant
from loom.permissions import GENERATE, WRITE
from loom.site.display import Who, cast_of, grouped
from loom.site.forms import PageForm, Text, Word
from loom.site.page_requests import (
    PersonRequest,
    frame,
    in_one_line,
    is_part,
    person,
    place_at,
)
from loom.trees.models import Tree
from loom.trees.queries.lookup import withheld
from loom.workspace.queries.windows import WITHHELD

MOST = 50  # explorations of a page
SHOWN = 600  # characters of a text
WORDS_OF = {
    "judge": gettext_noop("a judge"),
    "check": gettext_noop("checks"),
    "taste": gettext_noop("your taste"),
    "variety": gettext_noop("variety"),
    "running": gettext_noop("running"),
    "done": gettext_noop("done"),
    "stopped": gettext_noop("stopped"),
    "failed": gettext_noop("failed"),
}
OPTIONS = ("n", "depth", "keep", "by", "goal", "length", "steps", "tokens", "money")


@require_http_methods(["GET", "HEAD", "POST"])
@person
def explorations_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The explorations of a tree, and the form that begins one at `?node=`; a POST begins it."""
    place = place_at(request, uid)
    actor, tree = place.actor, place.tree
    if request.method == "POST":
        return _begun(request, actor, tree)
    rows = explorations_in(tree)[:MOST]
    agents = Participant.objects.filter(grove=tree.grove, kind="model", archived_at__isnull=True)
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "node": place.node,
        "rows": [(row, gettext(WORDS_OF[row.status])) for row in rows],
        "agents": list(agents.order_by("name")),
        "ways": [(way, gettext(WORDS_OF[way])) for way in WAYS],
        "may_begin": {WRITE, GENERATE} <= actor.permissions and tree.archived_at is None,
    }
    return render(request, "exploring/explorations.html", context)


class ExplorationForm(PageForm):
    """Where an exploration begins, who writes, who judges, and its options."""

    node = Text()
    using = Text()
    judge = Text()


ExplorationForm.base_fields |= {name: Word() for name in OPTIONS}


def _args(request: PersonRequest) -> Explore:
    """The arguments of the form. Raises CommandError for what is not valid."""
    given = ExplorationForm.read(request)
    values: dict[str, object] = {name: given[name] for name in OPTIONS if given[name]}
    if given["node"]:
        values["ref"] = given["node"]
    if given["using"]:
        values["using"] = Ref("agent", name=given["using"])
    if given["judge"] and values.get("by", "judge") == "judge":
        values["judge"] = Ref("agent", name=given["judge"])
    return checked(Explore, values)


def _run(request: PersonRequest, actor: Actor, tree: Tree, *, is_dry: bool) -> Answer:
    return execute(actor, tree, explore, _args(request), request=Request("", dry_run=is_dry))


def _begun(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    try:
        _run(request, actor, tree, is_dry=False)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(request.get_full_path())
    row = explorations_in(tree).filter(asked_by=actor.participant)[0]
    return HttpResponseRedirect(f"/explorations/{row.uid}")


@require_POST
@person
def cost(request: PersonRequest, uid: str) -> HttpResponse:
    """What the exploration of the form would do and cost at most; nothing is begun."""
    actor, tree = access.get_tree(request.user, uid)
    try:
        limits = _run(request, actor, tree, is_dry=True).body["did"]
        context: dict[str, object] = {"lines": list(_limits_shown(actor, limits))}
        if request.POST.get("by") == "taste":
            known = learned_from(actor)
            context["taste"] = {"leanings": leanings(known), "figures": honest(known)}
    except CommandError as refused:
        context = {"refused": in_one_line(refused)}
    return render(request, "exploring/cost.html", context)


def _limits_shown(actor: Actor, limits: Mapping[str, Any]) -> Iterator[str]:
    """What an exploration may do and use, in the reader's language."""
    texts = ngettext("at most %(n)s text", "at most %(n)s texts", limits["texts"])
    rounds = ngettext("in %(n)s round", "in %(n)s rounds", limits["rounds"])
    yield f"{texts % {'n': limits['texts']}} {rounds % {'n': limits['rounds']}}"
    if limits["judge"] is not None:
        judge = Participant.objects.get(grove=actor.grove, uid=limits["judge"])
        words = gettext("each judged by %(name)s")
        if limits["judge"] == limits["agent"]:
            words = gettext("each judged by %(name)s, who writes them")
        yield words % {"name": judge.name}
    yield gettext("keeps %(n)s of each round") % {"n": limits["kept"]}
    calls = ngettext("budget: %(n)s call", "budget: %(n)s calls", limits["calls"])
    tokens = ngettext("%(n)s token", "%(n)s tokens", limits["tokens"])
    parts = [
        calls % {"n": grouped(limits["calls"])},
        tokens % {"n": grouped(limits["tokens"])},
    ]
    if limits["usd"]:
        money = dollars(round(limits["usd"] * NANO))
        parts.append(gettext("at most %(money)s") % {"money": money})
    yield " · ".join(parts)


@dataclass(frozen=True)
class ShownText:
    """A text of an exploration as the page shows it."""

    row: ExploredText
    text: str
    who: Who


@dataclass(frozen=True)
class ShownRound:
    """A round: its number, the texts that were kept or are not decided, and those set aside."""

    number: int
    texts: list[ShownText]
    aside: list[ShownText]


@require_http_methods(["GET", "HEAD", "POST"])
@person
def exploration_page(request: PersonRequest, uid: str) -> HttpResponse:
    """An exploration: its rounds as far as they have come; a POST stops it. For scripts only the
    part that changes."""
    actor, row = get_exploration(request.user, uid)
    if request.method == "POST":
        access.demand(actor, {GENERATE}, "stop")
        commands.stop(actor, row)
        if not is_part(request):
            return HttpResponseRedirect(f"/explorations/{row.uid}")
        row = get_exploration(request.user, uid)[1]
    used, budget = used_by(row), budget_of(row)
    context = {
        **frame(request, actor, "trees"),
        "tree": row.tree,
        "row": row,
        "status": gettext(WORDS_OF[row.status]),
        "by": gettext(WORDS_OF[row.by]),
        "rounds": _rounds(request, actor, row),
        "used": used,
        "budget": budget,
        "spent": dollars(used.money) if used.money else "",
        "may_spend": dollars(budget.money) if budget.money is not None else "",
        "may_stop": GENERATE in actor.permissions,
    }
    name = "exploring/rounds.html" if is_part(request) else "exploring/exploration.html"
    return render(request, name, context)


def _rounds(request: PersonRequest, actor: Actor, row: Exploration) -> list[ShownRound]:
    rows, cast = texts_of(row), cast_of(actor)
    gone = withheld(actor, [text.node_id for text in rows if text.node_id])
    shown = [
        ShownText(
            text,
            WITHHELD if text.node_id in gone else (text.node.text[:SHOWN] if text.node else ""),
            cast[row.agent.uid],
        )
        for text in rows
    ]
    rounds = []
    for number in sorted({text.round for text in rows}):
        own = [text for text in shown if text.row.round == number]
        own.sort(key=lambda text: (not text.row.is_kept, -(text.row.score or 0), text.row.pk))
        aside = [text for text in own if text.row.is_kept is False]
        rounds.append(ShownRound(number, [text for text in own if text not in aside], aside))
    return rounds
