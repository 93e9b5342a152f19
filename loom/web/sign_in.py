"""Signing in and out: password, one-time link, invitation; and counting wrong passwords."""

import logging
from ipaddress import IPv6Address, ip_address, ip_network

from django.contrib.auth import authenticate
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from loom import access
from loom.commands import groves, participants, people
from loom.commands.participants import Changes
from loom.models import Tree, User
from loom.rules.errors import CommandError, not_found
from loom.rules.identity import digest
from loom.web.requests import anybody, text_of, word_of

log = logging.getLogger("heddle.web")

MOST = 10  # for one name from one address
MOST_FROM = 50  # for one address, whatever names it tries
MOST_FOR = 100  # for one name from everywhere: from then on each address has FEW attempts
FEW = 3
MINUTES = 15


class Attempt:
    """One attempt to sign in. It is counted before the password is checked."""

    def __init__(self, request: HttpRequest, name: str) -> None:
        address, who = _network(request), digest(name.casefold())
        self._keys = (
            f"wrong:both:{who}:{digest(address)}",
            f"wrong:from:{digest(address)}",
            f"wrong:name:{who}",
        )
        try:
            is_allowed = self._counts()
        except Exception:  # otherwise nobody could sign in without the broker
            log.warning("cannot count attempts", exc_info=True)
            return
        if not is_allowed:
            raise CommandError(
                "LIMIT_EXCEEDED",
                "Too many failed attempts.",
                hint=f"Wait {MINUTES} minutes, or ask for a one-time link.",
            )

    def _counts(self) -> bool:
        """Counts the attempt and returns whether it is within the limits. One that is not is not
        counted further, so that one address cannot use up everybody's attempts."""
        both, from_here, for_name = self._keys
        here = _counted(both)
        if here > MOST or _counted(from_here) > MOST_FROM:
            return False
        return here <= (MOST if _counted(for_name) <= MOST_FOR else FEW)

    def succeeded(self) -> None:
        """Undoes the count: the password was right."""
        both, *rest = self._keys
        try:
            cache.delete(both)
            for key in rest:
                cache.decr(key)
        except Exception:  # the count has expired in the meantime, or the broker is down
            log.info("an attempt could not be taken back")


def _counted(key: str) -> int:
    """The count including this attempt; it expires MINUTES after the first one."""
    cache.add(key, 0, MINUTES * 60)
    return cache.incr(key)


def _network(request: HttpRequest) -> str:
    """The address, or for IPv6 the /64 network of one customer."""
    given = request.META.get("REMOTE_ADDR", "")
    try:
        address = ip_address(given)
    except ValueError:
        return str(given)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)


# Signing in and out: password, one-time link, invitation.


def _next(request: HttpRequest) -> str:
    """The address to continue to, if it is an address of this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    safe = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()})
    return wanted if safe else "/"


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@anybody
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form for name and password; a correct one redirects to where the sender wanted to go."""
    context: dict[str, object] = {"next": _next(request)}
    status = 200
    if request.method == "POST":
        try:
            people.sign_in(request, _known(request))
            return HttpResponseRedirect(_next(request))
        except CommandError as refused:
            context |= {"refused": refused, "name": word_of(request, "username")}
            status = 429 if refused.code == "LIMIT_EXCEEDED" else 400
    elif request.user.is_authenticated:
        return HttpResponseRedirect(_next(request))
    return render(request, "pages/signin.html", context, status=status)


def _known(request: HttpRequest) -> User:
    """The user whose name and password the form contains."""
    name = word_of(request, "username")
    attempt = Attempt(request, name)
    user = authenticate(request, username=name, password=text_of(request, "password"))
    if not isinstance(user, User):
        raise CommandError(
            "UNAUTHENTICATED",
            "The name or password is wrong.",
            hint="Try again, or ask for a one-time link.",
        )
    attempt.succeeded()
    return user


@never_cache
@require_http_methods(["GET", "POST"])
@anybody
def by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """A one-time link: its button signs the user in and uses it up. Who has no name yet is asked
    for one."""
    link = people.find_signin_link(secret)
    if link is None:
        raise not_found("This sign-in link", "Ask for another one; each works once, for a day.")
    context: dict[str, object] = {"name": str(link.user), "is_new": not link.user.display_name}
    if request.method == "POST":
        try:
            if context["is_new"] and (name := word_of(request, "display_name")):
                _name(link.user, name)
            people.sign_in(request, people.redeem_signin(secret))
            return HttpResponseRedirect("/")
        except CommandError as refused:
            context |= {"refused": refused, "given": word_of(request, "display_name")}
    status = 400 if "refused" in context else 200
    return render(request, "pages/signin_link.html", context, status=status)


def _name(user: User, name: str) -> None:
    """Calls a user by a name, also in the groves that are theirs."""
    people.show_as(user, name=name)
    for membership in user.memberships.filter(role="owner").select_related("grove"):
        actor = access.get_actor(user, membership.grove)
        participants.change_participant(actor, actor.person, Changes(fields={"name": name}))


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@anybody
def by_invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """An invitation: a new person chooses a name and password; a signed-in person just joins."""
    found = groves.find_invitation(secret)
    if found is None:
        raise not_found("This invitation", "It was used, revoked or is over; ask for a new one.")
    trees = Tree.objects.filter(grove=found.grove, erasing_at__isnull=True)
    tree = trees.filter(uid=word_of(request, "tree") or request.GET.get("tree", "")).first()
    context: dict[str, object] = {
        "grove": found.grove.name,
        "role": found.role,
        "by": found.made_by.name,
        "tree": tree,
    }
    if request.method == "POST":
        try:
            _accept(request, secret)
            home = f"/trees/{tree.uid}" if tree else f"/groves/{found.grove.uid}"
            return HttpResponseRedirect(home)
        except CommandError as refused:
            context |= {"refused": refused, "name": word_of(request, "username")}
    status = 400 if "refused" in context else 200
    return render(request, "pages/invitation.html", context, status=status)


def _accept(request: HttpRequest, secret: str) -> None:
    if isinstance(request.user, User):
        groves.accept(secret, user=request.user)
        return
    password = text_of(request, "password")
    if not password:
        raise CommandError("INVALID_SYNTAX", "Enter a password.", hint="Choose one.")
    member = groves.accept(secret, username=word_of(request, "username"), password=password)
    people.sign_in(request, member.user)


@require_POST
@anybody
def sign_out(request: HttpRequest) -> HttpResponse:
    """Signs this browser out."""
    people.sign_out(request)
    return HttpResponseRedirect("/signin")
