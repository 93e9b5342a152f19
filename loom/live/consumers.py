"""`/ws/…`: the consumer of one WebSocket, from its handshake to its end, and the routes to it."""

import asyncio
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import URLRouter
from django.urls import re_path

from loom.live import frames
from loom.live.handshake import Guest, Unwelcome, welcome
from loom.live.hub import hub
from loom.live.rooms import Member, rooms
from loom.live.socket import Socket


class LiveConsumer(AsyncWebsocketConsumer):
    """Admits a guest, then passes their frames to a socket of this process's hub.

    Without a channel of its own: the hub listens once for all sockets of a stream, and a
    broker that is down must not keep anybody from the log.
    """

    channel_layer_alias = ""
    socket: Socket | None = None
    serving: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Accepts everybody: only then can a client that is refused read the closing code."""
        try:
            guest = await self._guest()
        except Unwelcome as unwelcome:
            await self.accept()
            if unwelcome.refused is not None:
                await self.send(text_data=frames.error(unwelcome.refused))
            await self.close(code=unwelcome.code)
            return
        await self.accept()
        self.socket = await hub().join(guest, self)
        self.serving = asyncio.create_task(self.socket.run())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One frame of the client; binary ones are refused."""
        if self.socket is not None:
            await self.socket.receive(text_data)

    async def disconnect(self, code: int) -> None:
        """The client has gone, or was closed."""
        if self.socket is not None and self.serving is not None:
            self.socket.end()
            await self.serving

    async def _guest(self) -> Guest:
        address: dict[str, Any] = self.scope["url_route"]["kwargs"]
        if not address:
            raise Unwelcome(4404)
        check = database_sync_to_async(welcome, thread_sensitive=False)
        guest: Guest = await check(self.scope, address["kind"], address["uid"])
        return guest


class DocumentConsumer(LiveConsumer):
    """`/ws/documents/{id}`: the wire protocol of y-websocket, in binary frames."""

    member: Member | None = None

    async def connect(self) -> None:
        """Accepts everybody, as above; a guest enters the room of the document."""
        await self.accept()
        try:
            guest = await self._guest()
            self.member = await rooms().enter(guest, self)
        except Unwelcome as unwelcome:
            await self.close(code=unwelcome.code)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """One message of the client; text is refused."""
        if self.member is not None:
            self.member.receive(bytes_data or b"")

    async def disconnect(self, code: int) -> None:
        """The client has gone, or was closed."""
        if self.member is not None:
            self.member.leave()

    async def send_bytes(self, frame: bytes) -> None:
        """Sends one binary frame."""
        await self.send(bytes_data=frame)


_consumer: Any = LiveConsumer.as_asgi()
_document: Any = DocumentConsumer.as_asgi()
routes: Any = URLRouter(
    [
        re_path(r"^ws/(?P<kind>trees|groves|workspaces)/(?P<uid>[^/]{1,64})\Z", _consumer),
        re_path(r"^ws/(?P<kind>documents)/(?P<uid>[^/]{1,64})\Z", _document),
        re_path(r"", _consumer),  # closed with 4404
    ]
)
