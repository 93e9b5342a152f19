"""People: users, one-time links, keys, passwords, and the browsers that they are signed in with."""

import logging
import secrets
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from loom.engine.announcements import access_changed
from loom.engine.fields import new_uid
from loom.errors import CommandError, not_found
from loom.people import preferences
from loom.people.models import ApiKey, Membership, SigninLink, User, UserSession
from loom.people.names import checked, skeleton
from loom.permissions import SCOPES, Scope
from loom.platform.networks import network_of
from loom.text.hashes import digest

LINK_HOURS = 24
MAX_NAME = 80
MAX_KEY_NAME = 80
MAX_KEY_DAYS = 3650
MIN_PASSWORD = 8  # the same number as in AUTH_PASSWORD_VALIDATORS
MAX_SHOWN = 80
log = logging.getLogger("heddle.people")
BACKEND = "loom.people.sessions.Accounts"


def make_user(username: str, password: str = "", **fields: Any) -> User:
    """A new user; without a password they sign in with one-time links. Refuses an invalid or taken
    name and a weak password."""
    username = _demand_username(username)
    user = User(username=username, **fields)
    if password:
        demand_password(password, user)
        user.set_password(password)
    else:
        user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:  # somebody took it, or one like it, between the check and the write
        raise _taken(_like(username) or username) from None
    return user


def find_user(username: str, *, active: bool = True) -> User | None:
    """The user of that name, whatever its case; an inactive one only where that is meant."""
    if "\0" in username:
        return None
    username = unicodedata.normalize("NFKC", username)
    folded = _folded(username)
    # SQLite knows the case of ASCII letters only, and the skeleton of a name does not always stay
    # in another case; PostgreSQL also takes some letters for others, such as an i without a dot.
    rows = User.objects.filter(Q(username__iexact=username) | Q(skeleton=skeleton(username)))
    users = [user for user in rows if _folded(user.username) == folded]
    users.sort(key=lambda user: user.username != username)
    return next((user for user in users if user.is_active or not active), None)


def _folded(username: str) -> str:
    """What is the same for each way to write a name."""
    return unicodedata.normalize("NFKC", username).casefold()


def _taken(username: str) -> CommandError:
    hint = "choose another name, which does not look like it"
    return CommandError("CONFLICT", f"The name {username} is taken.", hint=hint)


def _demand_username(username: str) -> str:
    """The name as it is stored (NFKC), if it is allowed, free, and looks like no other name."""
    username = unicodedata.normalize("NFKC", username)
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError:
        raise CommandError(
            "INVALID_SYNTAX",
            "A name can only contain letters, digits and @ . + - _.",
            hint="choose another name",
        ) from None
    if len(username) > MAX_NAME:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A name has at most {MAX_NAME} characters.",
            hint="shorten it",
            is_size=True,
        )
    checked(username, most=MAX_NAME)
    if (taken := _like(username)) is not None:
        raise _taken(username if taken.casefold() == username.casefold() else taken)
    return username


def _like(username: str) -> str | None:
    """The username that equals this one in any case, or looks like it."""
    rows = User.objects.order_by().values_list("username", flat=True)
    account = rows.filter(skeleton=skeleton(username)).first()
    return account or rows.filter(username__iexact=username).first()


def demand_some(password: str) -> str:
    """The password. Refuses an empty one."""
    if not password:
        raise CommandError("INVALID_SYNTAX", "Enter a password.", hint="choose one")
    return password


def demand_password(password: str, user: User) -> None:
    """Refuses a password that is too short, too common or too similar to the name."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError(
            "INVALID_SYNTAX", " ".join(error.messages), hint="choose a longer password"
        ) from None


def make_signin_link(user: User) -> str:
    """The secret of a link that signs the user in once within a day."""
    secret = secrets.token_urlsafe(32)
    SigninLink.objects.create(
        user=user,
        digest=digest(secret),
        expires_at=timezone.now() + timedelta(hours=LINK_HOURS),
    )
    return secret


def find_signin_link(secret: str) -> SigninLink | None:
    """The link, if it can still be used."""
    return (
        SigninLink.objects.select_related("user")
        .filter(
            digest=digest(secret),
            used_at__isnull=True,
            expires_at__gt=timezone.now(),
            user__is_active=True,
        )
        .first()
    )


def redeem_signin(secret: str) -> User:
    """Uses up a link and returns its user. NOT_FOUND if it is used, expired or unknown."""
    with transaction.atomic():
        link = find_signin_link(secret)
        used = link and SigninLink.objects.filter(pk=link.pk, used_at__isnull=True).update(
            used_at=timezone.now()
        )
        if link is None or not used:
            raise not_found("This sign-in link", "ask for another one; each works once")
    return link.user


def sign_in(request: HttpRequest, user: User) -> None:
    """Signs the browser in, and adds it to the user's list of browsers."""
    before = request.session.session_key or ""
    request.session.pop(WAITS, None)
    login(request, user, backend=BACKEND)
    request.session.save()
    UserSession.objects.filter(session_key=before).delete()
    UserSession.objects.update_or_create(
        session_key=request.session.session_key or "",
        defaults={
            "user": user,
            "uid": new_uid(),
            "agent": request.headers.get("User-Agent", "")[:200].replace("\0", ""),
        },
    )


# What a feature asks for after a name and password, or a link, and before anybody is signed in.


AsksMore = Callable[[User], str]
WAITS = "waits_to_sign_in"  # in the session
WAITS_S = 600
_asking: list[AsksMore] = []


def asks_more(asked: AsksMore) -> AsksMore:
    """Registers what says at which address a user is asked for more; "" if they are not."""
    if asked not in _asking:
        _asking.append(asked)
    return asked


def go_on(request: HttpRequest, user: User, *, wanted: str) -> str:
    """Signs the browser in, unless more is asked of this user first; the address to go to."""
    address = next((target for asked in _asking if (target := asked(user))), "")
    if not address:
        sign_in(request, user)
        return wanted
    now = time.time()
    request.session[WAITS] = {
        "user": user.pk,
        "since": now,
        "until": now + WAITS_S,
        "wanted": wanted,
        "password": user.get_session_auth_hash(),
    }
    return address


def who_waits(request: HttpRequest) -> tuple[User, str] | None:
    """Whoever is asked for more in this browser, and where they wanted to go; None if nobody is, or
    not any more: their password was changed meanwhile, or their browsers were signed out."""
    waits = request.session.get(WAITS)
    if waits is None or waits["until"] < time.time() or "password" not in waits:
        return None
    user = User.objects.filter(pk=waits["user"], is_active=True).first()
    if user is None or not constant_time_compare(waits["password"], user.get_session_auth_hash()):
        return None
    ended = user.signed_out_at
    if ended is not None and ended.timestamp() >= waits["since"]:
        return None
    return user, str(waits["wanted"])


@dataclass(frozen=True)
class Farewell:
    """The page that somebody is shown who has signed out, and what it needs to know: kept in the
    session that begins then, as the one before is gone."""

    address: str
    kept: dict[str, Any]


AsksOnLeaving = Callable[[HttpRequest], Farewell | None]
_leaving: list[AsksOnLeaving] = []


def asks_on_leaving(asked: AsksOnLeaving) -> AsksOnLeaving:
    """Registers what is asked, before a browser is signed out, which page follows; None for the
    usual one."""
    if asked not in _leaving:
        _leaving.append(asked)
    return asked


def sign_out(request: HttpRequest) -> str:
    """Signs the browser out; its sockets close. Returns the address of the page that follows."""
    farewell = next((given for asked in _leaving if (given := asked(request))), None)
    UserSession.objects.filter(session_key=request.session.session_key or "").delete()
    user = request.user
    logout(request)
    if isinstance(user, User):
        _tell_sockets(user)
    if farewell is None:
        return "/signin"
    request.session.update(farewell.kept)
    return farewell.address


# Wrong passwords are counted, for the name and the address.


MOST = 10  # attempts for one name from one address
MOST_FROM = 50  # attempts from one address, for any name
MOST_FOR = 100  # attempts for one name from anywhere; after that each address has FEW attempts
FEW = 3
MINUTES = 15


class PasswordAttempt:
    """One attempt to enter a password when signing in or changing it, or `at` something else, which
    is counted apart; counted before the check. `or_else`: what helps beside waiting."""

    def __init__(
        self,
        request: HttpRequest,
        name: str,
        *,
        at: str = "password",
        or_else: str = "ask for a one-time link",
    ) -> None:
        # No other way to write a name has attempts of its own, and whoever may try any name at one
        # place uses up no attempts `at` another.
        who = digest(f"{at}\n{_folded(name)}")
        address = network_of(request.META.get("REMOTE_ADDR", ""))
        self._keys = (
            f"wrong:both:{who}:{digest(address)}",
            f"wrong:from:{digest(address)}",
            f"wrong:name:{who}",
        )
        try:
            is_allowed = self._counts()
        except Exception:  # a broker that is down must not prevent everybody from signing in
            log.warning("cannot count attempts", exc_info=True)
            return
        if not is_allowed:
            raise CommandError(
                "LIMIT_EXCEEDED",
                "Too many failed attempts.",
                hint=f"Wait {MINUTES} minutes, or {or_else}.",
            )

    def _counts(self) -> bool:
        """Counts the attempt and returns whether it is within the limits. An attempt over a limit
        is not counted any further, so that one address cannot use up everybody's attempts."""
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


def change_password(request: HttpRequest, user: User, *, old: str, new: str) -> None:
    """Changes the password, signs out every other browser of the user, and ends links that could
    still sign them in. API keys stay valid. Wrong old passwords count as when signing in:
    LIMIT_EXCEEDED after too many."""
    if user.has_usable_password():
        attempt = PasswordAttempt(request, user.username)
        if not user.check_password(old):
            raise CommandError("REJECTED", "The old password is wrong.", hint="try again")
        attempt.succeeded()
    demand_password(demand_some(new), user)
    here = request.session.session_key or ""
    with transaction.atomic():
        user.set_password(new)
        user.save(update_fields=["password"])
        for browser in user.browsers.exclude(session_key=here):
            _end(browser)
        _end_beginnings(user)
        if here:
            update_session_auth_hash(request, user)  # gives this browser a new session key
            request.session.save()
            kept = UserSession.objects.filter(user=user, session_key=here)
            kept.update(session_key=request.session.session_key or "")
        _tell_sockets(user)


def prefer(user: User, given: dict[str, Any]) -> None:
    """Stores the user's preferences (rules/preferences.py); those that are not given stay."""
    with transaction.atomic():
        fresh = User.objects.select_for_update().get(pk=user.pk)
        before = preferences.read_preferences(fresh.preferences)
        user.preferences = preferences.changed_preferences(before, given).stored
        user.save(update_fields=["preferences"])


def show_as(user: User, *, name: str | None = None, theme: str | None = None) -> None:
    """Stores the name that others see, and the theme; None leaves one unchanged."""
    if name is not None:
        if len(name) > MAX_SHOWN:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"A name has at most {MAX_SHOWN} characters.",
                hint="choose a shorter one",
            )
        user.display_name = checked(name, most=MAX_SHOWN) if name.strip() else ""
    if theme is not None:
        if theme not in preferences.THEMES:
            hint = f"one of {', '.join(preferences.THEMES)}"
            raise CommandError("INVALID_SYNTAX", f"theme cannot be {theme!r}.", hint=hint)
        user.theme = theme
    user.save(update_fields=["display_name", "theme"])


def end_session(user: User, uid: str) -> None:
    """Signs one browser of the user out; its sockets close."""
    browser = user.browsers.filter(uid=uid).first()
    if browser is None:
        raise not_found("This session")
    with transaction.atomic():
        _end(browser)
        _tell_sockets(user)


def end_other_sessions(request: HttpRequest, user: User) -> None:
    """Signs out all browsers of the user but this one, and ends links that could sign in others;
    their sockets close."""
    with transaction.atomic():
        for browser in user.browsers.exclude(session_key=request.session.session_key or ""):
            _end(browser)
        _end_beginnings(user)
        _tell_sockets(user)


def end_sessions(user: User) -> None:
    """Signs all browsers of the user out, and ends links that could still sign them in; their
    sockets close."""
    with transaction.atomic():
        for browser in user.browsers.all():
            _end(browser)
        _end_beginnings(user)
        _tell_sockets(user)


def close(user: User) -> None:
    """Closes the account: nobody signs in to it, its keys do nothing, and its sockets close. Its
    memberships and what it wrote stay."""
    with transaction.atomic():
        user.is_active = False
        user.save(update_fields=["is_active"])
        end_sessions(user)


def reopen(user: User) -> None:
    """Opens an account that was closed."""
    user.is_active = True
    user.save(update_fields=["is_active"])


def _end(browser: UserSession) -> None:
    Session.objects.filter(session_key=browser.session_key).delete()
    browser.delete()


def _end_beginnings(user: User) -> None:
    """Ends the links that nobody has used, and lets no browser in that waits for a second factor:
    somebody else may have one."""
    user.signed_out_at = timezone.now()
    User.objects.filter(pk=user.pk).update(signed_out_at=user.signed_out_at)
    SigninLink.objects.filter(user=user, used_at__isnull=True).delete()


def _tell_sockets(user: User) -> None:
    groves = Membership.objects.filter(user=user).values_list("grove__uid", flat=True)
    for uid in groves:
        access_changed(uid, user.pk)


def make_key(
    user: User, name: str, *, scope: Scope = "owner", days: int | None = None
) -> tuple[ApiKey, str]:
    """A new API key and its secret, which is shown only once. `scope` is the most it may do;
    `days` is how long it lasts, None for ever."""
    if not name.strip() or "\0" in name or len(name) > MAX_KEY_NAME:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A key has a name of 1 to {MAX_KEY_NAME} characters.",
            hint="name it after where it is used",
        )
    if scope not in SCOPES or (days is not None and not 1 <= days <= MAX_KEY_DAYS):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A key's scope is one of {', '.join(SCOPES)}; it lasts 1 to {MAX_KEY_DAYS} days.",
            hint="try scope write and 90 days",
        )
    secret = "hd_" + secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        user=user,
        name=name,
        digest=digest(secret),
        hint=secret[-4:],
        scope=scope,
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    return key, secret


def revoke_key(user: User, uid: str) -> None:
    """Revokes a key; sockets that were opened with it close."""
    with transaction.atomic():
        keys = user.api_keys.filter(uid=uid, revoked_at__isnull=True)
        if not keys.update(revoked_at=timezone.now()):
            raise not_found("This key")
        _tell_sockets(user)
