"""A grove's settings, members, invitations and money."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from operator import itemgetter
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from loom import access
from loom.access import Actor
from loom.engine import put_aside
from loom.errors import CommandError
from loom.money.days import today
from loom.money.grove_settings import daily_limit
from loom.money.queries import usage
from loom.money.queries.allowances import is_by_operator
from loom.notes.commands import marks
from loom.notes.models import Mark
from loom.notes.queries import tags_in
from loom.notes.tag_keys import plain_tag, tag_key
from loom.participants import commands as participants
from loom.participants.prices import NANO, dollars, prices_of
from loom.participants.provider_kinds import SEARCH_SERVICES, search_service
from loom.people.commands import groves
from loom.people.grove_settings import SETTINGS
from loom.people.models import Grove, Invitation, Membership, Participant
from loom.people.names import TAG_COLOURS
from loom.permissions import ROLES, WRITE
from loom.site.display import Who, cast_of
from loom.site.forms import Flag, Number, PageForm, Seen, Text, Whole, Word, Words
from loom.site.page_requests import (
    PersonRequest,
    as_shown,
    frame,
    in_one_line,
    person,
    shown_once,
)
from loom.web_search import commands as web_search
from loom.web_search.models import SearchService

MAX_TAGS = 60
MOST_PUT_ASIDE = 50  # units of work that the settings list
# Numbers without a field in the form; an empty value means the default.
NUMBERS = [
    setting
    for setting in SETTINGS.values()
    if setting.kind == "integer" and setting.name not in ("result_threshold",)
]


@require_http_methods(["GET", "HEAD", "POST"])
@person
def settings_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The settings; a POST by an owner changes them."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        access.demand_role(actor, "owner")
        form = GroveForm.of(request)
        if form.has("web-search"):
            return _set_search_service(request, actor)
        if form.has("put-aside"):
            return _take_up_again(request, actor)
        try:
            changed = _changed(form, grove)
            groves.change_grove(actor, name=changed.pop("name", None), settings=changed)
            messages.success(request, gettext("Saved."))
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/groves/{grove.uid}/settings")
    return _settings(request, actor)


class PutAsideForm(PageForm):
    """The kind and the id of a unit of work, with a space between."""


PutAsideForm.base_fields["put-aside"] = Word()


def _take_up_again(request: PersonRequest, actor: Actor) -> HttpResponse:
    """Has a unit of work that was put aside tried again."""
    kind, _, unit = PutAsideForm.read(request)["put-aside"].partition(" ")
    try:
        put_aside.take_up_again(actor, kind, unit)
        messages.success(request, gettext("It is tried again within half a minute."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/groves/{actor.grove.uid}/settings")


def _settings(
    request: PersonRequest, actor: Actor, refused: CommandError | None = None
) -> HttpResponse:
    """The page; with the reason if the web search service was `refused`, and what was entered."""
    grove, tags = actor.grove, _tags(actor)
    chosen = grove.settings.get("tag_colours", {})
    limit = daily_limit(grove.settings)
    context = {
        **frame(request, actor, "settings"),
        "seen": json.dumps(_shown_in(grove, tags)),
        "limit": f"{limit / NANO:.12g}" if limit else "",
        "ceiling": f"{grove.ceiling / NANO:.12g}" if grove.ceiling else "",
        "tags": [(tag, chosen.get(tag, "")) for tag in tags],
        "colours": [(name, gettext(name)) for name in TAG_COLOURS],
        "models": Participant.objects.filter(grove=grove, kind="model", archived_at__isnull=True),
        "summary_model": grove.settings.get("summary_model", ""),
        "readers_may": [("read", gettext("read")), ("comment", gettext("read and comment"))],
        "readers_chosen": grove.settings.get(access.READERS_MAY, "read"),
        "result_threshold": grove.settings.get("result_threshold", 0) or "",
        "evict": grove.settings.get("evict", ""),
        "auto_open": grove.settings.get("auto_open", False),
        "numbers": [(number, grove.settings.get(number.name, "")) for number in NUMBERS],
        "put_aside": put_aside.of_grove(grove)[:MOST_PUT_ASIDE],
        **_search_service(request, actor, is_typed=refused is not None),
        "search_refused": refused and as_shown(refused),
    }
    status = refused.status if refused else 200
    return render(request, "pages/grove_settings.html", context, status=status)


def _search_service(request: PersonRequest, actor: Actor, *, is_typed: bool) -> dict[str, Any]:
    """The values of the web search form, as entered or as stored; its key is never shown."""
    service = SearchService.objects.filter(grove=actor.grove).first()
    kind = search_service(service.kind) if service else None
    shown: dict[str, Any] = {"allow_private": False}
    if is_typed:
        form = SearchServiceForm.of(request)
        shown = {**form.typed("kind", "base_url", "price")}
        shown["allow_private"] = "allow_private" in form.data
    elif service:
        shown = {name: getattr(service, name) for name in ("kind", "base_url", "allow_private")}
        shown["price"] = service.price / NANO if service.price else ""
    return {
        "services": SEARCH_SERVICES,
        "service": service,
        "service_title": kind.title if kind else "",
        "shown": shown,
        "private_why": participants.why_not_allowed_by(actor),
    }


class SearchServiceForm(PageForm):
    """A web search service; its address is left out for the usual one of its kind."""

    kind = Word()
    base_url = Word()
    api_key = Word(empty=None)
    allow_private = Flag()
    price = Number(empty=0)
    remove = Flag()


def _set_search_service(request: PersonRequest, actor: Actor) -> HttpResponse:
    """Sets or removes the web search service, and shows the settings again."""
    try:
        form = SearchServiceForm.read(request)
        if form["remove"]:
            web_search.remove_service(actor)
            messages.success(request, gettext("Web search is off."))
        else:
            given = web_search.NewService(
                kind=form["kind"],
                base_url=_search_address(form["base_url"], form["kind"], actor.grove),
                api_key=form["api_key"],
                allow_private=form["allow_private"],
                price_usd=form["price"],
            )
            web_search.set_service(actor, given)
            messages.success(request, gettext('Saved. → search "words" searches the web now.'))
    except CommandError as refused:
        return _settings(request, actor, refused)
    return HttpResponseRedirect(f"/groves/{actor.grove.uid}/settings")


def _search_address(given: str, kind: str, grove: Grove) -> str:
    """The address in the form, unless it is that of the previous service and the kind has
    changed."""
    before = SearchService.objects.filter(grove=grove).exclude(kind=kind).first()
    return "" if before is not None and given == before.base_url else given


def _tags(actor: Actor) -> list[str]:
    """The tags that are used in the grove, and those with a colour."""
    seen = access.grove_trees(actor)
    rows = Mark.objects.filter(tree__in=seen, kind="tag", removed_at__isnull=True)
    used = rows.values_list("label", flat=True).distinct().order_by("label")[:MAX_TAGS]
    return sorted({*used, *actor.grove.settings.get("tag_colours", {})})


class GroveForm(PageForm):
    """The settings of a grove. `tag` and `colour` are a list of pairs; numbers that the page shows
    by their definition are added below."""

    name = Text()
    tag = Words()
    colour = Words()
    limit = Number(empty=0)
    summary_model = Word()
    readers_may = Word(empty="read")
    result_threshold = Whole(empty=0)
    evict = Word()
    auto_open = Flag()
    seen = Seen()


for _one in NUMBERS:
    GroveForm.base_fields[_one.name] = Whole()


def _given(form: GroveForm) -> dict[str, Any]:
    """The name and the settings sent by the form: those that its page has."""
    given = form.values
    pairs = zip(given["tag"], given["colour"], strict=False)
    colours = {tag: colour for tag, colour in pairs if colour}
    if any(colour not in TAG_COLOURS for colour in colours.values()):
        raise CommandError(
            "INVALID_SYNTAX", "This colour is not available.", hint=" or ".join(TAG_COLOURS)
        )
    windows = {"evict": given["evict"], "auto_open": given["auto_open"]}
    return {
        "name": given["name"],
        "tag_colours": colours,
        "daily_budget_usd": given["limit"],
        "summary_model": given["summary_model"],
        **({access.READERS_MAY: given["readers_may"]} if "readers_may" in form.data else {}),
        "result_threshold": given["result_threshold"],
        **(windows if "evict" in form.data else {}),
        **{number.name: given[number.name] for number in NUMBERS if number.name in form.data},
    }


def _shown_in(grove: Grove, tags: Sequence[str]) -> dict[str, Any]:
    """What a form sends in which nothing was changed."""
    stored = grove.settings
    colours = stored.get("tag_colours", {})
    return {
        "name": grove.name,
        "tag_colours": {tag: colours[tag] for tag in tags if colours.get(tag)},
        "daily_budget_usd": daily_limit(stored) / NANO,
        "summary_model": stored.get("summary_model", ""),
        access.READERS_MAY: stored.get(access.READERS_MAY, "read"),
        "result_threshold": stored.get("result_threshold", 0),
        "evict": stored.get("evict", ""),
        "auto_open": stored.get("auto_open", False),
        **{number.name: stored.get(number.name) for number in NUMBERS},
    }


def _changed(form: GroveForm, grove: Grove) -> dict[str, Any]:
    """What was changed in the page: what another owner has changed since it was opened stays."""
    seen, given = form.values["seen"], _given(form)
    changed = {
        name: value for name, value in given.items() if name not in seen or seen[name] != value
    }
    shown = seen.get("tag_colours")
    if "tag_colours" in changed and isinstance(shown, dict):
        own = {tag: changed["tag_colours"].get(tag, "") for tag in given["tag_colours"] | shown}
        own = {tag: colour for tag, colour in own.items() if colour != shown.get(tag, "")}
        now = grove.settings.get("tag_colours", {}) | own
        changed["tag_colours"] = {tag: colour for tag, colour in now.items() if colour}
    return changed


@require_http_methods(["GET", "HEAD", "POST"])
@person
def tags_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The tags of the grove; a POST renames or colours one, or removes it everywhere."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        try:
            messages.success(request, _tag_changed(request, actor))
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/groves/{grove.uid}/tags")
    context = {
        **frame(request, actor, "trees"),
        "tags": tags_in(actor),
        "may_write": WRITE in actor.permissions,
        "colours": [(name, gettext(name)) for name in TAG_COLOURS],
    }
    return render(request, "pages/tags.html", context)


class TagForm(PageForm):
    """Another name or colour of a tag, or its removal."""

    tag = Text()
    name = Word()
    colour = Word()
    remove = Flag()


def _tag_changed(request: PersonRequest, actor: Actor) -> str:
    given = TagForm.read(request)
    tag, name = given["tag"], given["name"]
    if given["remove"]:
        marks.remove_tag(actor, tag)
        return gettext("The tag #%(tag)s has been removed everywhere.") % {"tag": tag}
    key = tag_key(plain_tag(name))
    is_merged = key != tag_key(tag) and key in map(tag_key, _tags(actor))
    marks.change_tag(actor, tag, name="" if name == tag else name, colour=given["colour"])
    if is_merged:
        values = {"tag": tag, "name": plain_tag(name)}
        return gettext("The tags #%(tag)s and #%(name)s have been merged.") % values
    return gettext("Saved.")


# Members of a grove: roles and invitations.


@never_cache
@require_GET
@person
def members_page(request: PersonRequest, uid: str) -> HttpResponse:
    """Members and, for owners, invitations."""
    actor, _ = access.get_grove(request.user, uid)
    return render(request, "pages/people.html", _context(request, actor))


def _context(request: PersonRequest, actor: Actor) -> dict[str, object]:
    cast = cast_of(actor)
    members = Membership.objects.filter(grove=actor.grove).select_related("user", "participant")
    return {
        **frame(request, actor, "people"),
        "members": [(member, cast[member.participant.uid]) for member in members],
        "invitations": groves.open_invitations(actor.grove) if actor.is_owner else [],
        "roles": ROLES,
    }


class MemberForm(PageForm):
    """A member, by the name they sign in with, and their new role."""

    user = Word()
    role = Text()


class InvitationForm(PageForm):
    """A new invitation."""

    role = Text()
    days = Number(empty=7)
    uses = Whole(empty=1)


def _role(request: PersonRequest, actor: Actor) -> str:
    given = MemberForm.read(request)
    member = groves.change_role(actor, given["user"], given["role"])
    words = {"name": member.participant.name, "role": gettext(member.role)}
    return gettext("%(name)s is now %(role)s.") % words


def _remove(request: PersonRequest, actor: Actor) -> str:
    name = MemberForm.read(request)["user"]
    groves.remove_member(actor, name)
    return gettext("%(name)s is no longer a member. Their texts stay.") % {"name": name}


class RevokedForm(PageForm):
    """The invitation to revoke."""

    invitation = Word()


def _revoke(request: PersonRequest, actor: Actor) -> str:
    groves.revoke_invitation(actor, RevokedForm.read(request)["invitation"])
    return gettext("The invitation has been revoked.")


_ACTIONS: dict[str, Callable[[PersonRequest, Actor], str]] = {
    "role": _role,
    "remove": _remove,
    "revoke": _revoke,
}


@never_cache
@require_POST
@person
def change_members(request: PersonRequest, uid: str, action: str) -> HttpResponse:
    """Handles one of the forms of the page, and shows the page again."""
    actor, grove = access.get_grove(request.user, uid, role="owner")
    if action == "invite":
        return _invite(request, actor)
    run = _ACTIONS.get(action)
    if run is None:
        raise CommandError("NOT_FOUND", "This form does not exist.", hint="Reload the page.")
    try:
        messages.success(request, run(request, actor))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/groves/{grove.uid}/people")


def _invite(request: PersonRequest, actor: Actor) -> HttpResponse:
    """The page with a new invitation's link, shown only this once."""

    def page(invited: tuple[Invitation, str]) -> HttpResponse:
        invitation, secret = invited
        link = request.build_absolute_uri(f"/invitations/{secret}")
        context = {**_context(request, actor), "fresh_role": invitation.role, "fresh_link": link}
        return render(request, "pages/people.html", context)

    return shown_once(
        request,
        lambda: groves.make_invitation(actor, **InvitationForm.read(request)),
        page,
        back=f"/groves/{actor.grove.uid}/people",
    )


# A grove's money: spending by member and model. The limit is one of the grove's settings.


SPANS = {
    "day": (0, gettext_noop("Today")),
    "week": (6, gettext_noop("7 days")),
    "month": (29, gettext_noop("30 days")),
}


OTHER_PURPOSES = {
    "search": gettext_noop("Searches of the web"),
    "vectors": gettext_noop("Vectors of texts"),
}


@never_cache
@require_GET
@person
def money_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The spending of today, or with `?span=week` or `?span=month` of that period."""
    actor, _ = access.get_grove(request.user, uid)
    span = request.GET.get("span", "day")
    back, _ = SPANS.get(span, SPANS["day"])
    first, last = _days(back)
    spent = usage.of_grove(actor, first, last)
    cast = cast_of(actor)
    context: dict[str, object] = {
        **frame(request, actor, "money"),
        "span": span if span in SPANS else "day",
        "spans": [(name, gettext(words)) for name, (_, words) in SPANS.items()],
        "limit": _shown(spent["limit_usd"]) if spent["limit_usd"] else "",
        "by_operator": is_by_operator(actor.grove),
        "total": _row(spent["total"]),
        "shares": [
            {
                **_row(share),
                "who": cast[share["person"]],
                "model": cast.get(share["participant"]),
                "what": _purpose_shown(share["purpose"]),
            }
            for share in spent["shares"]
        ],
        "people": [
            {**_left(member), "who": cast[member["participant"]]} for member in spent["people"]
        ],
        "trees": [{**_row(tree), "uid": tree["tree"]} for tree in spent["trees"][:20]],
        "days": [_row(day) for day in sorted(spent["days"], key=_day, reverse=True)],
        "bars": _bars(actor, spent, cast),
        "prices": _priced(actor, cast),
    }
    return render(request, "pages/money.html", context)


@dataclass(frozen=True)
class BarPart:
    """One part of a bar: where it begins and how wide it is, in hundredths."""

    name: str
    money: str
    colour: int
    start: float
    width: float


@dataclass(frozen=True)
class MoneyBar:
    """One bar of the money page: what it is about, its sum in words, its parts."""

    name: str
    said: str
    parts: list[BarPart]


def _bars(actor: Actor, spent: dict[str, Any], cast: dict[str, Who]) -> list[MoneyBar]:
    """The reader's day against the limit, and the period by member and by model."""
    own = next((p for p in spent["people"] if p["participant"] == actor.person.uid), None)
    bars = []
    limit = spent["limit_usd"]
    if own is not None and not limit and own["today"]["spent_usd"]:
        spent_today = _shown(own["today"]["spent_usd"])
        bars.append(MoneyBar(gettext("Your day"), gettext("%s, no limit") % spent_today, []))
    if own is not None and limit:
        used = max(0.0, limit - (own["today"]["left_usd"] or 0))
        left = gettext("%(left)s of %(limit)s left")
        words = left % {"left": _shown(max(0.0, limit - used)), "limit": _shown(limit)}
        me = cast[own["participant"]]
        parts = _shares([(me.shown, me.colour, used)], limit)
        bars.append(MoneyBar(gettext("Your day"), words, parts))
    for name, key in ((gettext("By member"), "person"), (gettext("By model"), "participant")):
        sums: dict[str, float] = {}
        for share in spent["shares"]:
            named = share[key] or share["purpose"]
            sums[named] = sums.get(named, 0) + (share["usd"] or 0)
        listed = sorted(sums.items(), key=itemgetter(1), reverse=True)
        paid = [(*_shown_name(cast, named), usd) for named, usd in listed if usd]
        whole = sum(usd for _, _, usd in paid)
        if whole:
            bars.append(MoneyBar(name, _shown(whole), _shares(paid, whole)))
    return bars


def _purpose_shown(purpose: str) -> str:
    words = OTHER_PURPOSES.get(purpose)
    return gettext(words) if words else ""


def _shown_name(cast: dict[str, Who], named: str) -> tuple[str, int]:
    """The name and the colour of somebody, or of what has no model."""
    if named in OTHER_PURPOSES:
        return _purpose_shown(named), 0
    return cast[named].shown, cast[named].colour


def _priced(actor: Actor, cast: dict[str, Who]) -> list[dict[str, Any]]:
    """The models of the grove with what a million of their tokens cost; empty: not known. One
    query."""
    models = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    rows = []
    for model in models.order_by("name"):
        prices = prices_of(model)
        row = {"who": cast[model.uid], "input": "", "output": ""}
        if prices is not None:
            row |= {"input": _a_million(prices.input), "output": _a_million(prices.output)}
        rows.append(row)
    return rows


def _a_million(usd: float) -> str:
    return _shown(usd) if usd else gettext("free")


def _shares(given: list[tuple[str, int, float]], whole: float) -> list[BarPart]:
    parts: list[BarPart] = []
    start = 0.0
    for name, colour, usd in given:
        width = min(100 - start, 100 * usd / whole)
        parts.append(BarPart(name, _shown(usd), colour, round(start, 2), round(width, 2)))
        start += width
    return parts


def _days(back: int) -> tuple[date, date]:
    return today() - timedelta(days=back), today()


def _day(row: dict[str, Any]) -> str:
    return str(row["day"])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Sums with the money formatted; a dash where no price was known."""
    counts = {name: f"{value:,}" for name, value in row.items() if isinstance(value, int)}
    return {**row, **counts, "money": "–" if row["usd"] is None else _shown(row["usd"])}


def _left(row: dict[str, Any]) -> dict[str, Any]:
    left = row["today"]["left_usd"]
    return {
        "spent": _shown(row["usd"]),
        "reserved": _shown(row["today"]["reserved_usd"]),
        "left": gettext("no limit") if left is None else _shown(left),
    }


def _shown(usd: float) -> str:
    return dollars(round(usd * NANO))
