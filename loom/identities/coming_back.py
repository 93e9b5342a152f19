"""What the pages of each protocol do: sign in who comes back from an organisation, or link their
account; ask for a link, and remove it."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from loom.errors import CommandError, not_found
from loom.identities import commands
from loom.identities.issuers import Account, AsksFor, Issuer
from loom.people.commands import accounts as people
from loom.people.models import User
from loom.site.page_requests import PersonRequest, as_shown, in_one_line, person

ACCESS = "/settings/access"
LINKS = "links_account"  # in the session: who has pressed the button, and for which organisation


def demand(asked: AsksFor) -> Issuer:
    """The organisation that is asked for. NOT_FOUND where there is none."""
    identity = asked()
    if identity is None:
        raise not_found("Signing in at an organisation", "The operator has not set it up.")
    return identity


def let_in(
    request: HttpRequest,
    issuer: Issuer,
    account: Callable[[], Account],
    *,
    wanted: str,
    then: Callable[[], None] = lambda: None,
) -> HttpResponse:
    """Signs in whose account it is, does what follows `then`, and goes to what they wanted; or
    links it to the person who has asked for that in this browser. Says why nobody was let in."""
    links = request.session.pop(LINKS, None)
    try:
        given = account()
        # Only for the person who pressed the button, in this browser.
        if isinstance(request.user, User) and links == [request.user.pk, issuer.path]:
            commands.link(issuer, request.user, given)
            messages.success(request, gettext("You can sign in with this account from now on."))
            return HttpResponseRedirect(ACCESS)
        people.sign_in(request, commands.user_of(issuer, given))
        then()
    except CommandError as refused:
        if request.user.is_authenticated:
            messages.error(request, in_one_line(refused))
            return HttpResponseRedirect(ACCESS)
        context = {"next": wanted, "refused": as_shown(refused)}
        return render(request, "pages/signin.html", context, status=400)
    return HttpResponseRedirect(wanted)


def link_paths(asked: AsksFor, under: str) -> list[URLPattern]:
    """The addresses below `under` that link an account at an organisation and remove the link."""

    @never_cache
    @require_POST
    @person
    def link(request: PersonRequest) -> HttpResponse:
        """Asks to link the account at the organisation. The page leads there by a link, as browsers
        follow no form to another site (our security policy)."""
        issuer = demand(asked)
        request.session[LINKS] = [request.user.pk, issuer.path]
        context = {"user": request.user, "issuer": issuer}
        return render(request, "identities/link.html", context)

    @never_cache
    @require_POST
    @person
    def unlink(request: PersonRequest) -> HttpResponse:
        """Removes the link."""
        issuer = demand(asked)
        try:
            commands.unlink(issuer, request.user)
            messages.success(request, gettext("The link has been removed."))
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(ACCESS)

    return [path(f"{under}/link", link), path(f"{under}/unlink", unlink)]
