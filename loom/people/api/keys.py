"""The caller's API keys in the API: listed, made, revoked. A key can only revoke itself."""

from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom.people.commands import accounts as people
from loom.people.models import ApiKey
from loom.permissions import Scope
from loom.site import responses
from loom.site.api_requests import Body, demand_browser, read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, operation, paged
from loom.text.hashes import instant, instant_or_none


class KeySent(Body):
    """A new API key: its name, the most it may do (`read`: read only; `write`: as a writer;
    `owner`: everything that you may do), and the days until it expires (null: never)."""

    name: str = Field(min_length=1, max_length=people.MAX_KEY_NAME)
    scope: Scope = "owner"
    days: int | None = Field(None, ge=1, le=people.MAX_KEY_DAYS)


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


class Key(Returned):
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
