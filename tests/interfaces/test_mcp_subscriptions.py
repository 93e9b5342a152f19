"""Subscriptions of resources over MCP, by the SDK's own client."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import httpx2
import mcp_types as types
import pytest
from channels.db import database_sync_to_async
from django.utils import timezone
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, Subscription, SubscriptionLost
from mcp.shared.exceptions import MCPError

from loom.live.consumers import hub
from loom.mcp import subscriptions
from loom.mcp.server import handle
from loom.people.models import ApiKey, Membership, User
from loom.platform.handler import handler
from loom.site.waiting import holding
from tests.interfaces.test_mcp import key_of, post
from tests.patience import PATIENCE_S
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


class Pieces(httpx2.AsyncByteStream):
    """An answer that is read while it is written."""

    def __init__(self, gone: asyncio.Event) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._gone = gone

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self.queue.get()) is not None:
            yield piece

    async def aclose(self) -> None:
        self._gone.set()


class Streaming(httpx2.AsyncBaseTransport):
    """The endpoint in this process; unlike the transport of the library, answers pass in pieces."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        scope = {
            "type": "http", "method": request.method, "path": request.url.path, "scheme": "http",
            "query_string": b"", "headers": [(k.lower(), v) for k, v in request.headers.raw],
            "server": ("localhost", 80), "client": ("127.0.0.1", 1), "http_version": "1.1",
        }  # fmt: skip
        gone, began = asyncio.Event(), asyncio.get_running_loop().create_future()
        body, pieces, is_read = await request.aread(), Pieces(gone), False

        async def receive() -> Any:
            nonlocal is_read
            if is_read:
                await gone.wait()
                return {"type": "http.disconnect"}
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                if not began.done():  # else its client has gone
                    began.set_result((message["status"], message["headers"]))
                return
            pieces.queue.put_nowait(message.get("body", b""))
            if not message.get("more_body"):
                pieces.queue.put_nowait(None)

        pages = partial(holding, handler())
        task = asyncio.ensure_future(handle(pages, scope, receive, send))
        self._tasks.add(task)
        status, headers = await began
        return httpx2.Response(status, headers=headers, stream=pieces)

    async def aclose(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*self._tasks)


def talk(secret: str, say: Callable[[Client], Awaitable[Any]], mode: Any = "auto") -> None:
    """A conversation with a key; the feeds end with it."""

    async def spoken() -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx2.AsyncClient(transport=Streaming(), headers=headers) as http:
            transport = streamable_http_client("http://localhost/mcp", http_client=http)
            async with Client(transport, mode=mode) as client, asyncio.timeout(PATIENCE_S):
                await say(client)
        await hub().close()

    asyncio.run(spoken())


async def told(subscription: Subscription) -> str:
    """The next resource that has changed."""
    return str((await anext(aiter(subscription))).uri)  # type: ignore[union-attr]


do = database_sync_to_async


def test_changes_of_a_tree_a_text_and_a_document_are_told(two_groves: TwoGroves) -> None:
    left, user = two_groves.left, two_groves.only_left
    created = two_groves.client(user).post(
        "/api/documents", {"title": "Notes", "text": "One.", "grove": left.grove.uid}, format="json"
    )
    api = two_groves.client(user)
    address = f"/api/documents/{created.json()['id']}/write"
    write = partial(api.post, address, {"append": "Two."}, format="json")
    tree, text = f"loom://trees/{left.tree.uid}", left.text.local_id
    node, document = f"{tree}/nodes/{text}", f"loom://documents/{created.json()['id']}"

    async def work(client: Client) -> None:
        async with client.listen(resource_subscriptions=[tree, node, document]) as heard:
            assert set(heard.honored.resource_subscriptions or ()) == {tree, node, document}
            await do(left.run)(user, f"respond {text}\nA line.\n←")
            assert await told(heard) == tree
            await do(left.run)(user, f'edit {text} "Another text."')
            assert {await told(heard), await told(heard)} == {tree, node}
            await do(write)()
            assert await told(heard) == document

    talk(key_of(user), work)


def test_nobody_is_told_of_a_tree_that_they_may_not_read(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    mine, far = (f"loom://trees/{side.tree.uid}" for side in (left, right))
    node = f"{far}/nodes/{right.text.local_id}"

    async def alone(client: Client) -> None:
        asked = [mine, far, node, "loom://trees/none", "loom://documents/none", "file:///etc"]
        async with client.listen(resource_subscriptions=asked) as heard:
            assert heard.honored.resource_subscriptions == [mine]
            await do(right.run)(two_groves.both, f"respond {right.text.local_id}\nFar.\n←")
            await do(left.run)(two_groves.both, f"respond {left.text.local_id}\nNear.\n←")
            assert await told(heard) == mine

    async def of_both(client: Client) -> None:
        async with client.listen(resource_subscriptions=[mine, far]) as heard:
            assert heard.honored.resource_subscriptions == [mine, far]
            await do(right.run)(two_groves.both, f"respond {right.text.local_id}\nFar.\n←")
            assert await told(heard) == far

    talk(key_of(two_groves.only_left), alone)
    talk(key_of(two_groves.both), of_both)


@pytest.mark.parametrize("lost", ("key", "membership"))
def test_whoever_loses_access_is_sent_nothing_more(two_groves: TwoGroves, lost: str) -> None:
    left, user = two_groves.left, two_groves.only_left
    tree = f"loom://trees/{left.tree.uid}"
    secret = key_of(user)

    def lose() -> None:
        if lost == "key":
            ApiKey.objects.filter(user=user).update(revoked_at=timezone.now())
        else:
            Membership.objects.filter(user=user, grove=left.grove).delete()

    async def work(client: Client) -> None:
        async with client.listen(resource_subscriptions=[tree]) as heard:
            await do(lose)()
            assert [change async for change in heard] == []  # it ended

    talk(secret, work)


def test_changes_are_sent_together_and_silent_ones_not_at_all(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "BETWEEN_S", 0.0)
    guest: Any = None
    tree = subscriptions.Followed("t", guest, "")
    node = subscriptions.Followed("n", guest, "a7x2")
    kept = {"kind": "node.created", "payload": {"node": {"id": "b1"}, "refs": [["a7x2"]]}}
    below = {"kind": "node.created", "payload": {"node": {"id": "b1", "parent": "a7x2"}}}
    assert tree.is_in(below) and not node.is_in(below)
    assert tree.is_in(kept) and node.is_in(kept)
    assert not node.is_in({"kind": "node.created", "payload": {"node": {"id": "a7x"}}})
    for silent in ({"kind": "hidden"}, {"kind": "call.sealed", "payload": {"nodes": ["a7x2"]}}):
        assert not tree.is_in(silent) and not node.is_in(silent)


def test_older_clients_and_too_many_resources_are_refused(two_groves: TwoGroves) -> None:
    tree = f"loom://trees/{two_groves.left.tree.uid}"

    async def old(client: Client) -> None:
        capabilities = client.server_capabilities
        assert capabilities.resources is not None and not capabilities.resources.subscribe
        with pytest.raises(ListenNotSupportedError):
            async with client.listen(resource_subscriptions=[tree]):
                pass

    async def many(client: Client) -> None:
        asked = [f"{tree}/nodes/{n}" for n in range(subscriptions.MOST + 1)]
        with pytest.raises(MCPError, match="at most 50 resources"):
            async with client.listen(resource_subscriptions=asked):
                pass

    talk(key_of(two_groves.only_left), old, "legacy")
    talk(key_of(two_groves.only_left), many)


def test_a_subscription_takes_places_of_its_account(two_groves: TwoGroves, settings: Any) -> None:
    settings.SOCKETS_EACH = 0
    tree = f"loom://trees/{two_groves.left.tree.uid}"

    async def work(client: Client) -> None:
        async with client.listen(resource_subscriptions=[tree]) as heard:
            with pytest.raises(SubscriptionLost) as lost:
                await told(heard)
        assert "Too many windows and programs of your account" in str(lost.value.__cause__)

    talk(key_of(two_groves.only_left), work)


def test_the_older_revision_neither_announces_nor_has_subscriptions(owner: User) -> None:
    """`resources/subscribe` needs a session of the transport, to which notices could be sent; none
    is kept."""
    secret = key_of(owner)

    def sent(method: str, params: dict[str, Any]) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return post(secret, json.dumps(request).encode()).json()

    older = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "program", "version": "1"},
    }
    begun = sent("initialize", older)["result"]
    assert begun["protocolVersion"] == "2025-11-25"
    assert begun["capabilities"]["resources"]["subscribe"] is False
    for method in ("resources/subscribe", "resources/unsubscribe"):
        refused = sent(method, {"uri": "loom://trees/abc"})
        assert refused["error"]["code"] == types.METHOD_NOT_FOUND


@pytest.mark.parametrize(("mode", "can_subscribe"), [("legacy", False), ("auto", True)])
def test_a_client_of_each_revision_sees_whether_it_can_subscribe(
    owner: User, mode: str, can_subscribe: bool
) -> None:
    async def work(client: Client) -> None:
        resources = client.server_capabilities.resources
        assert resources is not None and bool(resources.subscribe) is can_subscribe

    talk(key_of(owner), work, mode)
