"""Signing in and out (password, one-time link, invitation), and a person's own settings: name,
preferences, keys and browsers."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings as conf
from django.contrib import messages
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from loom import access
from loom.access import visible_groves
from loom.errors import CommandError, not_found
from loom.people import mail, shortcuts
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import User
from loom.people.preferences import CHOICES
from loom.people.queries import browsers_of
from loom.site import display
from loom.site.forms import Days, Number, PageForm, Text, Word
from loom.site.page_requests import (
    PersonRequest,
    anybody,
    as_shown,
    in_one_line,
    person,
    shown_once,
)


class NextForm(PageForm):
    """The address to continue to."""

    next = Text()


def next_address(request: HttpRequest) -> str:
    """The address to continue to, if it is an address of this site; else the first page."""
    wanted = NextForm.of(request).typed("next")["next"] or request.GET.get("next") or "/"
    safe = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()})
    return wanted if safe else "/"


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@anybody
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form for name and password; a correct one redirects to where the sender wanted to go."""
    context: dict[str, object] = {"next": next_address(request)}
    status = 200
    if request.method == "POST":
        try:
            address = people.go_on(request, _known(request), wanted=next_address(request))
            return HttpResponseRedirect(address)
        except CommandError as refused:
            typed = PasswordForm.of(request).typed("username")
            context |= {"refused": as_shown(refused), "name": typed["username"]}
            status = 429 if refused.code == "LIMIT_EXCEEDED" else 400
    elif request.user.is_authenticated:
        return HttpResponseRedirect(next_address(request))
    return render(request, "pages/signin.html", context, status=status)


class PasswordForm(PageForm):
    """Name and password, of somebody who signs in or is new."""

    username = Word()
    password = Text()


def _known(request: HttpRequest) -> User:
    """The user whose name and password the form contains."""
    given = PasswordForm.read(request)
    attempt = people.PasswordAttempt(request, given["username"])
    user = authenticate(request, **given)
    if not isinstance(user, User):
        raise CommandError(
            "UNAUTHENTICATED",
            "The name or password is wrong.",
            hint="Try again, or ask for a one-time link.",
        )
    attempt.succeeded()
    return user


class NameForm(PageForm):
    """The name of a new person."""

    display_name = Word()


@never_cache
@require_http_methods(["GET", "POST"])
@anybody
def by_link(request: HttpRequest, secret: str) -> HttpResponse:
    """A one-time link: its button signs the user in and uses up the link. A user without a name is
    asked for one."""
    link = people.find_signin_link(secret)
    if link is None:
        raise not_found("This sign-in link", "Ask for another one; each works once, for a day.")
    context: dict[str, object] = {"name": str(link.user), "is_new": not link.user.display_name}
    if request.method == "POST":
        try:
            name = NameForm.read(request)["display_name"]
            if context["is_new"] and name:
                groves.show_as(link.user, name=name)
            address = people.go_on(request, people.redeem_signin(secret), wanted="/")
            return HttpResponseRedirect(address)
        except CommandError as refused:
            typed = NameForm.of(request).typed("display_name")
            context |= {"refused": as_shown(refused), "given": typed["display_name"]}
    status = 400 if "refused" in context else 200
    return render(request, "pages/signin_link.html", context, status=status)


class InvitedForm(PageForm):
    """The tree that the invitation leads to."""

    tree = Word()


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
@anybody
def by_invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """An invitation: a new person chooses a name and password; a signed-in person only confirms."""
    invitation = groves.find_invitation(secret)
    if invitation is None:
        raise not_found("This invitation", "It was used, revoked or is over; ask for a new one.")
    named = InvitedForm.read(request)["tree"] or request.GET.get("tree", "")
    tree = access.find_invited_tree(invitation.grove, named, invitation.role)  # type: ignore[arg-type]
    context: dict[str, object] = {
        "grove": invitation.grove.name,
        "role": invitation.role,
        "by": invitation.made_by.name,
        "tree": tree,
    }
    if request.method == "POST":
        try:
            _accept(request, secret)
            home = f"/trees/{tree.uid}" if tree else f"/groves/{invitation.grove.uid}"
            return HttpResponseRedirect(home)
        except CommandError as refused:
            typed = PasswordForm.of(request).typed("username")
            context |= {"refused": as_shown(refused), "name": typed["username"]}
    status = 400 if "refused" in context else 200
    return render(request, "pages/invitation.html", context, status=status)


def _accept(request: HttpRequest, secret: str) -> None:
    if isinstance(request.user, User):
        groves.accept(secret, user=request.user)
        return
    given = PasswordForm.read(request)
    if not given["password"]:
        raise CommandError("INVALID_SYNTAX", "Enter a password.", hint="Choose one.")
    member = groves.accept(secret, **given)
    people.sign_in(request, member.user)


@require_POST
@anybody
def sign_out(request: HttpRequest) -> HttpResponse:
    """Signs this browser out."""
    return HttpResponseRedirect(people.sign_out(request))


LOOK = ("prose", "size", "width", "leading", "align", "nodes")
LABELS = {
    "serif": gettext_noop("Serif"),
    "sans": gettext_noop("Sans serif"),
    "mono": gettext_noop("Monospaced"),
    "tight": gettext_noop("Tight"),
    "loose": gettext_noop("Loose"),
    "start": gettext_noop("Ragged"),
    "justified": gettext_noop("Justified"),
    "plain text": gettext_noop("Plain text"),
    "markdown": gettext_noop("Markdown"),
    "small": gettext_noop("Small"),
    "medium": gettext_noop("Medium"),
    "large": gettext_noop("Large"),
    "larger": gettext_noop("Larger"),
    "narrow": gettext_noop("Narrow"),
    "wide": gettext_noop("Wide"),
    "full": gettext_noop("With id, age and marks"),
    "quiet": gettext_noop("Id and age on hover"),
    "plain": gettext_noop("Text only"),
    "ask": gettext_noop("My last choice"),
    "version": gettext_noop("A version: what follows stays"),
    "fork": gettext_noop("A fork: a new branch beside it"),
}


def choices() -> dict[str, list[tuple[str, str]]]:
    """The values of each preference with their labels, in order."""
    return {
        name: [(value, gettext(LABELS[_label(name, value)])) for value in values]
        for name, values in CHOICES.items()
    }


def _label(name: str, value: str) -> str:
    """The label of a value; "plain" has a different meaning for pasting than for nodes."""
    return "plain text" if (name, value) == ("paste", "plain") else value


class LookForm(PageForm):
    """Fonts, sizes and nodes; what is left empty stays."""


LookForm.base_fields |= {name: Word() for name in LOOK}


def look(request: PersonRequest) -> str:
    """Fonts, sizes and nodes."""
    given = LookForm.read(request)
    people.prefer(request.user, {name: value for name, value in given.items() if value})
    return gettext("Saved.")


class WritingForm(PageForm):
    """How edits are saved, the temperature, pasting, Markdown, and the details of errors; `verbose`
    and `styled` are 1 or 0."""

    edits = Word()
    temperature = Number()
    verbose = Word()
    styled = Word()
    paste = Word(empty="plain")


def writing(request: PersonRequest) -> str:
    """How edits are saved, the temperature, pasting, Markdown, and the details of errors."""
    given = WritingForm.read(request)
    people.prefer(
        request.user, given | {field: given[field] == "1" for field in ("verbose", "styled")}
    )
    return gettext("Saved.")


class KeysForm(PageForm):
    """The key of each action by its id; or `reset`."""

    reset = Word()


KeysForm.base_fields |= {action.id: Word() for action in shortcuts.ACTIONS}


def rebind(request: PersonRequest) -> str:
    """Changes keyboard shortcuts; `reset` restores the defaults."""
    given = KeysForm.read(request)
    if given.pop("reset"):
        people.prefer(request.user, {"keys": {}})
        return gettext("All keys are reset.")
    people.prefer(request.user, {"keys": given})
    return gettext("The keys have been saved.")


# A person's own settings: name, preferences, keys and browsers.


THEMES = {
    "system": gettext_noop("System"),
    "light": gettext_noop("Light"),
    "dark": gettext_noop("Dark"),
}

SCOPES = {
    "write": gettext_noop("read and write"),
    "read": gettext_noop("read-only"),
    "owner": gettext_noop("everything that you may do"),
}
KEY_DAYS = (30, 90, 365)


def _you(request: PersonRequest) -> dict[str, object]:
    return {
        "themes": [(value, gettext(words)) for value, words in THEMES.items()],
        "languages": conf.LANGUAGES,
        "has_password": request.user.has_usable_password(),
        "groves": visible_groves(request.user),
        "sends_mail": mail.is_on(),
    }


def _look(request: PersonRequest) -> dict[str, object]:
    return {"likes": request.user.likes, "choices": choices()}


def _keys(request: PersonRequest) -> dict[str, object]:
    return {"groups": display.key_groups_for(request.user)}


def _access(request: PersonRequest) -> dict[str, object]:
    return {
        "keys": request.user.api_keys.filter(revoked_at__isnull=True),
        "scopes": [(value, gettext(words)) for value, words in SCOPES.items()],
        "key_days": KEY_DAYS,
        "browsers": browsers_of(request.user),
        "this_browser": request.session.session_key,
    }


_PAGES: dict[str, Callable[[PersonRequest], dict[str, object]]] = {
    "you": _you,
    "look": _look,
    "keys": _keys,
    "access": _access,
}


def _shown(request: PersonRequest, name: str, **more: object) -> HttpResponse:
    if name not in _PAGES:
        raise not_found("This page of the settings")
    context = {"user": request.user, "current": name, **_PAGES[name](request), **more}
    return render(request, f"pages/settings/{name}.html", context)


@never_cache
@require_GET
@person
def settings_page(request: PersonRequest) -> HttpResponse:
    """The account page; with `?address=`, the link of a mail, it asks whether to use that one."""
    secret = request.GET.get("address", "")[:1000]
    address = mail.address_in(request.user, secret) if secret else ""
    return _shown(request, "you", secret=secret, address=address)


class ProfileForm(PageForm):
    """How a person is shown, and how they are shown the pages."""

    display_name = Word()
    theme = Word(empty="system")
    language = Word()


def _profile(request: PersonRequest) -> str:
    given = ProfileForm.read(request)
    language = given["language"]
    if language and language not in dict(conf.LANGUAGES):
        raise CommandError(
            "NOT_FOUND", gettext("This language is not available."), hint=gettext("Choose.")
        )
    people.prefer(request.user, {"language": language})
    groves.show_as(request.user, name=given["display_name"], theme=given["theme"])
    return gettext("Saved.")


class AddressForm(PageForm):
    """An address for mails; or the secret of the link that was sent there."""

    email = Word()
    secret = Word()


def _address(request: PersonRequest) -> str:
    given = AddressForm.read(request)
    if given["secret"]:
        mail.use_address(request.user, given["secret"])
        return gettext("Mentions that you have not seen are sent to %(address)s.") % {
            "address": request.user.email
        }
    if not given["email"]:
        mail.forget_address(request.user)
        return gettext("You are written to no more.")
    if given["email"] == request.user.email:
        return gettext("Saved.")
    mail.ask_for(request.user, given["email"])
    return gettext("A link was sent to %(address)s. Open it to use this address.") % {
        "address": given["email"]
    }


class NewPasswordForm(PageForm):
    """The password of now, and another one."""

    old = Text()
    new = Text()


def _password(request: PersonRequest) -> str:
    people.change_password(request, request.user, **NewPasswordForm.read(request))
    return gettext("Your password has been changed, and your other browsers have been signed out.")


class EndedForm(PageForm):
    """The browser to sign out, or the key to revoke."""

    session = Word()
    key = Word()


def _end_session(request: PersonRequest) -> str:
    people.end_session(request.user, EndedForm.read(request)["session"])
    return gettext("The browser has been signed out.")


def _end_other_sessions(request: PersonRequest) -> str:
    people.end_other_sessions(request, request.user)
    return gettext("You are signed in with this browser only.")


def _revoke(request: PersonRequest) -> str:
    people.revoke_key(request.user, EndedForm.read(request)["key"])
    return gettext("The key has been revoked.")


class NewGroveForm(PageForm):
    """The name of a new grove."""

    name = Text()


def _make_grove(request: PersonRequest) -> str:
    grove = groves.make_grove(request.user, NewGroveForm.read(request)["name"])
    return gettext("The grove %(name)s has been created.") % {"name": grove.name}


@dataclass(frozen=True)
class AccountForm:
    """A form: its function, and the page it belongs to."""

    run: Callable[[PersonRequest], str]
    page: str = "/settings"


_ACTIONS = {
    "profile": AccountForm(_profile),
    "password": AccountForm(_password),
    "address": AccountForm(_address),
    "grove": AccountForm(_make_grove),
    "look": AccountForm(look, "/settings/look"),
    "writing": AccountForm(writing, "/settings/look"),
    "keys": AccountForm(rebind, "/settings/keys"),
    "end-session": AccountForm(_end_session, "/settings/access"),
    "end-other-sessions": AccountForm(_end_other_sessions, "/settings/access"),
    "revoke-key": AccountForm(_revoke, "/settings/access"),
}


@never_cache
@sensitive_post_parameters("old", "new")
@require_http_methods(["GET", "HEAD", "POST"])
@person
def change_settings(request: PersonRequest, action: str) -> HttpResponse:
    """One page of the settings; a POST handles one of its forms and shows the page again."""
    if request.method != "POST":
        return _shown(request, action)
    if action == "key":
        return _page_with_new_key(request)
    if action not in _ACTIONS:
        raise not_found("This form")
    try:
        messages.success(request, _ACTIONS[action].run(request))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(_ACTIONS[action].page)


class KeyForm(PageForm):
    """A new API key."""

    name = Word()
    scope = Word(empty="owner")
    days = Days()


def _page_with_new_key(request: PersonRequest) -> HttpResponse:
    """The page with a new key, shown only once."""
    return shown_once(
        request,
        lambda: people.make_key(request.user, **KeyForm.read(request)),
        lambda new_key: _shown(
            request, "access", fresh_name=new_key[0].name, fresh_secret=new_key[1]
        ),
        back="/settings/access",
    )
