"""A large body comes in for who has signed in, and few at once; no stranger fills the disk."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from loom.errors import CommandError
from loom.people.commands.accounts import make_key
from loom.people.models import User
from loom.site import large_bodies
from tests.interfaces.test_bounds import _ask

pytestmark = pytest.mark.django_db(transaction=True)
SMALL = 4  # bytes that anybody may send


def scope_of(headers: Mapping[str, str]) -> dict[str, Any]:
    """What the server knows of a request with these headers before its body."""
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "path": "/api/import", "headers": pairs}


def credentials(owner: User, how: str) -> dict[str, str]:
    """The headers of an account's request."""
    if how == "key":
        return {"authorization": f"Bearer {make_key(owner, 'k')[1]}"}
    client = Client()
    client.force_login(owner)
    return {"cookie": f"a=b; {settings.SESSION_COOKIE_NAME}={client.session.session_key}"}


@pytest.mark.parametrize("how", ["key", "cookie"])
async def test_an_account_sends_few_large_bodies_at_once(owner: User, how: str) -> None:
    scope = scope_of(await sync_to_async(credentials)(owner, how))
    async with AsyncExitStack() as coming:
        for _ in range(large_bodies.AT_ONCE):
            await coming.enter_async_context(large_bodies.let_in(scope))
        with pytest.raises(CommandError) as refused:
            await coming.enter_async_context(large_bodies.let_in(scope))
        assert refused.value.code == "LIMIT_EXCEEDED" and refused.value.status == 429
    async with large_bodies.let_in(scope):
        pass


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer nonsense"},
        {"authorization": "Basic bm9ib2R5"},
        {"cookie": "sessionid=unknown"},
        {"cookie": ";;=\xe9"},
    ],
)
async def test_a_stranger_sends_none(headers: dict[str, str]) -> None:
    with pytest.raises(CommandError) as refused:
        async with large_bodies.let_in(scope_of(headers)):
            pass
    assert (refused.value.code, refused.value.status) == ("UNAUTHENTICATED", 401)


async def test_somebody_is_asked_for_once_and_only_for_a_large_body() -> None:
    asked: list[str] = []

    @asynccontextmanager
    async def let_in(scope: Any) -> Any:
        asked.append("comes")
        yield
        asked.append("is here")

    large = SMALL, let_in
    assert (await _ask([b"1234"], large=large))[0] == 200 and not asked
    assert (await _ask([b"1234", b"5", b"6"], large=large))[0] == 200
    assert asked == ["comes", "is here"]

    @asynccontextmanager
    async def refuse(scope: Any) -> Any:
        if scope:
            raise CommandError("UNAUTHENTICATED", "Who?", hint="sign in")
        yield

    for pieces, length in (([b"1234", b"5"], b""), ([b"1"], b"5")):
        status, body = await _ask(pieces, length=length, large=(SMALL, refuse))
        assert (status, json.loads(body)["code"]) == (401, "UNAUTHENTICATED")
