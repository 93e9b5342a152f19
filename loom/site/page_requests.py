"""Access checks of views, form fields as text, the position and part of the path that a page
shows, and error pages."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.contrib import messages
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    JsonResponse,
)
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.debug import sensitive_variables

from loom import access
from loom.access import Actor, Visit, visible_groves
from loom.errors import CommandError, not_found
from loom.language.ids import looks_like_id
from loom.people.grove_settings import SETTINGS
from loom.people.models import User
from loom.people.preferences import language_of
from loom.permissions import GENERATE, WRITE
from loom.reading.queries.path_page import MOST_STEPS, NEAREST, Way, first_text
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup, places
from loom.trees.queries.around import Spot
from loom.trees.queries.places import path_ids

Made = TypeVar("Made")


def text_of(request: HttpRequest, name: str) -> str:
    """The field's text, with the CRLF that a form sends turned back into LF."""
    value = request.POST.get(name, "").replace("\r\n", "\n")
    if "\0" in value:
        raise CommandError("INVALID_SYNTAX", f"{name}: U+0000 is not allowed.", hint="Remove it.")
    return value


def word_of(request: HttpRequest, name: str) -> str:
    """A one-line field, such as a name or a setting, stripped of surrounding whitespace."""
    return text_of(request, name).strip()


def number_of(request: HttpRequest, name: str) -> float | None:
    """A number, or None if the field is empty."""
    value = word_of(request, name)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CommandError(
            "INVALID_SYNTAX", f"{name}: {value[:40]!r} is not a number.", hint="Write digits."
        )
    return number


def whole_of(request: HttpRequest, name: str) -> int | None:
    """A whole number, or None if the field is empty."""
    number = number_of(request, name)
    if number is not None and number != int(number):
        raise CommandError(
            "INVALID_SYNTAX", f"{name}: {number} is not a whole number.", hint="Round it."
        )
    return None if number is None else int(number)


# How a form says what was refused: with the labels that it shows in place of the names of fields.


LABELS = {
    "authority": gettext_noop("Authority"),
    "caches_from": gettext_noop("Prompt cache from"),
    "context_limit": gettext_noop("Context (tokens)"),
    "daily_budget_usd": gettext_noop("Daily limit per member"),
    "days": gettext_noop("Expires after (days)"),
    "display_name": gettext_noop("Display name"),
    "limit": gettext_noop("Daily limit per member"),
    "max_tokens": gettext_noop("Max tokens"),
    "n": gettext_noop("Candidates"),
    "name": gettext_noop("Name"),
    "parallel": gettext_noop("Parallel requests"),
    "persona": gettext_noop("Persona"),
    "price": gettext_noop("Price of a search"),
    "price_cached": gettext_noop("Cached input tokens"),
    "price_input": gettext_noop("Input tokens"),
    "price_output": gettext_noop("Output tokens"),
    "price_written": gettext_noop("Tokens written to the cache"),
    "prices": gettext_noop("Prices"),
    "provider_tools": gettext_noop("Tools of the provider"),
    "result_threshold": gettext_noop("Results sent whole to agents"),
    "temperature": gettext_noop("Temperature"),
    "tokens": gettext_noop("Max tokens"),
    "uses": gettext_noop("Maximum uses"),
}
_FIELD = re.compile(r"([a-z][a-z_]*)(?=:| (?:must|is|has|cannot) )")


def label_of(name: str) -> str:
    """What forms show beside the field of this name; "" where none has it."""
    if name in LABELS:
        return gettext(LABELS[name])
    setting = SETTINGS.get(name)
    if setting is None:
        return ""
    return gettext(setting.says) + (f" ({gettext(setting.of)})" if setting.of else "")


def _labelled(words: str) -> str:
    match = _FIELD.match(words)
    label = label_of(match[1]) if match else ""
    return f"“{label}”{words[match.end() :]}" if match and label else words


# Lines, requests of the API, and arguments as they are typed: no page has a place to write them.
_TYPED = re.compile(r'→|…?/api/|\b(?:GET|POST|PATCH|PUT|DELETE) |^[a-z_]+[:=]|\{"')


def as_shown(refused: CommandError) -> CommandError:
    """The refusal as pages show it: with the labels of fields, without the names of permissions,
    and with a hint that is a sentence; none that is written in a line or sent to the API."""
    hint = "" if _TYPED.search(refused.hint) else _labelled(refused.hint)
    if hint[:1].islower():
        hint = hint[0].upper() + hint[1:]
        if hint[-1].isalnum() and not re.search(r"[→/{=]", hint):
            hint += "."
    return CommandError(
        refused.code,
        gettext("You may not do this here.") if refused.lacks else _labelled(refused.message),
        hint=hint,
        status=refused.status,
        retryable=refused.retryable,
    )


def in_one_line(refused: CommandError) -> str:
    """The refusal as one line, such as a message at the top of the next page."""
    shown = as_shown(refused)
    return f"{shown.message} {shown.hint}".strip()


# Access checks for views, and error pages.


P = ParamSpec("P")


@sensitive_variables("secret")
def shown_once(
    request: HttpRequest,
    make: Callable[[], Made],
    page: Callable[[Made], HttpResponse],
    *,
    back: str,
) -> HttpResponse:
    """The `page` with a secret that `make` has just made: it is neither stored nor part of a
    redirect. Where that was refused, the page at `back`, which says why."""
    try:
        secret = make()
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(back)
    return page(secret)


class PersonRequest(HttpRequest):
    """A request whose sender has signed in."""

    user: User


PersonView = Callable[Concatenate[PersonRequest, P], HttpResponse]
OpenView = Callable[Concatenate[HttpRequest, P], HttpResponse]


def person(view: PersonView[P]) -> OpenView[P]:
    """A view for signed-in people; errors become pages, or plain parts for requests by scripts
    (`X-Part`, htmx). A script that asks for JSON and is signed out is answered so in JSON."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            if is_part(request):
                return HttpResponse(gettext("Sign in again to continue."), status=401)
            if request.headers.get("Accept") == "application/json":
                words = gettext("Sign in again to continue.")
                return JsonResponse(
                    CommandError("UNAUTHENTICATED", words, hint="").body, status=401
                )
            return HttpResponseRedirect(_signin_address(request))
        activate_language(request)
        try:
            return view(request, *args, **kwargs)  # type: ignore[arg-type]
        except CommandError as refused:
            return refusal(request, refused)

    return gated


def _signin_address(request: HttpRequest) -> str:
    """The page for signing in, which then leads to the page that was asked for. A form that was
    sent leads to the page that it is on: its own address may show nothing."""
    if request.method in ("GET", "HEAD"):
        return f"/signin?next={quote(request.get_full_path())}"
    try:
        page = urlsplit(request.headers.get("Referer", ""))
    except ValueError:  # no address
        return "/signin?unsent=1&next=/"
    path = page.path if page.netloc == request.get_host() else ""
    query = f"?{page.query}" if path and page.query else ""
    return f"/signin?unsent=1&next={quote((path or '/') + query)}"


def frame(request: PersonRequest, actor: Actor, current: str) -> dict[str, object]:
    """The parts of every page of a grove around its own content."""
    return {
        "grove": actor.grove,
        "groves": list(visible_groves(request.user)),
        "current": current,
        "is_owner": actor.is_owner,
    }


def activate_language(request: HttpRequest) -> None:
    """Activates the language that the person chose, if it still has a catalogue. Django resets the
    language after the request."""
    chosen = language_of(request.user.preferences) if isinstance(request.user, User) else ""
    if chosen and chosen in dict(settings.LANGUAGES):
        translation.activate(chosen)
        request.LANGUAGE_CODE = chosen


def anybody(view: OpenView[P]) -> OpenView[P]:
    """A view for everybody; errors become pages."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except CommandError as refused:
            return refusal(request, refused)

    return gated


def is_part(request: HttpRequest) -> bool:
    """Whether a script requested a part of a page."""
    return "X-Part" in request.headers or "HX-Request" in request.headers


HEADINGS = {
    400: gettext_noop("The request could not be read"),
    401: gettext_noop("Please sign in"),
    403: gettext_noop("You don't have permission to do this"),
    404: gettext_noop("Page not found"),
    405: gettext_noop("There is no page at this address"),
    409: gettext_noop("This can't be done"),
    413: gettext_noop("This is too large"),
    429: gettext_noop("Too many requests"),
    503: gettext_noop("Not available at the moment"),
}


WITHOUT_NODE = "Open the tree without it."


def refusal(request: HttpRequest, refused: CommandError) -> HttpResponse:
    """The page that says what happened, why, and what to do."""
    names_node = "node" in request.GET and refused.hint == WITHOUT_NODE
    shown = as_shown(refused)
    context = {
        "heading": gettext(HEADINGS.get(refused.status, gettext_noop("That did not work"))),
        "message": shown.message,
        "hint": shown.hint,
        "code": refused.code,
        "without_node": request.path if names_node else "",
    }
    template = "parts/refusal.html" if is_part(request) else "pages/refusal.html"
    return render(request, template, context, status=refused.status)


# A reader's position in a tree, and the part of the path that a page shows.


@dataclass(frozen=True)
class PagePlace:
    """Somebody at a node of a tree."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    node: Node


def visit_of(request: PersonRequest, uid: str) -> tuple[Visit, Node | None]:
    """The actor at the tree, and the text node in `?node=`; None if it is left out. Two queries if
    it names an annotation, else one. NOT_FOUND for an unknown node."""
    named = request.GET.get("node", "").lower()
    visit = access.get_visit(request.user, uid, named if looks_like_id(named) else "")
    if not named:
        return visit, None
    if visit.named is not None and visit.named.kind == "text":
        return visit, visit.named
    return visit, node_named(visit.tree, named)


def place_at(request: PersonRequest, uid: str) -> PagePlace:
    """The position of the reader of a tree: `?node=`, else that of their workspace."""
    visit, named = visit_of(request, uid)
    if named is not None:
        return PagePlace(visit.actor, visit.tree, visit.workspace, named)
    return place_of(visit.actor, visit.tree, visit.workspace, "")


def place_of(actor: Actor, tree: Tree, workspace: Workspace, named: str) -> PagePlace:
    """The place at the node `named` (a local id), else at the position of the workspace."""
    if named:
        return PagePlace(actor, tree, workspace, node_named(tree, named))
    position = lookup.by_id(workspace.position_id)
    if position.tree_id != tree.pk:
        position = lookup.root_of(tree)
    visible = lookup.visible_at_or_above(position, workspace)
    if workspace.revision == 0 and visible.parent_slot_id is None:
        visible = places.first_fork(visible, most=MOST_STEPS)
        visible = visible if visible.text else first_text(tree) or visible
    return PagePlace(
        actor, tree, workspace, lookup.selected_version(visible.slot_id, workspace) or visible
    )


def abilities(actor: Actor, tree: Tree) -> dict[str, bool]:
    """What the actor may do in the tree, for the parts of its page that offer it."""
    alive = tree.archived_at is None
    return {
        "write": alive and WRITE in actor.permissions,
        "comment": alive and actor.annotates,
        "continue": alive and GENERATE in actor.permissions,
        "archive": WRITE in actor.permissions,
        "erase": actor.is_owner,
        "share": actor.is_owner,
    }


def node_named(tree: Tree, local_id: str) -> Node:
    """The text node with that id, or the one that an annotation with that id is about. Otherwise
    NOT_FOUND."""
    node = known_node(tree, local_id)
    for _ in range(8):  # a reply is below a note: a few steps lead to the text
        if node is None:
            raise not_found(f"[{local_id}]", WITHOUT_NODE)
        if node.kind == "text" or node.parent_slot is None:
            return node
        node = places.newest_version(node.parent_slot)
        node = lookup.rows().get(pk=node.pk)
    raise not_found(f"[{local_id}]", WITHOUT_NODE)


def known_node(tree: Tree, local_id: str) -> Node | None:
    """The node with that id, or the root; None if there is none or the id is not valid."""
    return lookup.find_named(tree, local_id)


@dataclass(frozen=True)
class Stretch:
    """Consecutive nodes of a path, without the root; `above` is the version (a row id) selected
    above the first of them, and `has_above` says whether that is not the root's."""

    spots: list[Spot]
    above: int
    has_above: bool


def stretch_of(way: Way, tree: Tree, *, after: str, limit: int) -> Stretch:
    """At most the last `limit` nodes of a path, never the root, and only those below `after`.
    CONFLICT if `after` is not on this path: the page then requests all of it.
    """
    first = 1 if way.has_root else 0
    floor = first
    if after:
        slots = [spot.slot_id for spot in way.path]
        floor = slots.index(_slot_of(tree, after, slots)) + 1
        if len(slots) - floor > limit:
            raise _not_joined(after)
    return _stretch(way.path, first, max(floor, len(way.path) - limit), len(way.path))


def stretch_above(place: PagePlace, *, before: str, limit: int) -> Stretch:
    """At most `limit` nodes of the path to the place, directly above `before`. Two queries."""
    upper = known_node(place.tree, before)
    most = max(limit + 1, NEAREST)  # one more, to know whether there is anything above
    most += max(0, place.node.depth - upper.depth + 1) if upper else 0
    path = path_ids(place.actor, place.tree, place.workspace, place.node, most=most)
    slots = [slot for slot, _ in path]
    first = 1 if len(path) > place.node.depth else 0  # without the root
    end = slots.index(_slot_of(place.tree, before, slots))
    return _stretch([Spot(node, slot) for slot, node in path], first, max(first, end - limit), end)


def _stretch(path: Sequence[Spot], first: int, start: int, end: int) -> Stretch:
    return Stretch(
        spots=list(path[start:end]),
        above=path[start - 1].id if start else 0,
        has_above=start > first or not first,
    )


def _slot_of(tree: Tree, local_id: str, slots: list[int]) -> int:
    node = known_node(tree, local_id)
    if node is None or node.slot_id not in slots:
        raise _not_joined(local_id)
    return int(node.slot_id)


def _not_joined(local_id: str) -> CommandError:
    return CommandError(
        "CONFLICT",
        f"[{local_id}] is not on this path, or too far up.",
        hint="Ask for the path without it.",
    )


# Pages for errors outside a view: unknown addresses, bad requests, internal errors.


def _error_page(request: HttpRequest, refused: CommandError) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse(refused.body, status=refused.status)
    return refusal(request, refused)


def bad_request(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """400: a body or header that Django itself rejected."""
    return _error_page(
        request,
        CommandError(
            "INVALID_SYNTAX", "The request could not be read.", hint="Go back and try again."
        ),
    )


def permission_denied(
    request: HttpRequest, exception: Any = None, reason: str = ""
) -> HttpResponse:
    """403: usually a form that was opened before signing in or out."""
    return _error_page(
        request,
        CommandError(
            "PERMISSION_DENIED",
            "This form was opened before you signed in or out, or was sent from another site.",
            hint="Reload the page and send it again.",
        ),
    )


def page_not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """404."""
    return _error_page(
        request,
        CommandError(
            "NOT_FOUND", "There is no page at this address.", hint="Go back to your trees."
        ),
    )


class FormAddresses:
    """Middleware: who opens an address that takes only forms is shown a page that says so."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The response; a page in place of an empty 405."""
        answer = self._get_response(request)
        is_opened = request.method == "GET" and "text/html" in request.headers.get("Accept", "")
        if not (isinstance(answer, HttpResponseNotAllowed) and is_opened) or answer.content:
            return answer
        activate_language(request)
        refused = CommandError(
            "NOT_FOUND",
            gettext("Only forms are sent to this address."),
            hint=gettext("Go back to your trees."),
            status=405,
        )
        page = refusal(request, refused)
        page["Allow"] = answer["Allow"]
        return page


def server_error(request: HttpRequest) -> HttpResponse:
    """500: uses nothing that may be broken itself."""
    refused = CommandError(
        "UNAVAILABLE",
        "Something went wrong; nothing was changed.",
        hint="Try again. If the problem persists, contact the operator of this Heddle.",
        status=500,
    )
    return _error_page(request, refused)
