"""`/ws/…`: the consumer of one WebSocket, from its handshake to its end, and its routes; and the
hub of this process, with its feeds by stream and a periodic check of all sockets."""

import asyncio
import logging
import secrets
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from django.urls import re_path

from loom.engine import announcements, presence
from loom.errors import CommandError
from loom.live import frames, reads
from loom.live.admission import Guest, SocketRefused, welcome
from loom.live.capacity import FULL, SCOPE_KEY, Place
from loom.live.feed import Feed
from loom.live.kinds import kinds
from loom.live.read_threads import PerLoop, ReadThreads
from loom.live.rechecks import Pass, verdicts_of
from loom.live.sockets import FeedConnection, Socket

log = logging.getLogger("heddle.live")

WATCH_S = 1.0  # seconds until a lost bell or a changed role is noticed at the latest
LIVES = "live:processes"  # where processes say that they are alive
LINGER_S = 5.0  # seconds that a feed without sockets waits for one to come back


class Hub:
    """Opens feeds on first use, and closes them when nobody has listened for a while."""

    def __init__(self) -> None:
        self.process = secrets.token_hex(8)
        self._threads = ReadThreads()
        self._feeds: dict[str, Feed] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._rechecks: set[asyncio.Task[None]] = set()

    async def join(self, guest: Guest, wire: FeedConnection) -> Socket:
        """Adds a socket to the guest's feed, for an accepted connection; `Socket.run` serves it."""
        if not self._tasks:
            works = (self._watching(), self._renewing(), self._hearing_of_others())
            self._tasks = [asyncio.create_task(work) for work in works]
        feed = await self._feed(guest)
        socket = Socket(guest, feed, wire)
        feed.join(socket)
        try:
            # Permissions may have changed since the handshake.
            await feed.recheck()
        except BaseException:
            feed.leave(socket)
            raise
        return socket

    async def _feed(self, guest: Guest) -> Feed:
        async with self._opening.setdefault(guest.stream, asyncio.Lock()):
            feed = self._feeds.get(guest.stream)
            if feed is None:
                feed = Feed(guest, process=self.process, threads=self._threads)
                feed.on_access = self._recheck_soon
                try:
                    await feed.open()
                except BaseException:
                    feed.close()
                    raise
                self._feeds[guest.stream] = feed
            feed.idle_since = None
            return feed

    def _recheck_soon(self, feed: Feed) -> None:
        task = asyncio.get_running_loop().create_task(feed.recheck())
        self._rechecks.add(task)
        task.add_done_callback(self._rechecks.discard)

    async def _watching(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self.look()
            except Exception:  # the database may be away; sockets stay open
                log.warning("could not look after the sockets", exc_info=True)

    async def _renewing(self) -> None:
        """Says again and again that this process is alive, while somebody is here: one message for
        all people and streams."""
        while True:
            if any(feed.here.own for feed in self._feeds.values()):
                await asyncio.gather(
                    announcements.send_async(LIVES, {"type": "alive", "process": self.process}),
                    asyncio.to_thread(presence.renew, self.process),
                )
            await asyncio.sleep(presence.RENEWED_S)

    async def _hearing_of_others(self) -> None:
        await announcements.listen((LIVES,), self._hear, asyncio.Event())

    def _hear(self, message: dict[str, Any]) -> None:
        now = asyncio.get_running_loop().time()
        for feed in self._feeds.values():
            feed.here.renew(message["process"], now)

    async def look(self) -> None:
        """Checks for lost bells and pieces of text, changed roles, slow sockets and feeds without
        sockets."""
        now = asyncio.get_running_loop().time()
        for feed in list(self._feeds.values()):
            feed.tick(now)
            self._let_go(feed, now)
        feeds = [feed for feed in self._feeds.values() if feed.sockets]
        if not feeds:
            return
        heads = await self._threads.read(reads.heads, [feed.stream for feed in feeds])
        for feed in feeds:
            feed.ring_bell(heads.get(feed.stream, 0))
        trees = {feed.tree_uid: feed for feed in feeds if feed.tree_uid}
        for tree, uid, chunk in await self._threads.read(reads.reached, list(trees)):
            trees[tree].reached(uid, chunk)
        passes = set[Pass]().union(*(feed.passes for feed in feeds))
        verdicts = await self._threads.read(verdicts_of, passes)
        for feed in feeds:
            feed.judge({ticket: verdicts[ticket] for ticket in feed.passes & verdicts.keys()})

    def _let_go(self, feed: Feed, now: float) -> None:
        if feed.sockets:
            feed.idle_since = None
        elif feed.idle_since is None:
            feed.idle_since = now
        elif now - feed.idle_since > LINGER_S and not self._opening[feed.stream].locked():
            feed.close()
            del self._feeds[feed.stream], self._opening[feed.stream]

    async def close(self) -> None:
        """Closes every socket with 1012, so that clients reconnect immediately."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for feed in self._feeds.values():
            for socket in feed.sockets:
                socket.close(1012)
            feed.close()
        await asyncio.gather(*tasks, *self._rechecks, return_exceptions=True)
        self._feeds.clear()
        threads, self._threads = self._threads, ReadThreads()
        await threads.close()


hub = PerLoop(Hub)


async def lifespan(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Start and end of the process: at its end every socket is closed with 1012."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        else:
            for kind in kinds().values():
                await kind.close()
            await hub().close()
            await asyncio.sleep(0)
            await send({"type": "lifespan.shutdown.complete"})
            return


class LiveConsumer(AsyncWebsocketConsumer):
    """Admits a guest, then passes their frames to a socket of this process's hub. It has no
    channel of its own: the hub listens once for all sockets of a stream, and a broker that is down
    must not keep anybody from the log.
    """

    channel_layer_alias = ""
    socket: Socket | None = None
    serving: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Accepts everybody: only then can a refused client read the closing code."""
        try:
            guest = await self.guest()
        except SocketRefused as closing:
            await self.accept()
            if closing.refused is not None:
                await self.send(text_data=frames.error(closing.refused))
            await self.close(code=closing.code, reason=closing.reason)
            return
        await self.accept()
        self.socket = await hub().join(guest, self)
        self.serving = asyncio.create_task(self.socket.run())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One frame of the client; binary ones are refused."""
        if self.socket is not None:
            await self.socket.receive(text_data)

    async def send(self, text_data: str) -> None:  # type: ignore[override]
        """Sends one frame. Channels' own method would go through two more coroutines, for each
        event at each socket."""
        message: Any = {"type": "websocket.send", "text": text_data}
        await self.base_send(message)

    async def disconnect(self, code: int) -> None:
        """The client has gone, or was closed."""
        if self.socket is not None and self.serving is not None:
            self.socket.end()
            await self.serving

    async def guest(self) -> Guest:
        """Who connects, for whom the place is counted. Raises SocketRefused."""
        address: dict[str, Any] = self.scope["url_route"]["kwargs"]
        if not address:
            raise SocketRefused(4404)
        check = database_sync_to_async(welcome, thread_sensitive=False)
        guest: Guest = await check(self.scope, address["kind"], address["uid"])
        place = self.scope.get(SCOPE_KEY)
        if isinstance(place, Place):
            try:
                place.take_for(guest.ticket.user_id)
            except CommandError as refused:
                raise SocketRefused(FULL, refused) from None
        return guest


_consumer: Any = LiveConsumer.as_asgi()


async def _serve_kind(scope: Any, receive: Any, send: Any) -> None:
    """The consumer of a kind that another feature serves; without one it is closed with 4404."""
    kind = kinds().get(scope["url_route"]["kwargs"]["kind"])
    if kind is not None:
        await kind.application(scope, receive, send)
    else:
        await _consumer({**scope, "url_route": {"args": (), "kwargs": {}}}, receive, send)


_of_kind: Any = _serve_kind
routes: Any = URLRouter(
    [
        re_path(r"^ws/(?P<kind>trees|groves|workspaces)/(?P<uid>[^/]{1,64})\Z", _consumer),
        re_path(r"^ws/(?P<kind>[a-z]{1,32})/(?P<uid>[^/]{1,64})\Z", _of_kind),
        re_path(r"", _consumer),  # closed with 4404
    ]
)
