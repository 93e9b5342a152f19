"""The pages of an operator. Nobody else sees them: 404."""

from collections.abc import Callable
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from loom.errors import CommandError, not_found
from loom.operations import commands, measuring, queries, tasks, trim
from loom.operations.access import operator
from loom.people.models import User
from loom.site.forms import Number, PageForm, Whole, Word
from loom.site.page_requests import PersonRequest, in_one_line, shown_once

HOME = "/operator"
MOST_WORDS = 100
MOST_TABLES = 12
MOST_PAGE = 1_000_000


def _number(request: PersonRequest, name: str = "page") -> int:
    given = request.GET.get(name, "")
    return min(int(given), MOST_PAGE) if given.isdecimal() and given.isascii() else 1


def _words(request: PersonRequest) -> str:
    return request.GET.get("q", "").replace("\0", "").strip()[:MOST_WORDS]


@never_cache
@require_GET
@operator
def overview(request: PersonRequest) -> HttpResponse:
    """How much there is, how large it is, and what it costs."""
    total, by_grove = queries.costs()
    measure = measuring.newest()
    context = {
        "current": "overview",
        "totals": queries.totals(),
        "measure": measure,
        "tables": measure.tables[:MOST_TABLES] if measure else [],
        "total": f"{total:.2f}",
        "costs": [(grove, f"{usd:.2f}") for grove, usd in by_grove],
        "days": queries.DAYS,
    }
    return render(request, "operations/overview.html", context)


@never_cache
@require_GET
@operator
def people(request: PersonRequest) -> HttpResponse:
    """The accounts, or those whose names contain `?q=`."""
    return _people(request)


def _people(request: PersonRequest, **more: object) -> HttpResponse:
    words = _words(request)
    page = queries.people(words, _number(request))
    context = {"current": "people", "page": page, "words": words, **more}
    return render(request, "operations/people.html", context)


@never_cache
@require_GET
@operator
def groves(request: PersonRequest) -> HttpResponse:
    """The groves, with their costs and limits."""
    context = {"current": "groves", "page": queries.groves(_number(request))}
    return render(request, "operations/groves.html", context)


@never_cache
@require_GET
@operator
def work(request: PersonRequest) -> HttpResponse:
    """What runs and waits, and what was put aside."""
    lists = {
        "generations": queries.generations(_number(request, "generations")),
        "turns": queries.turns(_number(request, "turns")),
    }
    context = {
        "current": "work",
        "aside": queries.set_aside(_number(request)),
        "lists": [(name, page) for name, page in lists.items() if page.rows or page.before],
        "others": queries.other_jobs(),
    }
    return render(request, "operations/work.html", context)


@never_cache
@require_GET
@operator
def storage(request: PersonRequest) -> HttpResponse:
    """For how long old rows are kept, and what trimming would free."""
    measure = measuring.newest()
    old = measure.old if measure else {}
    rules = [
        {
            "rule": state.rule,
            "says": gettext(state.rule.says),
            "days": state.days or "",
            "rows": old.get(state.rule.name, (0, 0))[0],
            "bytes": old.get(state.rule.name, (0, 0))[1],
        }
        for state in trim.states()
    ]
    context = {
        "current": "storage",
        "rules": rules,
        "measure": measure,
        "example": trim.EXAMPLE_DAYS,
        "most": trim.MOST_DAYS,
    }
    return render(request, "operations/storage.html", context)


class ChosenAccount(PageForm):
    """An account, by the name it signs in with."""

    user = Word()


class LostForm(PageForm):
    """An account, and what its owner has lost."""

    user = Word()
    what = Word()


class CeilingForm(PageForm):
    """A grove, and the most that each of its members may spend in a day."""

    grove = Word()
    limit = Number(empty=0)


class KeepForm(PageForm):
    """A rule of trimming, and for how many days its rows are kept."""

    rule = Word()
    days = Whole(empty=0)


class WorkForm(PageForm):
    """Work that was put aside."""

    kind = Word()
    unit = Word()


def _close(request: PersonRequest) -> str:
    name = commands.close_account(request.user, ChosenAccount.read(request)["user"])
    return gettext("The account of %(name)s is closed.") % {"name": name}


def _open(request: PersonRequest) -> str:
    name = commands.open_account(request.user, ChosenAccount.read(request)["user"])
    return gettext("The account of %(name)s is open.") % {"name": name}


def _sign_out(request: PersonRequest) -> str:
    name = commands.end_sessions(request.user, ChosenAccount.read(request)["user"])
    return gettext("%(name)s has been signed out everywhere.") % {"name": name}


def _reset(request: PersonRequest) -> str:
    given = LostForm.read(request)
    user, way = commands.reset(request.user, given["user"], what=given["what"])
    return gettext(way.done) % {"name": user}


def _ceiling(request: PersonRequest) -> str:
    given = CeilingForm.read(request)
    grove = commands.set_ceiling(request.user, given["grove"], given["limit"])
    return gettext("The limit of %(name)s has been saved.") % {"name": grove.name}


def _again(request: PersonRequest) -> str:
    given = WorkForm.read(request)
    commands.take_up_again(request.user, given["kind"], given["unit"])
    return gettext("It is tried again within half a minute.")


def _drop(request: PersonRequest) -> str:
    given = WorkForm.read(request)
    commands.drop(request.user, given["kind"], given["unit"])
    return gettext("It stays as it is, and is not shown any more.")


def _keep(request: PersonRequest) -> str:
    given = KeepForm.read(request)
    commands.keep_for(request.user, given["rule"], given["days"])
    tasks.ask()
    return gettext("Saved. What it would free is being counted.")


def _measure(request: PersonRequest) -> str:
    tasks.ask()
    return gettext("It is being measured. Reload the page in a moment.")


_ACTIONS: dict[str, tuple[Callable[[PersonRequest], str], str]] = {
    "close": (_close, "/operator/people"),
    "open": (_open, "/operator/people"),
    "sign-out": (_sign_out, "/operator/people"),
    "reset": (_reset, "/operator/people"),
    "limit": (_ceiling, "/operator/groves"),
    "again": (_again, "/operator/work"),
    "drop": (_drop, "/operator/work"),
    "keep": (_keep, "/operator/storage"),
    "measure": (_measure, HOME),
}


@never_cache
@require_POST
@operator
def change(request: PersonRequest, action: str) -> HttpResponse:
    """Handles one of the forms, and shows its page again."""
    if action == "link":
        return _link(request)
    if action not in _ACTIONS:
        raise not_found("This form")
    run, page = _ACTIONS[action]
    try:
        messages.success(request, run(request))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(page + _place(request))


# What says which part of a page is shown: its forms send it along.
_PLACES = ("q", "page", "generations", "turns")


def _place(request: PersonRequest) -> str:
    """The query of the page on which the form was: its search and page number."""
    given = {name: request.GET[name] for name in _PLACES if request.GET.get(name)}
    return f"?{urlencode(given)}" if given else ""


def _link(request: PersonRequest) -> HttpResponse:
    """The people with a link that signs one of them in, shown only this once."""

    def page(fresh: tuple[User, str]) -> HttpResponse:
        user, secret = fresh
        link = request.build_absolute_uri(f"/signin/{secret}")
        return _people(request, fresh_name=str(user), fresh_link=link)

    return shown_once(
        request,
        lambda: commands.signin_secret(request.user, ChosenAccount.read(request)["user"]),
        page,
        back="/operator/people" + _place(request),
    )


PATHS = [
    path("operator", overview),
    path("operator/people", people),
    path("operator/groves", groves),
    path("operator/work", work),
    path("operator/storage", storage),
    path("operator/do/<slug:action>", change),
]
