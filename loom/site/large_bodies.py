"""Who may send a large body. The server keeps a body before it asks any view who sends it, so that
strangers could fill its disk: beyond STRANGER_BYTES the sender is looked up first, and each account
sends few such bodies at once."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

from channels.db import database_sync_to_async
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from loom.errors import CommandError
from loom.people.sessions import signed_in_by
from loom.platform.account_places import AccountPlaces
from loom.site.api_requests import Bearer

STRANGER_BYTES = 1024 * 1024
AT_ONCE = 8  # large bodies of one account, in one process; a browser sends six

_coming = AccountPlaces()


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
    if not _coming.take(account, most=AT_ONCE):
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"{AT_ONCE} large files or bodies of yours are being sent already.",
            hint="wait for one of them to arrive",
        )
    try:
        yield
    finally:
        _coming.give_back(account)


def _account(scope: Mapping[str, Any]) -> int | None:
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    if given := headers.get(b"authorization", ""):
        request = SimpleNamespace(META={"HTTP_AUTHORIZATION": given})
        try:
            known = Bearer().authenticate(cast(Request, request))
        except AuthenticationFailed:
            return None
        return known[0].pk if known else None
    signed_in = signed_in_by(headers.get(b"cookie", ""))
    return signed_in[0].pk if signed_in else None
