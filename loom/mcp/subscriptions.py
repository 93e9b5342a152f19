"""Subscriptions of resources (`subscriptions/listen`, revision 2026-07-28): an answer that stays
open says which of the resources have changed, from the log of events that pages are told too.

A tree or document is followed as a guest of its feed: who loses access, or whose key ends, is told
nothing more, and the stream ends. There is no replay: a client that comes again reads again."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import mcp_types as types
from channels.db import database_sync_to_async
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from loom.errors import CommandError
from loom.live.admission import Guest, SocketRefused, welcome
from loom.live.capacity import capacity, refusal
from loom.live.consumers import hub
from loom.live.reads import heads
from loom.mcp import resources
from loom.mcp.api_client import McpCaller, Refused

MOST = 50  # resources of one subscription
BETWEEN_S = 1.0  # seconds between two notices about the same changes, which are told together
# What is said by other events too, or changes no text.
_SILENT = ("hidden", "generation.started", "generation.ended", "call.sealed")
_BELOW = ("parent", "parents", "parent_slot")  # fields that name a text because of what is below it


@dataclass(frozen=True)
class Followed:
    """A resource by its address, the stream of events that it is in, and the id that an event names
    if it is about it ("" for a tree: all are)."""

    uri: str
    guest: Guest
    about: str

    def is_in(self, event: dict[str, Any]) -> bool:
        """Whether an event has changed it."""
        if event["kind"] in _SILENT:
            return False
        return not self.about or _names(event.get("payload"), self.about)


def _names(value: Any, wanted: str) -> bool:
    """Whether a payload names this id anywhere, other than as what something is below."""
    if isinstance(value, dict):
        return any(_names(item, wanted) for name, item in value.items() if name not in _BELOW)
    if isinstance(value, list):
        return any(_names(item, wanted) for item in value)
    return bool(value == wanted)


async def listen(
    caller: McpCaller, context: Any, params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    """Serves one subscription until its client goes, or may no longer read one of its resources.
    Those that the caller may not read, or that do not exist, are left out of what is acknowledged.
    Raises MCPError for too many."""
    wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
    if len(wanted) > MOST:
        raise MCPError(types.INVALID_PARAMS, f"A subscription has at most {MOST} resources.")
    followed = [
        resource for uri in wanted if (resource := await _followed(caller, str(uri))) is not None
    ]
    honored = types.SubscriptionFilter(
        resource_subscriptions=[resource.uri for resource in followed]
    )
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    async with _following(followed, bus, handler):
        return await handler(context, params.model_copy(update={"notifications": honored}))


async def _followed(caller: McpCaller, uri: str) -> Followed | None:
    try:
        kind, uid, about = await resources.place_of(caller, uri)
        return Followed(uri, await database_sync_to_async(_guest)(caller, kind, uid), about)
    except (Refused, SocketRefused):
        return None


def _guest(caller: McpCaller, kind: str, uid: str) -> Guest:
    """The caller as a guest of a stream, from now on."""
    headers = [(b"authorization", caller.authorization.encode("latin-1"))]
    guest = welcome({"headers": headers}, kind, uid)
    return replace(guest, since=heads([guest.stream]).get(guest.stream, 0))


@asynccontextmanager
async def _following(
    followed: Iterable[Followed], bus: InMemorySubscriptionBus, handler: ListenHandler
) -> AsyncIterator[None]:
    """Follows the streams of these resources meanwhile; the end of one ends the subscription."""
    streams: dict[str, list[Followed]] = {}
    for resource in followed:
        streams.setdefault(resource.guest.stream, []).append(resource)
    news = SubscriptionNews(bus)
    tasks = [asyncio.ensure_future(_follow(ones, news)) for ones in streams.values()]
    for task in tasks:
        task.add_done_callback(lambda _: handler.close())
    telling = asyncio.ensure_future(news.tell())
    try:
        yield
    finally:
        for task in (*tasks, telling):
            task.cancel()
        ended = await asyncio.gather(*tasks, telling, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, MCPError):  # there was no place for one of the streams
            raise outcome


async def _follow(ones: list[Followed], news: "SubscriptionNews") -> None:
    guest = ones[0].guest
    async with capacity.place() as place:
        if place is None:
            raise MCPError(types.INTERNAL_ERROR, refusal().message)
        try:
            place.take_for(guest.ticket.user_id)
        except CommandError as refused:
            raise MCPError(types.INTERNAL_ERROR, refused.message) from None
        socket = await hub().join(guest, FollowedFeed(ones, news))
        await socket.run()


class SubscriptionNews:
    """The resources that have changed and were not told yet."""

    def __init__(self, bus: InMemorySubscriptionBus) -> None:
        self._bus, self._changed, self._some = bus, dict[str, None](), asyncio.Event()

    def add(self, uri: str) -> None:
        """Notes a change."""
        self._changed[uri] = None
        self._some.set()

    async def tell(self) -> None:
        """Tells them, several changes of one resource once."""
        while True:
            await self._some.wait()
            self._some.clear()
            changed, self._changed = self._changed, {}
            for uri in changed:
                await self._bus.publish(ResourceUpdated(uri))
            await asyncio.sleep(BETWEEN_S)


class FollowedFeed:
    """The frames of a feed, of which only events are of interest."""

    def __init__(self, resources: list[Followed], news: SubscriptionNews) -> None:
        self._resources, self._news = resources, news

    async def send(self, text_data: str) -> None:
        """Takes a frame."""
        frame = json.loads(text_data)
        for resource in self._resources:
            if frame["type"] == "reload" or (
                frame["type"] == "event" and resource.is_in(frame["event"])
            ):
                self._news.add(resource.uri)

    async def close(self, code: int) -> None:
        """The feed has ended; so does the subscription."""
