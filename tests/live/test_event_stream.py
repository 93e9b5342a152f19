"""Server-sent events: the log as a stream by HTTP, resumed after the last event of a client."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async

from loom.access import Actor
from loom.live import event_stream
from loom.people.models import User
from loom.trees.models import Tree
from tests.live.conftest import Headers, bearer, cookie, write
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
Wire: Any = ApplicationCommunicator


class Stream:
    """One stream as a client reads it."""

    def __init__(self, wire: Any) -> None:
        self._wire, self._text = wire, ""

    async def event(self, kind: str) -> dict[str, str]:
        """The next event of that type, as its fields."""
        while True:
            while "\n\n" not in self._text:
                message = await self._wire.receive_output(PATIENCE_S)
                self._text += message["body"].decode()
            block, _, self._text = self._text.partition("\n\n")
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            if fields.get("event") == kind:
                return fields


def _scope(path: str, headers: Headers, query: str = "") -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"accept", b"text/event-stream"), *headers],
    }


@asynccontextmanager
async def opened(path: str, headers: Headers, query: str = "") -> AsyncIterator[Stream]:
    """An open stream; its client goes at the end."""
    scope = _scope(path, headers, query)
    assert event_stream.is_wanted(scope)
    wire = Wire(event_stream.handle, scope)
    assert (await wire.receive_output(PATIENCE_S))["status"] == 200
    yield Stream(wire)
    await wire.send_input({"type": "http.disconnect"})
    await wire.wait(PATIENCE_S)


async def test_events_follow_each_other_and_are_resumed(
    connect: Callable[..., Awaitable[Any]], actor: Actor, owner: User, tree: Tree
) -> None:
    headers = await database_sync_to_async(bearer)(owner)
    path = f"/api/trees/{tree.uid}/events"
    await write(actor, tree, 3)
    async with opened(path, headers, "since=2") as stream:
        first = await stream.event("event")
        assert first["id"] == "3" and json.loads(first["data"])["event"]["seq"] == 3
        await write(actor, tree)
        seqs = [int((await stream.event("event"))["id"]) for _ in range(3)]
        assert seqs == [4, 5, 6]
    async with opened(path, [*headers, (b"last-event-id", b"5")], "since=1") as stream:
        assert (await stream.event("event"))["id"] == "6"


@pytest.mark.parametrize(
    ("who", "status"), [("outsider", 404), ("nobody", 401), ("cookie", 401), ("number", 400)]
)
async def test_whoever_may_not_listen_is_told_so(
    connect: Callable[..., Awaitable[Any]],
    owner: User,
    outsider: User,
    tree: Tree,
    who: str,
    status: int,
) -> None:
    given = {
        "outsider": lambda: bearer(outsider),
        "nobody": lambda: [],
        "cookie": lambda: cookie(owner),
        "number": lambda: bearer(owner),
    }[who]
    headers = await database_sync_to_async(given)()
    scope = _scope(f"/api/trees/{tree.uid}/events", headers, "since=x" if who == "number" else "")
    wire = Wire(event_stream.handle, scope)
    assert (await wire.receive_output(PATIENCE_S))["status"] == status
    assert json.loads((await wire.receive_output(PATIENCE_S))["body"])["ok"] is False


async def test_a_stream_ends_with_the_membership(
    connect: Callable[..., Awaitable[Any]], actor: Actor, writer: User, tree: Tree
) -> None:
    headers = await database_sync_to_async(bearer)(writer)
    async with opened(f"/api/trees/{tree.uid}/events", headers) as stream:
        await stream.event("event")
        remove = actor.grove.memberships.filter(user=writer).delete
        await database_sync_to_async(remove)()
        async with asyncio.timeout(PATIENCE_S):
            assert json.loads((await stream.event("close"))["data"]) == {"code": 4404}


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/api/trees/abc/events", b"application/json"), ("/api/trees/abc", b"text/event-stream")],
)
def test_other_requests_go_to_the_api(path: str, accept: bytes) -> None:
    scope = {"method": "GET", "path": path, "headers": [(b"accept", accept)]}
    assert not event_stream.is_wanted(scope)
