"""The caller's own account in the API: name, keys, browsers, settings."""

from dataclasses import asdict

from django.conf import settings as conf
from pydantic import BaseModel, Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.errors import CommandError
from loom.people import preferences
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import ApiKey, User, UserSession
from loom.people.queries import browsers_of, grove_bodies
from loom.permissions import Scope
from loom.site import responses
from loom.site.api_requests import Body, PartialBody, demand_browser, read, user_of
from loom.site.schema import PAGES, operation, paged
from loom.text.hashes import instant, instant_or_none

# Request bodies.


class SettingsChanged(PartialBody):
    """Changes to the caller's own settings; values as in `GET settings`."""

    name: str = Field("", max_length=people.MAX_SHOWN)
    theme: preferences.Theme = "system"
    language: str = Field(
        "", max_length=20, json_schema_extra={"enum": ["", *(code for code, _ in conf.LANGUAGES)]}
    )
    prose: preferences.Prose = "serif"
    size: preferences.Size = "medium"
    width: preferences.Width = "medium"
    leading: preferences.Leading = "medium"
    align: preferences.Align = "start"
    nodes: preferences.Nodes = "full"
    paste: preferences.Paste = "plain"
    styled: bool = True
    temperature: float | None = Field(None, ge=0, le=2)
    edits: preferences.Edits = "ask"
    verbose: bool = False
    keys: dict[str, str] = {}


class KeySent(Body):
    """A new API key: its name, the most it may do (`read`: read only; `write`: as a writer;
    `owner`: everything that you may do), and the days until it expires (null: never)."""

    name: str = Field(min_length=1, max_length=people.MAX_KEY_NAME)
    scope: Scope = "owner"
    days: int | None = Field(None, ge=1, le=people.MAX_KEY_DAYS)


class PasswordSent(Body):
    """The old password (empty if there is none yet) and the new one."""

    old: str = Field("", max_length=1000)
    new: str = Field(min_length=people.MIN_PASSWORD, max_length=1000)


class Me(BaseModel):
    """The caller."""

    user: str
    name: str
    theme: str
    has_password: bool
    groves: list[responses.GroveSchema]


@operation("GET", "account me", "Who calls", answers=Me)
@api_view(["GET"])
def me(request: Request) -> Response:
    """The caller and their groves."""
    user = user_of(request)
    groves = access.visible_groves(user)
    return Response(
        {
            "user": user.username,
            "name": str(user),
            "theme": user.theme,
            "has_password": user.has_usable_password(),
            "groves": grove_bodies(access.get_actors(user, groves)),
        }
    )


@operation(
    "POST",
    "account password",
    "Change the password; all other browsers are signed out",
    body=PasswordSent,
    answers=responses.Gone,
)
@api_view(["POST"])
def password(request: Request) -> Response:
    """Changes the caller's password."""
    demand_browser(request, "cannot set a password")
    given = read(request, PasswordSent)
    people.change_password(request._request, user_of(request), old=given.old, new=given.new)
    return Response({"ok": True})


def _key(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.uid,
        "name": key.name,
        "hint": key.hint,
        "scope": key.scope,
        "expires_at": instant_or_none(key.expires_at),
        "created_at": instant(key.created_at),
        "last_used_at": instant_or_none(key.last_used_at),
    }


class Key(BaseModel):
    """An API key; `hint` is its last characters, to recognise it by."""

    id: str
    name: str
    hint: str
    scope: Scope
    expires_at: str | None
    created_at: str
    last_used_at: str | None


class NewKey(Key):
    """An API key with the key itself, which is shown only once."""

    key: str


@operation("GET", "account keys", "API keys", answers=responses.Page[Key], asks=PAGES)
@operation(
    "POST",
    "account make_key",
    "Make an API key, shown only once",
    body=KeySent,
    answers=NewKey,
    status=201,
)
@api_view(["GET", "POST"])
def api_keys(request: Request) -> Response:
    """The caller's keys that are not revoked; or a new one with its secret."""
    user = user_of(request)
    if request.method == "POST":
        demand_browser(request, "cannot make another key")
        given = read(request, KeySent)
        key, secret = people.make_key(user, given.name, scope=given.scope, days=given.days)
        return Response({**_key(key), "key": secret}, status=201)
    return paged(request, user.api_keys.filter(revoked_at__isnull=True), _key)


@operation("DELETE", "account revoke_key", "Revoke an API key", answers=responses.Gone)
@api_view(["DELETE"])
def api_key(request: Request, uid: str) -> Response:
    """Revokes a key. A key can only revoke itself."""
    if not (isinstance(request.auth, ApiKey) and request.auth.uid == uid):
        demand_browser(request, "can revoke itself only")
    people.revoke_key(user_of(request), uid)
    return Response({"ok": True})


class SessionSchema(BaseModel):
    """A signed-in browser; `here` marks the one that sent the request."""

    id: str
    agent: str
    created_at: str
    seen_at: str
    here: bool


@operation(
    "GET",
    "account sessions",
    "Signed-in browsers",
    answers=responses.Page[SessionSchema],
    asks=PAGES,
)
@api_view(["GET"])
def sessions(request: Request) -> Response:
    """The browsers the caller is signed in with."""
    here = request._request.session.session_key

    def body(row: UserSession) -> dict[str, object]:
        return {
            "id": row.uid,
            "agent": row.agent,
            "created_at": instant(row.created_at),
            "seen_at": instant(row.seen_at),
            "here": row.session_key == here,
        }

    return paged(request, browsers_of(user_of(request)), body)


@operation("DELETE", "account end_session", "Sign a browser out", answers=responses.Gone)
@api_view(["DELETE"])
def session(request: Request, uid: str) -> Response:
    """Signs one browser out."""
    demand_browser(request, "cannot end a session")
    people.end_session(user_of(request), uid)
    return Response({"ok": True})


# The caller's own settings: name, theme, language, appearance.


class Settings(BaseModel):
    """One person's settings. `language` "": the browser's; `temperature` null: the model's own;
    `keys`: those that differ from the defaults, by action; `languages`: the codes that can be
    chosen."""

    name: str
    theme: preferences.Theme
    language: str
    prose: preferences.Prose
    size: preferences.Size
    width: preferences.Width
    leading: preferences.Leading
    align: preferences.Align
    nodes: preferences.Nodes
    paste: preferences.Paste
    styled: bool
    temperature: float | None
    edits: preferences.Edits
    verbose: bool
    keys: dict[str, str]
    languages: list[str]


@operation("GET", "account settings", "Your own settings", answers=Settings)
@operation(
    "PATCH",
    "account change_settings",
    "Change your own settings; what is not sent stays",
    body=SettingsChanged,
    answers=Settings,
)
@api_view(["GET", "PATCH"])
def settings(request: Request) -> Response:
    """The caller's settings, after a change if one was sent."""
    user = user_of(request)
    if request.method == "PATCH":
        _change(user, read(request, SettingsChanged).sent)
    shown = {"name": user.display_name, "theme": user.theme, **asdict(user.likes)}
    return Response({**shown, "languages": [code for code, _ in conf.LANGUAGES]})


def _change(user: User, sent: dict[str, object]) -> None:
    codes = [code for code, _ in conf.LANGUAGES]
    if sent.get("language") and sent["language"] not in codes:
        raise CommandError(
            "INVALID_SYNTAX", "This language is not available.", hint=f"one of {', '.join(codes)}"
        )
    name, theme = sent.pop("name", None), sent.pop("theme", None)
    if sent:
        people.prefer(user, sent)
    if name is not None or theme is not None:
        groves.show_as(
            user,
            name=None if name is None else str(name),
            theme=None if theme is None else str(theme),
        )
