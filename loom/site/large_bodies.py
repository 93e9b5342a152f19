"""Who may send a large body. The server keeps a body before it asks any view who sends it, so that
strangers could fill its disk: beyond STRANGER_BYTES the sender is looked up first, and each account
sends few such bodies at once."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from loom.errors import CommandError
from loom.people.models import User
from loom.people.sessions import SessionStore
from loom.site.api_requests import Bearer

STRANGER_BYTES = 1024 * 1024
AT_ONCE = 8  # large bodies of one account, in one process; a browser sends six

_coming: Counter[int] = Counter()  # bodies by account


@asynccontextmanager
async def let_in(scope: Mapping[str, Any]) -> AsyncIterator[None]:
    """While a large body comes. CommandError UNAUTHENTICATED if nobody has signed in who sends it,
    LIMIT_EXCEEDED if others of theirs are coming."""
    account = await database_sync_to_async(_account, thread_sensitive=False)(scope)
    if account is None:
        raise CommandError(
            "UNAUTHENTICATED",
            "Large bodies are only read from those who have signed in.",
            hint="sign in, or send Authorization: Bearer KEY",
        )
    if _coming[account] >= AT_ONCE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"{AT_ONCE} large files or bodies of yours are being sent already.",
            hint="wait for one of them to arrive",
        )
    _coming[account] += 1
    try:
        yield
    finally:
        _coming[account] -= 1
        if not _coming[account]:
            del _coming[account]


def _account(scope: Mapping[str, Any]) -> int | None:
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    if given := headers.get(b"authorization", ""):
        request = SimpleNamespace(META={"HTTP_AUTHORIZATION": given})
        try:
            known = Bearer().authenticate(cast(Request, request))
        except AuthenticationFailed:
            return None
        return known[0].pk if known else None
    cookies = parse_cookie(headers.get(b"cookie", ""))
    session = SessionStore(cookies.get(settings.SESSION_COOKIE_NAME, ""))
    user = get_user(cast(HttpRequest, SimpleNamespace(session=session)))
    return user.pk if isinstance(user, User) and user.is_active else None
